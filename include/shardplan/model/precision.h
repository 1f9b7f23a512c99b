// "What if it were stored at another precision": a policy per role.
#ifndef SHARDPLAN_MODEL_PRECISION_H_
#define SHARDPLAN_MODEL_PRECISION_H_

#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/model/model.h"

namespace shardplan {

// One "ROLES=FORMAT" of a policy.
struct PrecisionRule {
  std::string text;  // as given: "experts=int4:128"
  std::vector<Role> roles;
  QuantFormat format;  // plain: `dtype` counts
  DType dtype = DType::kBF16;

  // The text says it all.
  bool operator==(const PrecisionRule& other) const { return text == other.text; }
};

// The rules in order; a later one overrides an earlier one for the roles they share.
struct PrecisionPolicy {
  std::vector<PrecisionRule> rules;
  bool empty() const { return rules.empty(); }
  bool operator==(const PrecisionPolicy&) const = default;
};

// Appends "experts=int4:128,attention=fp8:128x128,router=bf16". Roles: experts, shared_experts,
// mlp, attention (with the linear kind), linear_attention, latent, router, embeddings (with the
// head), head, vision, all (what a format can hold: not norms). Formats: bf16, fp16, fp32, fp8 or
// fp8:tensor, fp8:channel, fp8:128x128, int8, int4:32, int4:64, int4:128 (":zp" for zero points),
// int4:channel, mxfp4, nvfp4. Fails with kUsage, naming what is close.
Status ParsePrecision(std::string_view text, PrecisionPolicy* out);

// Replaces the formats of the model's table by the policy's, for the file and for the card alike:
// the checkpoint that would have to be made. Totals are the table's, no shard is named any more,
// and a note (model.precision) itemises weights and scales by rule.
void ApplyPrecision(const PrecisionPolicy& policy, Model* model);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_PRECISION_H_
