#include "model/families/unknown_names.h"

#include <gtest/gtest.h>

namespace shardplan::families {
namespace {

NameParts ReadNames(std::string_view pattern) {
  std::optional<NameParts> parts = ReadName(pattern);
  EXPECT_TRUE(parts.has_value()) << pattern;
  return parts.value_or(NameParts());
}

TEST(ReadName, TellsWhatANumberCounts) {
  const NameParts expert = ReadNames("model.layers.{}.mlp.experts.{}.w1.weight");
  EXPECT_EQ(expert.stack, "model.layers.");
  EXPECT_EQ(expert.holes, (std::vector<Hole>{Hole::kLayer, Hole::kExpert}));
  EXPECT_EQ(expert.path, (std::vector<std::string>{"mlp", "experts", "w1"}));
  EXPECT_EQ(expert.suffix, "weight");
  EXPECT_TRUE(expert.routed);
  EXPECT_EQ(expert.Name(), "model.layers.{L}.mlp.experts.{E}.w1.weight");
  const std::vector<int64_t> fixed = {7};
  EXPECT_EQ(expert.Name(&fixed), "model.layers.{L}.mlp.experts.7.w1.weight");

  const NameParts gpt = ReadNames("transformer.h.{}.attn.c_attn.bias");
  EXPECT_EQ(gpt.stack, "transformer.h.");
  EXPECT_EQ(gpt.module(), "c_attn");
  EXPECT_EQ(gpt.suffix, "bias");

  const NameParts tower = ReadNames("visual.blocks.{}.attn.qkv.weight");
  EXPECT_TRUE(tower.tower);
  EXPECT_FALSE(tower.HasLayer());
  EXPECT_EQ(tower.Name(), "visual.blocks.{B}.attn.qkv.weight");

  const NameParts draft = ReadNames("mtp.layers.{}.self_attn.q_proj.weight");
  EXPECT_TRUE(draft.draft);
  EXPECT_FALSE(draft.HasLayer());

  EXPECT_TRUE(ReadNames("model.mm_projector.{}.weight").projector);
  const NameParts shared = ReadNames("model.layers.{}.mlp.shared_experts.up_proj.weight");
  EXPECT_TRUE(shared.shared);
  EXPECT_FALSE(shared.routed);
}

TEST(ReadName, TakesTheTensorOffItsModule) {
  EXPECT_EQ(ReadNames("a.layers.{}.mlp.up_proj.weight_scale_inv").suffix, "weight_scale_inv");
  EXPECT_EQ(ReadNames("a.layers.{}.mlp.up_proj.weight.absmax").suffix, "absmax");
  EXPECT_EQ(ReadNames("a.layers.{}.mlp.up_proj.weight.absmax").module(), "up_proj");
  const NameParts blocks = ReadNames("a.layers.{}.mlp.experts.gate_up_proj_blocks");
  EXPECT_EQ(blocks.suffix, "blocks");
  EXPECT_EQ(blocks.module(), "gate_up_proj");
  EXPECT_EQ(ReadNames("a.layers.{}.mixer.A_log").module(), "a_log");
  EXPECT_EQ(ReadNames("a.layers.{}.mixer.A_log").suffix, "");
}

TEST(ReadName, OtherStacksCountBlocks) {
  NameParts encoder = ReadNames("encoder.layers.{}.fc1.weight");
  encoder.LayersAreBlocks();
  EXPECT_FALSE(encoder.HasLayer());
  EXPECT_EQ(encoder.Name(), "encoder.layers.{B}.fc1.weight");
}

TEST(ReadName, LeavesOutWhatATableCannotSpell) {
  for (const char* odd : {"model.layers.{}.{L}.weight", "x.{{}}.weight", "x.007.weight", "a{b"}) {
    EXPECT_FALSE(ReadName(odd).has_value()) << odd;
  }
  EXPECT_TRUE(ReadName("").has_value());
  EXPECT_TRUE(ReadName("{}.weight").has_value());
  EXPECT_FALSE(ReadName("{}").has_value());  // no module at all
  EXPECT_TRUE(ReadName("a..b. \x1b[31m").has_value());
}

}  // namespace
}  // namespace shardplan::families
