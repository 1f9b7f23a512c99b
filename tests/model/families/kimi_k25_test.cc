#include <gtest/gtest.h>

#include <map>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

const char kKimiK25[] = "moonshotai__Kimi-K2.5";

TEST(KimiK25, Architecture) {
  const Architecture a = Build(ExampleConfig(kKimiK25)).arch;
  EXPECT_EQ(a.name, "KimiK25ForConditionalGeneration");
  EXPECT_EQ(a.family, "kimi-k2.5");
  EXPECT_EQ(a.layers(), 61);
  EXPECT_EQ(a.moe.experts, 384);
  EXPECT_EQ(a.max_positions, 262'144);
  EXPECT_TRUE(a.rotary.yarn);
  EXPECT_TRUE(a.vision.present);
  EXPECT_EQ(a.vision.heads, 16);
  EXPECT_EQ(a.vision.time_positions, 4);
  EXPECT_TRUE(a.trust_remote_code);
}

// Of the language model, the routed experts alone are in INT4.
TEST(KimiK25, OnlyRoutedExpertsAreQuantized) {
  const ModelSpec spec = Build(ExampleConfig(kKimiK25));
  EXPECT_EQ(spec.arch.quantization, "int4");
  for (const ModuleRow& row : spec.table.rows) {
    EXPECT_EQ(row.quant.scheme,
              row.role == Role::kRoutedExpert ? QuantScheme::kIntPacked : QuantScheme::kPlain)
        << row.name;
  }
}

// The tower and its projector weigh what K2.5 adds to K2-Thinking, whose checkpoint has rotary
// buffers of 128 entries and is the same otherwise.
TEST(KimiK25, TowerAndProjector) {
  std::map<Role, Bytes> bytes;
  int64_t tensors = 0;
  for (const ModuleRow& row : Build(ExampleConfig(kKimiK25)).table.rows) {
    if (!row.is_tower()) continue;
    EXPECT_EQ(row.placement, Placement::kEveryStage);
    EXPECT_FALSE(row.form == Form::kLinear && row.quantizable) << row.name;
    for (const StoredTensor& tensor : StoredTensors(row)) {
      bytes[row.role] += *SizeOf(tensor.dtype, tensor.shape) * row.Count();
      tensors += row.Count();
    }
  }
  constexpr int64_t kInvFreq = 61 * 128 * 2;
  EXPECT_EQ(bytes[Role::kVision] + bytes[Role::kProjector],
            Bytes(595'148'192'736 - 594'205'920'512 + kInvFreq));
  EXPECT_EQ(tensors, 208'550 - 208'276 + 61);
}

TEST(KimiK25, TheLanguageModelIsKimiK2sUnderAPrefix) {
  const ModelSpec inner = Build(ExampleConfig("kimi-k2"));
  const ModelSpec spec = Build(ExampleConfig(kKimiK25));
  EXPECT_EQ(spec.table.layer_prefix, "language_model." + inner.table.layer_prefix);
  for (size_t i = 0; i < inner.table.rows.size(); ++i) {
    EXPECT_EQ(spec.table.rows[i].name, "language_model." + inner.table.rows[i].name);
    EXPECT_EQ(spec.table.rows[i].shape, inner.table.rows[i].shape);
  }
}

TEST(KimiK25, Refusals) {
  nlohmann::json config = ExampleConfig(kKimiK25);
  config["vision_config"]["patch_size"] = 0;
  EXPECT_EQ(BuildError(config),
            "config.json: vision_config.patch_size: expected an integer from 1 to 16,777,216, "
            "found 0");
  config = ExampleConfig(kKimiK25);
  config.erase("text_config");
  EXPECT_EQ(BuildError(config), "config.json: text_config: expected an object, found nothing");
}

}  // namespace
}  // namespace shardplan
