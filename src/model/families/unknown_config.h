// The numbers of an architecture that no family covers.
#ifndef SHARDPLAN_MODEL_FAMILIES_UNKNOWN_CONFIG_H_
#define SHARDPLAN_MODEL_FAMILIES_UNKNOWN_CONFIG_H_

#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/families/unknown_names.h"
#include "shardplan/checkpoint/dtype.h"
#include "shardplan/checkpoint/shape.h"
#include "shardplan/model/architecture.h"

namespace shardplan::families {

// One tensor of each pattern, as an example.
struct SeenTensor {
  NameParts name;
  DType dtype = DType::kBF16;
  Shape shape;
};

struct UnknownNumbers {
  Architecture arch;              // everything but the kinds of attention and which layers are MoE
  int64_t layers = 0;             // 0: the config doesn't say
  std::vector<std::string> from;  // "head_dim 128 from shapes", "window 32,768 assumed"
  std::vector<std::string> layer_types;  // as the config has them; empty: not one per layer
};

// Reads hidden_size and its kin under the names in use (n_embd, n_head, n_routed_experts, …), from
// the config or from the text_config (llm_config, …) in it. What is missing is taken from shapes
// where they tell, and assumed otherwise; `from` lists both. A value of a strange type counts as
// missing.
UnknownNumbers ReadUnknownNumbers(ConfigReader& config, const std::vector<SeenTensor>& seen);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_UNKNOWN_CONFIG_H_
