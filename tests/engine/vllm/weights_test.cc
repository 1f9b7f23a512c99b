#include "engine/vllm/weights.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::Optional;
using testing_support::ReadRows;
using testing_support::VllmContext;

// The pattern a parameter has in vLLM's own listing: the layer (or block) as an asterisk.
std::string Starred(std::string name) {
  for (const char* hole : {"{L}", "{B}"}) {
    const size_t at = name.find(hole);
    if (at != std::string::npos) name.replace(at, 3, "*");
  }
  return name;
}

// The models of the file and the number of their rows.
const std::map<std::string, int>& GoldenRows() {
  static const std::map<std::string, int> rows = {
      {"kimi-k3", 76},
      {"deepseek-v3", 19},
      {"deepseek-ai__DeepSeek-V2-Lite", 7},
      {"kimi-k2", 8},
      {"dense-70b", 15},
      {"Qwen__Qwen3-32B", 10},
      {"Qwen__Qwen3-32B-FP8", 3},
      {"Qwen__Qwen3-235B-A22B", 21},
      {"Qwen__Qwen3-235B-A22B-FP8", 13},
      {"Qwen__Qwen3-30B-A3B", 9},
      {"Qwen__Qwen3-30B-A3B-FP8", 6},
      {"Qwen__Qwen3-Coder-480B-A35B-Instruct", 7},
      {"mistralai__Mixtral-8x7B-v0.1", 17},
      {"zai-org__GLM-4.7", 18},
      {"zai-org__GLM-4.5-Air", 22},
      {"MiniMaxAI__MiniMax-M2.5", 12},
      {"MiniMaxAI__MiniMax-M2.7", 6},
      {"openai__gpt-oss-20b", 35},
      {"Qwen__Qwen3-235B-A22B+nvfp4-all", 10},
      {"deepseek-v3+nvfp4", 10},
      {"MiniMaxAI__MiniMax-M2.5+nvfp4-experts", 9},
      {"dense-70b+modelopt-fp8", 3},
      {"qwen2-7b+awq-symmetric", 4},
      {"qwen2-32b+awq", 5},
      {"gemma-2-27b", 5},
      {"gemma-3-27b", 10},
      {"jamba2-mini", 17},
      {"llama-3.1-8b", 6},
      {"llama-4-maverick", 15},
      {"mimo-v2-flash", 10},
      {"mistral-large", 6},
      {"nemotron-3-nano", 16},
      {"nemotron-3-ultra", 15},
      {"nemotron-h-56b", 4},
      {"phi-4", 2},
  };
  return rows;
}

std::vector<std::string> GoldenModels() {
  std::vector<std::string> models;
  for (const auto& [model, rows] : GoldenRows()) models.push_back(model);
  return models;
}

class GoldenWeights : public ::testing::TestWithParam<std::string> {};

