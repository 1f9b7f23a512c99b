#include "engine/vllm/kv_cache.h"

#include <gtest/gtest.h>

#include "engine/vllm/refusals.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::Optional;
using testing_support::ReadRows;
using testing_support::VllmContext;

void Configure(const nlohmann::json& row, VllmContext* c) {
  c->context.sizes.tp = row["tp"];
  c->context.sizes.pp = row["pp"];
  c->context.sizes.dcp = row["dcp"];
  c->gpu().capability = row["capability"];
  EngineSettings& s = c->context.settings;
  s.language_model_only = true;
  s.max_model_len = row["max_model_len"].get<int64_t>();
  s.kv_cache_dtype = row["kv_dtype"].get<std::string>();
  s.enable_prefix_caching = Optional<bool>(row, "prefix");
  s.mamba_cache_mode = Optional<std::string>(row, "mamba");
  s.block_size = Optional<int64_t>(row, "block_size");
  s.max_num_seqs = row["seqs"].get<int64_t>();
  s.max_num_batched_tokens = row["batched"].get<int64_t>();
  c->Resolve(Optional<std::string>(row, "partition"));
}

std::vector<Bytes> Available(const nlohmann::json& row) {
  std::vector<Bytes> available;
  for (const int64_t bytes : row["available"]) available.emplace_back(bytes);
  return available;
}

class GoldenKv : public ::testing::TestWithParam<std::string> {};

// Every row of vLLM's own sizing functions (d29f7f5c): block, groups, bytes, blocks, tokens, and
// the refusals' figures.
TEST_P(GoldenKv, EqualsWhatVllmComputes) {
  int checked = 0;
  for (const nlohmann::json& row : ReadRows("vllm/kv.jsonl")) {
    if (row["model"] != GetParam()) continue;
    SCOPED_TRACE(row["id"].get<std::string>());
    VllmContext c(GetParam(), "0.28.0");
    Configure(row, &c);
    const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
    EXPECT_EQ(layout.block_tokens, row["block"]);
    EXPECT_EQ(
        c.context.resolved.mamba_cache_mode.empty() ? "none" : c.context.resolved.mamba_cache_mode,
        row["mode"]);
    for (size_t s = 0; s < c.context.stages.size(); ++s) {
      EXPECT_EQ(layout.bytes_per_block[s].count(), row["bytes_per_block"][s]);
    }
    const int64_t asked = row["max_model_len"];
    const std::vector<Bytes> available = Available(row);
    const bool automatic = row["auto"];
    const int64_t window = automatic ? vllm::LargestWindow(layout, available, asked, true) : asked;
    if (automatic && !row["window_after"].is_null()) {
      EXPECT_EQ(window, row["window_after"]);
    }
    ASSERT_EQ(layout.groups.size(), row["groups"].size());
    for (size_t g = 0; g < layout.groups.size(); ++g) {
      EXPECT_EQ(layout.groups[g].layers.size(), row["groups"][g][0]);
      for (size_t s = 0; s < c.context.stages.size(); ++s) {
        EXPECT_EQ(layout.groups[g].CountIn(c.context.stages[s]), row["groups"][g][1][s]);
      }
    }
    if (!row["num_blocks"].is_null()) {
      const vllm::KvCapacity capacity = vllm::ComputeCapacity(layout, available, window);
      EXPECT_EQ(capacity.num_blocks, row["num_blocks"]);
      EXPECT_EQ(capacity.blocks_per_request, row["per_request"]);
      EXPECT_NEAR(capacity.max_concurrency, row["concurrency"].get<double>(), 1e-9);
      EXPECT_EQ(capacity.tokens, row["tokens"]);
    }
    if (const auto error = Optional<std::string>(row, "error"); error && !automatic) {
      if (error->starts_with("No available memory")) {
        EXPECT_LE(available[0], Bytes());
      } else {
        std::optional<std::string> refusal;
        for (size_t s = 0; s < available.size() && !refusal; ++s) {
          refusal = vllm::WindowRefusal(layout, s, available[s], asked, true);
        }
        EXPECT_EQ(refusal.value_or("accepted"), *error);
      }
    }
    ++checked;
  }
  EXPECT_GT(checked, 1);
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenKv,
                         ::testing::Values("kimi-k3", "deepseek-v3", "kimi-k2", "dense-70b",
                                           "Qwen__Qwen3-235B-A22B", "mistralai__Mixtral-8x7B-v0.1",
                                           "zai-org__GLM-4.7", "zai-org__GLM-4.5-Air",
                                           "MiniMaxAI__MiniMax-M2.5"),
                         testing_support::ExampleName);

