// Kimi-K2.5, 2.6 and 2.7: Kimi-K2's language model behind a vision tower and a projector.
//
// Names and totals are the published checkpoints' (208,550 tensors; routed experts in INT4, the
// rest in BF16); fused parameters are vLLM's (model_executor/models/kimi_k25.py, d29f7f5c).
#include "model/families/deepseek_parts.h"
#include "model/families/kimi_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildKimiK25(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ConfigReader text = config.Object("text_config");
  ConfigReader vision = config.Object("vision_config");
  ReadDeepseek(text, &a);
  const bool router_bias = ReadRouterBias(text, a);
  ReadKimiVision(vision, &a);
  a.name = ArchitectureName(config);
  a.trust_remote_code = config.Has("auto_map");
  for (const ConfigReader* child : {&text, &vision}) config.Adopt(*child);
  if (!config.ok()) return tl::unexpected(config.error());

  AddDeepseek(&spec.table, a, router_bias, assumptions);
  PrefixNames(&spec.table, "language_model.");
  TableBuilder t(&spec.table, a.dtype);
  AddKimiVision(t, vision, a, {a.vision.hidden, true, false});
  if (!vision.ok()) return tl::unexpected(vision.error());
  return spec;
}

}  // namespace shardplan::families
