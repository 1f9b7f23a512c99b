// The drafter that speculative decoding asks for: its layers and tensors.
#ifndef SHARDPLAN_ENGINE_VLLM_DRAFT_H_
#define SHARDPLAN_ENGINE_VLLM_DRAFT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/engine/settings.h"
#include "shardplan/layout/layout.h"
#include "shardplan/model/architecture.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan::vllm {

// A drafter with weights of its own. Its architecture counts its own layers, from 0.
struct Draft {
  std::string method;         // vLLM's: "mtp", "eagle3", "draft_model", …
  bool of_its_own = false;    // a second model, not MTP layers of the first
  bool in_checkpoint = true;  // its tensors are in the model's own files
  Architecture arch;
  TensorTable table;
  int64_t first_layer = 0;  // what layer 0 is called in names

  // "model.layers.{L}.x" for a parameter of one of its layers, the parameter itself for others.
  std::string NameOf(const std::string& param, int64_t layer) const;
};

// Where a drafter's layers come from: the model itself, or one that was loaded for it.
struct DraftSource {
  const Architecture* target = nullptr;  // of the model that is drafted for
  const Architecture* arch = nullptr;
  const TensorTable* table = nullptr;
  bool guessed = false;  // an architecture that no family covers
  bool loaded = false;   // for the draft, from files of its own
};

// Takes the drafter out of `source`, for pipelines of `pp` stages; nothing where the method has no
// weights (ngram, suffix). What vLLM would refuse is an error finding, and no drafter. Fails with
// kUnsupported for methods and architectures that are not modelled, kUsage where a model is
// missing.
Result<std::optional<Draft>> MakeDraft(const Speculation& speculation, const DraftSource& source,
                                       const ParallelSizes& sizes, std::vector<Finding>* findings);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_DRAFT_H_
