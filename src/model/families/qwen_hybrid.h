// What Qwen3-Next and Qwen3.5 share: gated delta nets with gated full attention between them, and
// in every layer a mixture with a gated shared expert, or a dense MLP.
#ifndef SHARDPLAN_MODEL_FAMILIES_QWEN_HYBRID_H_
#define SHARDPLAN_MODEL_FAMILIES_QWEN_HYBRID_H_

#include <cstdint>
#include <string>

#include "model/families/qwen3_parts.h"

namespace shardplan::families {

// How a checkpoint stores the input projections of a gated delta net; the engine fuses them alike.
enum class DeltaProjections {
  kInterleaved,  // in_proj_qkvz and in_proj_ba, by group of key heads (Qwen3-Next)
  kSeparate,     // in_proj_qkv, in_proj_z, in_proj_b, in_proj_a (Qwen3.5)
};

struct HybridForm {
  DeltaProjections projections = DeltaProjections::kSeparate;
  ExpertForm experts = ExpertForm::kEach;
  ExpertForm draft_experts = ExpertForm::kEach;
};

// Attention kinds and the shapes of both; `arch` has what ReadDecoder reads.
void ReadHybridAttention(ConfigReader& config, int64_t layers, Architecture* arch);

// Routed experts and the shared one.
void ReadHybridExperts(ConfigReader& config, int64_t layers, Architecture* arch);

// Every decoder layer below `prefix`.
void AddHybridLayers(TableBuilder& t, const std::string& prefix, const Architecture& arch,
                     const HybridForm& form);

// `layers` draft layers with full attention below mtp.layers, and what joins them to the model.
// They are added to `table`, which `t` builds, and may be absent from a checkpoint.
void AddHybridDraft(TableBuilder& t, TensorTable* table, const Architecture& arch,
                    const HybridForm& form, int64_t layers);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_QWEN_HYBRID_H_
