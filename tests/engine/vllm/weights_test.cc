#include "engine/vllm/weights.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "shardplan/base/units.h"
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
      {"deepseek-ai__DeepSeek-V3.2", 23},
      {"deepseek-ai__DeepSeek-V4-Flash", 13},
      {"kimi-k2", 8},
      {"dense-70b", 15},
      {"Qwen__Qwen3-0.6B", 5},
      {"Qwen__Qwen3-8B", 4},
      {"Qwen__Qwen3-32B", 10},
      {"Qwen__Qwen3-32B-FP8", 3},
      {"Qwen__Qwen3-235B-A22B", 21},
      {"Qwen__Qwen3-235B-A22B-FP8", 13},
      {"Qwen__Qwen3-30B-A3B", 9},
      {"Qwen__Qwen3-30B-A3B-FP8", 6},
      {"Qwen__Qwen3-Coder-480B-A35B-Instruct", 7},
      {"Qwen__Qwen3-Next-80B-A3B-Instruct", 21},
      {"Qwen__Qwen3.5-27B", 5},
      {"Qwen__Qwen3.5-122B-A10B", 5},
      {"Qwen__Qwen3.5-397B-A17B", 22},
      {"Qwen__Qwen3.5-397B-A17B+nvfp4-qwen3-5", 10},
      {"Qwen__Qwen3-VL-235B-A22B-Instruct", 1},
      {"mistralai__Mixtral-8x7B-v0.1", 17},
      {"moonshotai__Kimi-K2.5+nvfp4-routed", 9},
      {"moonshotai__Kimi-Linear-48B-A3B", 20},
      {"zai-org__GLM-4.7", 18},
      {"zai-org__GLM-5", 6},
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

// Total of the buffers on a stage, without those that vLLM keeps outside its modules.
int64_t RegisteredBuffers(const VllmContext& c, size_t stage) {
  int64_t bytes = 0;
  for (const auto& extra : vllm::Buffers(c.context, c.context.stages[stage], 0)) {
    if (extra.name != "deepstack_input_embeds") bytes += extra.bytes.count();
  }
  return bytes;
}

// Golden rows w0334, w0821, w0844, w0845 and w0837: rotary tables (four times as long with M-RoPE,
// and the tower's own) and the scales of attention layers, none of delta nets.
TEST(VllmWeights, BuffersOfHybridsAndTowers) {
  VllmContext next("Qwen__Qwen3-Next-80B-A3B-Instruct");
  next.Resolve();
  EXPECT_EQ(RegisteredBuffers(next, 0), 33'554'624);

  VllmContext dense("Qwen__Qwen3.5-27B");
  dense.context.settings.language_model_only = true;
  dense.Resolve();
  EXPECT_EQ(RegisteredBuffers(dense, 0), 134'217'984);

  VllmContext moe("Qwen__Qwen3.5-397B-A17B");
  moe.context.sizes.tp = 4;
  moe.context.sizes.pp = 2;
  moe.Resolve();
  EXPECT_EQ(RegisteredBuffers(moe, 0), 134'807'664);
  EXPECT_EQ(RegisteredBuffers(moe, 1), 134'807'680);

  VllmContext vl("Qwen__Qwen3-VL-235B-A22B-Instruct");
  vl.context.sizes.tp = 8;
  vl.Resolve();
  EXPECT_EQ(RegisteredBuffers(vl, 0), 67'700'192);
}

