// Roles and splits from names and shapes, in an architecture that no family covers.
#ifndef SHARDPLAN_MODEL_FAMILIES_UNKNOWN_RULES_H_
#define SHARDPLAN_MODEL_FAMILIES_UNKNOWN_RULES_H_

#include "model/families/unknown_names.h"
#include "shardplan/checkpoint/dtype.h"
#include "shardplan/model/architecture.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan::families {

// What one tensor is and how it is sliced.
//
// By name, below the module that owns it (attn: self_attn, attn, attention, …):
//   embedding       embed_tokens, wte, word_embeddings, … of [vocabulary, hidden]: by vocabulary
//   head            lm_head, output, embed_out, … of [vocabulary, hidden]: by vocabulary
//   norms           one-dimensional *norm*, ln_*: replicated; one over all heads with the heads
//   attention       q_proj, wq, …: output by heads; k_proj, wv, …: by KV heads; qkv_proj, c_attn,
//                   Wqkv, query_key_value, …: part by part; q_a_proj, kv_a_proj_with_mqa: whole;
//                   q_b_proj, kv_b_proj: output; o_proj, wo, dense, …: input
//   dense MLP       gate_proj, up_proj, w1, w3, fc1, c_fc, …: output; down_proj, w2, fc2, …: input
//   router          gate, router, wg, … of [experts, hidden]: replicated
//   routed experts  as the MLP, whole experts by EP, the intermediate size otherwise; a stack's
//                   first dimension counts experts
//   linear          in_proj, conv1d, A_log, dt_proj, …: output; x_proj, out_proj: input
// By shape, where the name says nothing: [n, hidden] by output, [hidden, n] by input, others whole.
// A scale goes with its weight, along the same dimension where it has one.
//
// A rule is recognised (`slice.guessed` false) where the name is one of the usual ones and the
// shape is the one that the architecture's numbers imply; everything else is guessed.
struct TensorRule {
  Role role = Role::kNorm;
  Split split = Split::kReplicated;
  Placement placement = Placement::kLayers;
  TensorSlice slice;
};

// `arch` has its numbers (hidden, heads, KV heads, head_dim, vocabulary, experts) already.
TensorRule RuleFor(const NameParts& name, DType dtype, const Shape& shape,
                   const Architecture& arch);

// Whether the tensor is a weight: not a scale, a zero point, an index or a bias.
bool IsWeight(const NameParts& name);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_UNKNOWN_RULES_H_