// The published deployment (vLLM 0.31.0, TP8 × PP2, 48,45): 692 blocks a request, and three pools.
TEST(VllmKv, PublishedKimiK3Pools) {
  VllmContext c("kimi-k3", "0.31.0");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.context.settings.max_model_len = 524'288;
  c.context.settings.max_num_seqs = 1;
  c.Resolve("48,45");
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  EXPECT_EQ(layout.block_tokens, 768);
  EXPECT_EQ(layout.page, Bytes(884'736));
  EXPECT_EQ(layout.state, Bytes(814'080));
  EXPECT_EQ(layout.bytes_per_block[0], Bytes(10'616'832));
  EXPECT_EQ(layout.bytes_per_block[1], Bytes(10'616'832));
  EXPECT_EQ(layout.BlocksPerRequest(524'288), 692);
  for (const auto& [blocks, tokens, concurrency] :
       {std::tuple(1630, 1'234'955, 2.36), std::tuple(1568, 1'187'982, 2.27)}) {
    const vllm::KvCapacity capacity = vllm::ComputeCapacity(
        layout, {Bytes(10'616'832LL * blocks), Bytes(10'616'832LL * blocks + 5)}, 524'288);
    EXPECT_EQ(capacity.num_blocks, blocks);
    EXPECT_EQ(capacity.tokens, tokens);
    EXPECT_NEAR(capacity.max_concurrency, concurrency, 0.005);
  }
}

TEST(VllmKv, DefaultSplitMakesTheLastStageDearer) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  EXPECT_EQ(layout.bytes_per_block[0], Bytes(10'616'832));
  EXPECT_EQ(layout.bytes_per_block[1], Bytes(11'501'568));
}

// State, block and page of one KDA layer by TP, with bf16 and fp8 caches.
TEST(VllmKv, HybridAlignmentByTensorParallelSize) {
  struct Case {
    int64_t tp;
    const char* dtype;
    int64_t state, block, page;
  };
  for (const Case& k :
       {Case{4, "auto", 1'628'160, 1536, 1'769'472}, Case{4, "fp8", 1'628'160, 2944, 1'695'744},
        Case{8, "auto", 814'080, 768, 884'736}, Case{8, "fp8", 814'080, 1536, 884'736},
        Case{16, "auto", 407'040, 384, 442'368}, Case{32, "auto", 203'520, 256, 294'912},
        Case{32, "fp8", 203'520, 384, 221'184}}) {
    VllmContext c("kimi-k3");
    c.context.sizes.tp = k.tp;
    c.context.settings.kv_cache_dtype = k.dtype;
    c.Resolve();
    const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
    EXPECT_EQ(layout.state.count(), k.state) << k.tp << k.dtype;
    EXPECT_EQ(layout.block_tokens, k.block) << k.tp << k.dtype;
    EXPECT_EQ(layout.page.count(), k.page) << k.tp << k.dtype;
  }
}

TEST(VllmKv, ReplicatesKvHeadsWhereTensorParallelismExceedsThem) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 16;
  c.Resolve();
  // One head a rank: 2 × 128 values × 2 B × 16 tokens × 80 layers.
  EXPECT_EQ(vllm::MakeKvLayout(c.context).bytes_per_block[0], Bytes(2LL * 128 * 2 * 16 * 80));
}

TEST(VllmKv, WorkedExampleOfADenseModel) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 8;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  EXPECT_EQ(layout.bytes_per_block[0], Bytes(655'360));
  const vllm::KvCapacity capacity = vllm::ComputeCapacity(layout, {Bytes(40LL << 30)}, 131'072);
  EXPECT_EQ(capacity.num_blocks, 65'536);
  EXPECT_EQ(capacity.blocks_per_request, 8'192);
  EXPECT_EQ(capacity.tokens, 1'048'576);
}

TEST(VllmKv, NegativeMemoryIsNoBlocks) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 8;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  EXPECT_EQ(vllm::ComputeCapacity(layout, {Bytes(-1)}, 1024).num_blocks, 0);
  EXPECT_EQ(vllm::LargestWindow(layout, {Bytes(-1)}, 1024, true), 0);
}

TEST(VllmKv, LargestWindowIsTheLastThatFits) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  for (const int64_t blocks : {1, 11, 12, 100, 1000}) {
    const std::vector<Bytes> available = {layout.bytes_per_block[0] * blocks};
    const int64_t window = vllm::LargestWindow(layout, available, 1 << 20, true);
    if (window > 0) {
      EXPECT_LE(vllm::NeededBytes(layout, 0, window, 1, true), available[0]);
    }
    EXPECT_GT(vllm::NeededBytes(layout, 0, window + 1, 1, true), available[0]);
  }
}

}  // namespace
}  // namespace shardplan