TEST(VllmWeights, DeepstackFeaturesAreKeptForEveryBatchedToken) {
  VllmContext c("Qwen__Qwen3-VL-235B-A22B-Instruct");
  c.context.settings.max_num_batched_tokens = 8192;
  c.Resolve();
  const auto bytes = [&] {
    for (const auto& extra : vllm::Buffers(c.context, c.context.stages[0], 0)) {
      if (extra.name == "deepstack_input_embeds") return extra.bytes.count();
    }
    return int64_t{0};
  };
  EXPECT_EQ(bytes(), 3LL * 8192 * 4096 * 2);
  c.context.settings.language_model_only = true;
  c.Resolve();
  EXPECT_EQ(bytes(), 0);
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

const vllm::ExtraBytes* FindExtra(const std::vector<vllm::ExtraBytes>& extras,
                                  const std::string& name) {
  for (const vllm::ExtraBytes& extra : extras) {
    if (extra.name == name) return &extra;
  }
  return nullptr;
}

// What vLLM registers for Kimi-Linear (golden rows w0475 and w0478): no second copies, no rotary
// table; expert maps with expert parallelism.
TEST(VllmWeights, KimiLinearBuffers) {
  VllmContext c("moonshotai__Kimi-Linear-48B-A3B");
  const auto sum = [&] {
    c.Resolve();
    int64_t bytes = 0;
    for (const auto& extra : vllm::Buffers(c.context, c.context.stages[0], 256)) {
      bytes += extra.bytes.count();
    }
    return bytes;
  };
  EXPECT_EQ(sum(), 140);
  c.context.sizes.tp = 4;
  c.context.sizes.expert_parallel = true;
  EXPECT_EQ(sum(), 26'764);
}

// DeepSeek-V4 keeps a table for layers with a window alone and one for those that compress, in
// fp32 (golden rows w0535 and w0543), and no attention scales.
TEST(VllmWeights, DeepseekV4RotaryTables) {
  VllmContext c("deepseek-ai__DeepSeek-V4-Flash");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.Resolve();
  const auto first = vllm::Buffers(c.context, c.context.stages[0], 256);
  const auto second = vllm::Buffers(c.context, c.context.stages[1], 256);
  EXPECT_EQ(FindExtra(first, "rotary_emb.cos_sin_cache")->bytes, Bytes(536'870'912));
  EXPECT_EQ(FindExtra(second, "rotary_emb.cos_sin_cache")->bytes, Bytes(268'435'456));
  EXPECT_EQ(FindExtra(first, "attention scales"), nullptr);
  EXPECT_EQ(FindExtra(first, "indexer.topk_indices_buffer")->bytes, Bytes(8192LL * 512 * 4));
}

TEST(VllmWeights, DeepseekV32KeepsATableForItsIndexer) {
  VllmContext c("deepseek-ai__DeepSeek-V3.2");
  c.context.sizes.tp = 8;
  c.Resolve();
  const auto buffers = vllm::Buffers(c.context, c.context.stages[0], 256);
  EXPECT_EQ(FindExtra(buffers, "rotary_emb.cos_sin_cache")->bytes, Bytes(2LL * 163'840 * 64 * 4));
  EXPECT_EQ(FindExtra(buffers, "attention scales")->bytes, Bytes(61 * 16));
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

Bytes ExtraOf(const VllmContext& c, const std::string& name) {
  for (const vllm::ExtraBytes& extra :
       vllm::PostLoad(c.context, c.context.stages[0], c.Weights())) {
    if (extra.name == name) return extra.bytes;
  }
  return Bytes();
}

// One copy for each of 56 attentions, in any precision.
TEST(VllmWeights, LongcatFlashCopiesTheUpProjections) {
  VllmContext c("meituan-longcat__LongCat-Flash-Chat");
  c.context.sizes.tp = 8;
  c.Resolve();
  EXPECT_EQ(ExtraOf(c, "w_kc, w_vc"), Bytes(56LL * 8 * 256 * 512 * 2));
  EXPECT_EQ(ExtraOf(c, "W_UK_T, W_UV"), Bytes());
  nlohmann::json config = testing_support::ExampleConfig("meituan-longcat__LongCat-Flash-Chat");
  config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  VllmContext fp8(testing_support::Build(config));
  fp8.context.sizes.tp = 8;
  fp8.Resolve();
  EXPECT_EQ(ExtraOf(fp8, "w_kc, w_vc"), Bytes(56LL * 8 * 256 * 512 * 2));
  EXPECT_EQ(ExtraOf(fp8, "W_UK_T, W_UV"), Bytes(56LL * 8 * 256 * 512 * 2));
  const auto buffers = vllm::Buffers(fp8.context, fp8.context.stages[0], 512);
  EXPECT_EQ(FindExtra(buffers, "attention scales")->bytes, Bytes(56 * 16));
}

// As public logs show it on Hopper, B200 and B300, and not on cards of 12.0.
TEST(VllmWeights, ExpertScalesOfFp8AreKeptTwiceWhereTheLogsShowIt) {
  VllmContext c("MiniMaxAI__MiniMax-M2.7");
  c.context.sizes.tp = 2;
  // 62 layers of 256 experts; I 1,536 ÷ 2, H 3,072, blocks of 128.
  const Bytes scales(62LL * 256 * (2 * 6 * 24 + 24 * 6) * 4);
  for (const auto& [capability, expected] :
       {std::pair(89, Bytes()), std::pair(90, scales), std::pair(100, scales),
        std::pair(103, scales), std::pair(120, Bytes())}) {
    c.gpu().capability = capability;
    c.Resolve();
    EXPECT_EQ(ExtraOf(c, "expert scales, kernel layout"), expected) << capability;
  }
}

// A public log of MiniMax-M2.7 on A100 (v0.20). FP8 of one scale an output needs no such layout.
TEST(VllmWeights, MarlinSpreadsTheScalesOfFp8Blocks) {
  VllmContext c("MiniMaxAI__MiniMax-M2.7");
  c.context.sizes.tp = 4;
  c.gpu().capability = 80;
  c.Resolve();
  // H 3,072, I 1,536 ÷ 4; 48 heads ÷ 4 and 8 KV heads ÷ 4 of 128.
  const int64_t expert = 256LL * 3 * 384 * 3072;
  const int64_t qkv = (12 + 2 * 2) * 128 * 3072;
  const int64_t out = 3072 * 12 * 128;
  const int64_t each = (expert + qkv + out) / 64 - (expert + qkv + out) / (128 * 128) * 4;
  EXPECT_EQ(ExtraOf(c, "FP8 scales, Marlin layout"), Bytes(62 * each));
  c.gpu().capability = 89;
  c.Resolve();
  EXPECT_EQ(ExtraOf(c, "FP8 scales, Marlin layout"), Bytes());
  VllmContext channels("dense-70b+modelopt-fp8");
  channels.gpu().capability = 80;
  channels.Resolve();
  EXPECT_EQ(ExtraOf(channels, "FP8 scales, Marlin layout"), Bytes());
}

// Kimi-K2's packed experts: Marlin drops the parameters of an activation order, FlashInfer doesn't.
TEST(VllmWeights, FlashInferKeepsTheOrderOfPackedExperts) {
  VllmContext c("kimi-k2+int4-experts");
  c.gpu().capability = 100;
  c.context.sizes.tp = 4;
  c.context.sizes.expert_parallel = true;
  c.Resolve();
  EXPECT_EQ(ExtraOf(c, "activation order of packed experts"), Bytes());
  c.context.settings.moe_backend = "flashinfer_trtllm";
  c.Resolve();
  EXPECT_EQ(ExtraOf(c, "activation order of packed experts"),
            Bytes(60LL * 96 * (7168 + 2048) * 2 * 4));
}

// Qwen2-7B at TP1, as torch's allocator counts it: a public log of v0.10.1.1 printed 14.2488 GiB.
TEST(VllmWeights, TheAllocatorKeepsRestsOfLargeTensors) {
  VllmContext c("qwen2-7b");
  c.Resolve();
  const StageRange& stage = c.context.stages[0];
  EXPECT_EQ(vllm::AllocatorRounding(c.context, stage, c.Weights()), Bytes());
  c.profile().allocator_rounding = true;
  // Of the projections, o_proj (24.5 MiB) leaves 1.5 MiB, which are split off; qkv (31.5 MiB),
  // gate_up (259 MiB) and down (129.5 MiB) leave at most 1 MiB; embedding and head 0.5 MiB each.
  const Bytes rest = vllm::AllocatorRounding(c.context, stage, c.Weights());
  EXPECT_EQ(rest, Bytes((28 * (512 + 1024 + 512) + 2 * 512) * kKiB));
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
