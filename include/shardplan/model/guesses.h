// What a plan rests on where no family covers the architecture.
#ifndef SHARDPLAN_MODEL_GUESSES_H_
#define SHARDPLAN_MODEL_GUESSES_H_

#include <cstdint>
#include <optional>

#include "shardplan/base/bytes.h"
#include "shardplan/model/architecture.h"

namespace shardplan {

struct Guesses {
  // Tensors whose names and shapes are those of common decoders, and the rest that is loaded.
  int64_t recognised_tensors = 0;
  Bytes recognised_bytes;
  int64_t guessed_tensors = 0;
  Bytes guessed_bytes;

  // The same model as its cache sees it at both ends; nothing where the attention is recognised.
  std::optional<Architecture> least_cache;
  std::optional<Architecture> most_cache;
  bool heads_may_be_whole = false;  // at the dear end every rank keeps all KV heads
};

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_GUESSES_H_
