// What each layer of an unknown architecture caches, and the ends where that is a guess.
#ifndef SHARDPLAN_MODEL_FAMILIES_UNKNOWN_CACHE_H_
#define SHARDPLAN_MODEL_FAMILIES_UNKNOWN_CACHE_H_

#include <string>
#include <vector>

#include "shardplan/model/architecture.h"
#include "shardplan/model/guesses.h"

namespace shardplan::families {

// What the tensors of a layer show.
struct LayerSigns {
  bool keys_and_values = false;  // recognised
  bool latent = false;           // a recognised projection into MLA's latent
  bool attention = false;        // any matrix below an attention module
  bool linear = false;           // tensors of linear attention or a state-space model
};

// Fills `arch->attention`, and the ends in `guesses` where a kind is guessed. `layer_types` has one
// word per layer or is empty; `chunk` is the config's attention_chunk_size, 0 for none.
void GuessCache(const std::vector<LayerSigns>& signs, const std::vector<std::string>& layer_types,
                int64_t chunk, Architecture* arch, Guesses* guesses);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_UNKNOWN_CACHE_H_
