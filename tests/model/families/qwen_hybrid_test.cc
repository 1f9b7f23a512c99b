#include "model/families/qwen_hybrid.h"

#include <gtest/gtest.h>

#include "support/tiny_models.h"

namespace shardplan {
namespace {

using families::DeltaProjections;
using families::ExpertForm;
using families::HybridForm;
using testing_support::BuildError;
using testing_support::TinyQwen3Next;

Architecture ReadHybrid(const nlohmann::json& config) {
  ConfigReader reader(config, "config.json");
  Architecture arch;
  const int64_t layers = families::ReadDecoder(reader, &arch);
  families::ReadHybridAttention(reader, layers, &arch);
  families::ReadHybridExperts(reader, layers, &arch);
  EXPECT_TRUE(reader.ok()) << (reader.ok() ? "" : reader.error().ToString());
  return arch;
}

std::vector<std::string> Params(const HybridForm& form) {
  TensorTable table;
  families::TableBuilder t(&table, DType::kBF16);
  families::AddHybridLayers(t, "", ReadHybrid(TinyQwen3Next()), form);
  std::vector<std::string> out;
  for (const ModuleRow& row : table.rows) {
    if (row.name.find("in_proj") != std::string::npos) {
      out.push_back(row.name + " " + row.param + " " + row.shape.ToString());
    }
  }
  return out;
}

TEST(QwenHybrid, KindsFromListOrInterval) {
  nlohmann::json config = TinyQwen3Next();
  const std::vector<AttentionKind> by_interval = ReadHybrid(config).attention;
  EXPECT_EQ(by_interval[0], AttentionKind::kGdn);
  EXPECT_EQ(by_interval[1], AttentionKind::kFull);
  EXPECT_EQ(by_interval[4], AttentionKind::kGdn);
  config["layer_types"] = {"full_attention", "linear_attention", "linear_attention",
                           "linear_attention", "full_attention"};
  const std::vector<AttentionKind> by_list = ReadHybrid(config).attention;
  EXPECT_EQ(by_list[0], AttentionKind::kFull);
  EXPECT_EQ(by_list[1], AttentionKind::kGdn);
  EXPECT_EQ(by_list[4], AttentionKind::kFull);
}

// Two ways to store what the engine fuses into the same two parameters.
TEST(QwenHybrid, ProjectionsOfTheDeltaNets) {
  EXPECT_EQ(Params({DeltaProjections::kInterleaved, ExpertForm::kEach}),
            (std::vector<std::string>{"linear_attn.in_proj_qkvz linear_attn.in_proj_qkvz [128, 32]",
                                      "linear_attn.in_proj_ba linear_attn.in_proj_ba [32, 32]"}));
  EXPECT_EQ(Params({DeltaProjections::kSeparate, ExpertForm::kEach}),
            (std::vector<std::string>{"linear_attn.in_proj_qkv linear_attn.in_proj_qkvz [96, 32]",
                                      "linear_attn.in_proj_z linear_attn.in_proj_qkvz [32, 32]",
                                      "linear_attn.in_proj_b linear_attn.in_proj_ba [16, 32]",
                                      "linear_attn.in_proj_a linear_attn.in_proj_ba [16, 32]"}));
}

TEST(QwenHybrid, GatesAreNeverQuantized) {
  TensorTable table;
  families::TableBuilder t(&table, DType::kBF16);
  families::AddHybridLayers(t, "", ReadHybrid(TinyQwen3Next()), {});
  for (const ModuleRow& row : table.rows) {
    const bool gate = row.name == "mlp.gate" || row.name == "mlp.shared_expert_gate";
    EXPECT_EQ(row.quantizable, !gate) << row.name;
    if (row.name == "linear_attn.A_log") {
      EXPECT_EQ(row.device_dtype, DType::kF32);
    }
    if (row.name == "self_attn.q_proj") {
      EXPECT_EQ(row.shape, (Shape{2 * 64, 32}));  // queries and their gate
    }
  }
}

TEST(QwenHybrid, DraftLayersAreStoredAndNotLoaded) {
  TensorTable table;
  families::TableBuilder t(&table, DType::kBF16);
  families::AddHybridDraft(t, &table, ReadHybrid(TinyQwen3Next()), {}, 2);
  int64_t per_layer = 0;
  for (const ModuleRow& row : table.rows) {
    EXPECT_EQ(row.role, Role::kDraft) << row.name;
    EXPECT_EQ(row.placement, Placement::kNotLoaded) << row.name;
    EXPECT_TRUE(row.optional) << row.name;
    const bool in_layer = row.name.starts_with("mtp.layers.{B}.");
    EXPECT_EQ(row.blocks, in_layer ? 2 : 0) << row.name;
    per_layer += in_layer && row.stored ? row.Count() : 0;  // the engine makes scales of its own
  }
  // Attention 6, norms 2, router 1, shared expert 4, three matrices of 12 experts; twice.
  EXPECT_EQ(per_layer, 2 * (6 + 2 + 1 + 4 + 36));
}

TEST(QwenHybrid, Contradictions) {
  const auto with = [](const nlohmann::json& changes) {
    nlohmann::json config = TinyQwen3Next();
    config.update(changes);
    return BuildError(config);
  };
  EXPECT_EQ(with({{"layer_types", {"full_attention"}}}),
            "config.json: layer_types: expected one entry per layer");
  EXPECT_EQ(with({{"layer_types", {"mamba", "mamba", "mamba", "mamba", "mamba"}}}),
            "config.json: layer_types: expected linear_attention or full_attention");
  EXPECT_EQ(with({{"linear_num_key_heads", 3}}),
            "config.json: linear_num_key_heads: does not divide linear_num_value_heads");
  EXPECT_EQ(with({{"attention_bias", true}}),
            "config.json: attention_bias: expected none: biases are not modelled here");
  EXPECT_EQ(with({{"attn_output_gate", false}}),
            "config.json: attn_output_gate: expected true: ungated attention is not modelled");
}

}  // namespace
}  // namespace shardplan