// Every row of what vLLM's own classes create (d29f7f5c): total, per parameter, per layer.
TEST_P(GoldenWeights, EqualsWhatVllmCreates) {
  int checked = 0;
  for (const nlohmann::json& row : ReadRows("vllm/weights.jsonl")) {
    if (row["model"] != GetParam()) continue;
    SCOPED_TRACE(row["id"].get<std::string>());
    VllmContext c(GetParam(), "0.28.0");
    c.context.sizes.tp = row["tp"];
    c.context.sizes.pp = row["pp"];
    c.context.sizes.dp = row["dp"];
    c.context.sizes.expert_parallel = row["ep"];
    c.gpu().capability = row["capability"];
    c.context.settings.language_model_only = row["text_only"];
    c.context.settings.mm_encoder_tp_mode = Optional<std::string>(row, "encoder");
    c.Resolve(Optional<std::string>(row, "partition"));
    const DeviceWeights weights = c.Weights();
    const int64_t stage = row["stage"];
    const StageRange range = c.context.stages[static_cast<size_t>(stage)];
    const bool last = stage + 1 == c.context.sizes.pp;

    EXPECT_EQ(weights.StageBytes(range, stage == 0, last).count(), row["param_bytes"]);
    for (const nlohmann::json& run : row["layers"]) {  // [first, last), bytes of each
      for (int64_t layer = run[0]; layer < run[1]; ++layer) {
        EXPECT_EQ(weights.layer(layer).bytes.count(), run[2]) << "layer " << layer;
      }
    }
    std::map<std::string, int64_t> ours;
    auto add = [&](const std::string& prefix, const std::vector<DeviceParam>& params) {
      for (const DeviceParam& p : params) ours[Starred(prefix + p.name)] += p.bytes.count();
    };
    for (int64_t layer = range.first; layer < range.end(); ++layer) {
      add(c.spec().table.layer_prefix, weights.layer(layer).params);
    }
    if (stage == 0) add("", weights.first_stage);
    if (last) add("", weights.last_stage);
    add("", weights.every_stage);
    EXPECT_EQ(ours, (row["params"].get<std::map<std::string, int64_t>>()));
    ++checked;
  }
  EXPECT_EQ(checked, GoldenRows().at(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenWeights, ::testing::ValuesIn(GoldenModels()),
                         testing_support::ExampleName);

TEST(GoldenWeightsFile, HasNoRowThatNobodyChecks) {
  std::map<std::string, int> rows;
  for (const nlohmann::json& row : ReadRows("vllm/weights.jsonl")) ++rows[row["model"]];
  EXPECT_EQ(rows, GoldenRows());
}

TEST(VllmWeights, PadsKimiK3ExpertsOnlyWithoutExpertParallelism) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 16;
  c.Resolve();
  const vllm::ExpertPadding sliced = vllm::PadExpert(c.context);
  EXPECT_EQ(sliced.unpadded, 192);
  EXPECT_EQ(sliced.padded, 256);
  c.context.sizes.expert_parallel = true;
  c.Resolve();
  const vllm::ExpertPadding whole = vllm::PadExpert(c.context);
  EXPECT_EQ(whole.unpadded, 3072);
  EXPECT_EQ(whole.padded, 3072);
}

TEST(VllmWeights, NewerVersionsPadOverAllExpertRanks) {
  // TP 8 × DP 4: a slice of 96. The old rule looks at TP alone and leaves it to the backend's 128.
  for (const auto& [version, padded] : {std::pair("0.28.0", 128), std::pair("0.31.0", 256)}) {
    VllmContext c("kimi-k3", version);
    c.context.sizes.tp = 8;
    c.context.sizes.dp = 4;
    c.Resolve();
    EXPECT_EQ(vllm::PadExpert(c.context).padded, padded) << version;
  }
}

TEST(VllmWeights, FirstRanksHoldTheExpertsLeftOver) {
  VllmContext c("deepseek-v3");
  c.context.sizes.tp = 1;
  c.context.sizes.dp = 6;
  c.context.sizes.expert_parallel = true;
  c.Resolve();
  EXPECT_EQ(vllm::RulesFor(c.context, 0).local_experts, 43);
  EXPECT_EQ(vllm::RulesFor(c.context, 3).local_experts, 43);
  EXPECT_EQ(vllm::RulesFor(c.context, 4).local_experts, 42);
  int64_t all = 0;
  for (int64_t rank = 0; rank < 6; ++rank) all += vllm::RulesFor(c.context, rank).local_experts;
  EXPECT_EQ(all, 256);
}

TEST(VllmWeights, KimiK3BuffersOfThePublishedDeployment) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.context.settings.language_model_only = true;
  c.Resolve("48,45");
  auto sum = [&](size_t stage) {
    int64_t bytes = 0;
    for (const auto& extra : vllm::Buffers(c.context, c.context.stages[stage], 896)) {
      bytes += extra.bytes.count();
    }
    return bytes;
  };
  // What vLLM registers on capability 9.0 and 10.0 (golden row w1049).
  EXPECT_EQ(sum(0), 2'672'880);
  // No fused decode kernel before Hopper: only the attention scales are left.
  c.gpu().capability = 80;
  EXPECT_EQ(sum(0), 12 * 5 * 4);
}

// Two rotary tables where local layers have their own, and scales for the layers that attend.
TEST(VllmWeights, BuffersOfModelsWhoseLayersDiffer) {
  const auto buffers = [](const char* model) {
    VllmContext c(model);
    c.Resolve();
    int64_t bytes = 0;
    for (const auto& extra : vllm::Buffers(c.context, c.context.stages[0], 0)) {
      bytes += extra.bytes.count();
    }
    return bytes;
  };
  EXPECT_EQ(buffers("gemma-2-27b"), 8192 * 128 * 2 + 46 * 16);
  EXPECT_EQ(buffers("gemma-3-27b"), 2 * 131072 * 128 * 2 + 62 * 16);
  EXPECT_EQ(buffers("mimo-v2-flash"), 2 * 262144 * 64 * 2 + 48 * 16);
  EXPECT_EQ(buffers("llama-4-maverick"), 1048576LL * 128 * 2 + 48 * 16);
  EXPECT_EQ(buffers("nemotron-3-nano"), 6 * 16);
  EXPECT_EQ(buffers("jamba2-mini"), 4 * 16);
}

TEST(VllmWeights, DequantizesMlaOnceForFp8) {
  VllmContext c("deepseek-v3");
  c.context.sizes.tp = 8;
  c.Resolve();
  const auto extras = vllm::PostLoad(c.context, c.context.stages[0], c.Weights());
  ASSERT_EQ(extras.size(), 2u);
  EXPECT_EQ(extras[0].bytes, Bytes(61LL * 512 * 16 * 256 * 2));
  EXPECT_EQ(extras[1].name, "expert scales, kernel layout");
  EXPECT_EQ(extras[1].bytes, Bytes(58LL * 256 * (4 * 56 + 56 * 2) * 4));
}

TEST(VllmWeights, UnquantizedMlaIsAView) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.Resolve();
  EXPECT_TRUE(vllm::PostLoad(c.context, c.context.stages[0], c.Weights()).empty());
}

TEST(VllmWeights, DTypeChangesWhatTheModelDTypeMade) {
  VllmContext c("kimi-k3");
  const TensorTable table = vllm::WithDType(c.spec().table, DType::kBF16, DType::kF32);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    EXPECT_EQ(table.rows[i].device_dtype, DType::kF32) << table.rows[i].name;
    EXPECT_EQ(table.rows[i].dtype, c.spec().table.rows[i].dtype);
  }
}

}  // namespace
}  // namespace shardplan
