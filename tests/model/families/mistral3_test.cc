#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::RowEnding;
using testing_support::TinyMistral3;
using testing_support::With;

TEST(Mistral3, ADecoderAndATower) {
  const ModelSpec spec = Build(TinyMistral3());
  EXPECT_EQ(spec.arch.name, "Mistral3ForConditionalGeneration");
  EXPECT_EQ(spec.arch.family, "mistral3");
  EXPECT_EQ(spec.arch.vision.patches_per_token, 4);
  EXPECT_EQ(RowEnding(spec, "patch_merger.merging_layer")->shape, (Shape{16, 64}));
  EXPECT_EQ(RowEnding(spec, "vision_tower.patch_conv.weight")->shape, (Shape{16, 3, 2, 2}));
  EXPECT_NE(RowEnding(spec, "language_model.lm_head.weight"), nullptr);
  EXPECT_FALSE(spec.arch.has_kind(AttentionKind::kSliding));
}

TEST(Mistral3, Refusals) {
  nlohmann::json config = TinyMistral3();
  config["vision_feature_layer"] = -2;
  EXPECT_EQ(BuildError(config), "config.json: vision_feature_layer: expected -1: the whole tower");
  config = TinyMistral3();
  config.erase("vision_config");
  EXPECT_NE(BuildError(config).find("vision_config"), std::string::npos);
}

}  // namespace
}  // namespace shardplan
