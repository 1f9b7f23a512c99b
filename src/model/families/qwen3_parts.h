// What Qwen3's decoders share, plain, mixed and multimodal.
#ifndef SHARDPLAN_MODEL_FAMILIES_QWEN3_PARTS_H_
#define SHARDPLAN_MODEL_FAMILIES_QWEN3_PARTS_H_

#include <cstdint>
#include <string>

#include "model/families/text_tower.h"

namespace shardplan::families {

// Which layers are mixtures, from decoder_sparse_step and mlp_only_layers; the rest have a dense
// MLP of intermediate_size. arch->moe has its experts.
void ReadSparseStep(ConfigReader& config, int64_t layers, Architecture* arch);

// How a checkpoint stores the routed experts of a layer.
enum class ExpertForm {
  kEach,               // experts.{E}.gate_proj, up_proj, down_proj
  kStacked,            // experts.gate_up_proj of [experts, 2 × intermediate, hidden], down_proj
  kStackedTransposed,  // the same with the last two dimensions exchanged
};

// The form that `assumptions` names; stacks where it names none, as they are published.
ExpertForm ExpertFormOf(const Assumptions& assumptions, ExpertForm stacked);

// The routed experts below `prefix`mlp.experts.
void AddQwenExperts(TableBuilder& t, const std::string& prefix, const Architecture& arch,
                    ExpertForm form);

// Every decoder layer below `prefix`: attention, a mixture without shared experts or a dense MLP,
// and the norms.
void AddQwen3Layers(TableBuilder& t, const std::string& prefix, const Architecture& arch,
                    const GqaOptions& attention, ExpertForm form);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_QWEN3_PARTS_H_
