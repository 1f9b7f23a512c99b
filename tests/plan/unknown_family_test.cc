// A checkpoint of an unknown class is planned as the family that it really is would be.
#include <gtest/gtest.h>

#include "support/checkpoint_builder.h"
#include "support/plan_world.h"
#include "support/tiny_families.h"
#include "support/tiny_models.h"
#include "support/unknown_checkpoint.h"

namespace shardplan {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace): a test of one subject

Deployment UnknownLayout(int64_t tp, int64_t pp, int64_t dp, bool ep) {
  Deployment d;
  d.gpu = "h20-141";
  d.sizes.tp = tp;
  d.sizes.pp = pp;
  d.sizes.dp = dp;
  d.sizes.expert_parallel = ep;
  d.settings.max_model_len = 2048;
  d.settings.max_num_seqs = 8;
  return d;
}

const Entry& WeightsOf(const RankPlan& rank) {
  for (const Entry& entry : rank.ledger.entries()) {
    if (entry.account == Account::kWeights) return entry;
  }
  ADD_FAILURE() << "no weights";
  return rank.ledger.entries().front();
}

void CheckLedger(const Plan& plan) {
  for (const RankPlan& rank : plan.ranks) {
    EXPECT_EQ(rank.ledger.Sum(), rank.device_total);
    const Entry& weights = WeightsOf(rank);
    EXPECT_EQ(weights.basis, Basis::kAssumed);
    EXPECT_EQ(weights.bytes.central, rank.weights);
    for (const Entry& entry : rank.ledger.entries()) {
      if (entry.account == Account::kHeadroom) continue;
      EXPECT_LE(entry.bytes.low, entry.bytes.central) << ToString(entry.account);
      EXPECT_LE(entry.bytes.central, entry.bytes.high) << ToString(entry.account);
    }
  }
}

struct Case {
  std::string name;
  nlohmann::json config;
  // The family builds the ends of the stack on every stage, which a file doesn't show.
  bool ends_everywhere = false;
  // What the family creates of a router in another dtype than the file's: FP32 gates of GLM-4.5,
  // a BF16 bias of dots.llm1.
  int64_t router_bytes = 0;
};

std::vector<Case> Cases() {
  return {{"dense", TinyDense()},
          {"deepseek", TinyDeepseek()},
          {"qwen3_moe", TinyQwen3Moe(), true},
          {"glm4_moe", TinyGlm4Moe(), false, 12 * 32 * 2},
          {"mixtral", TinyMixtral(), true},
          {"phi3", TinyPhi3()},
          {"dots1", TinyDots1(), false, -2 * 12},
          {"granite_moe", TinyGraniteMoe(), true},
          {"qwen", TinyQwen(), true}};
}

TEST(UnknownFamily, WeightsAreThoseOfTheFamily) {
  for (const Case& test : Cases()) {
    const TempDir dir;
    WriteTiny(test.config, dir.Path("known"));
    WriteUnknown(test.config, dir.Path("new"));
    const Model known = Load(dir.Path("known"));
    const Model model = Load(dir.Path("new"));
    int legal = 0;
    for (const int64_t tp : {1, 2, 4, 8}) {
      for (const int64_t pp : {1, 2}) {
        for (const int64_t dp : {1, 2}) {
          for (const bool ep : {false, true}) {
            const Deployment d = UnknownLayout(tp, pp, dp, ep);
            const Plan expected = Evaluate(known, d);
            const Plan plan = Evaluate(model, d);
            const std::string where = test.name + " TP" + std::to_string(tp) + " PP" +
                                      std::to_string(pp) + " DP" + std::to_string(dp) +
                                      (ep ? " EP" : "");
            // Blocks that a slice cuts are illegal only for who knows the format.
            if (expected.verdict == Verdict::kIllegal) continue;
            ASSERT_NE(plan.verdict, Verdict::kIllegal) << where;
            ++legal;
            ASSERT_EQ(plan.ranks.size(), expected.ranks.size()) << where;
            CheckLedger(plan);
            for (size_t i = 0; i < plan.ranks.size(); ++i) {
              int64_t mixtures = 0;
              const StageRange stage = plan.stages[static_cast<size_t>(plan.ranks[i].place.stage)];
              for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
                mixtures += model.arch.is_moe(layer);
              }
              const Bytes truth =
                  expected.ranks[i].detail.parameters - Bytes(mixtures * test.router_bytes);
              const Range& range = WeightsOf(plan.ranks[i]).bytes;
              // Whether sequence parallelism keeps shared experts whole is the model's matter, too.
              const bool open = (test.ends_everywhere && pp > 1) || (ep && tp > 1 && dp > 1);
              if (open) {
                const Bytes resident =
                    expected.ranks[i].weights - Bytes(mixtures * test.router_bytes);
                EXPECT_LE(range.low, resident) << where;
                EXPECT_GE(range.high, resident) << where;
              } else {
                EXPECT_EQ(plan.ranks[i].detail.parameters, truth) << where << " rank " << i;
              }
            }
            EXPECT_EQ(plan.kv->bytes_per_block, expected.kv->bytes_per_block) << where;
          }
        }
      }
    }
    EXPECT_GT(legal, 5) << test.name;
  }
}

// Hybrids and towers: not equal, but between the ends.
TEST(UnknownFamily, StrangerModelsLieBetweenTheEnds) {
  for (const Case& test : {Case{"nemotron_h", TinyNemotronH()}, Case{"jamba", TinyJamba()},
                           Case{"gemma3", TinyGemma3()}, Case{"mistral3", TinyMistral3()},
                           Case{"grok1", TinyGrok1()}, Case{"kimi_k3", TinyKimiK3()}}) {
    const TempDir dir;
    WriteTiny(test.config, dir.Path("known"));
    WriteUnknown(test.config, dir.Path("new"));
    const Model known = Load(dir.Path("known"));
    const Model model = Load(dir.Path("new"));
    for (const int64_t tp : {1, 2, 4}) {
      if (test.name == "kimi_k3" && tp > 2) continue;  // raises a slice of 128 to 256
      const Deployment d = UnknownLayout(tp, 1, 1, false);
      const Plan expected = Evaluate(known, d);
      const Plan plan = Evaluate(model, d);
      if (expected.verdict == Verdict::kIllegal) continue;
      ASSERT_NE(plan.verdict, Verdict::kIllegal) << test.name << " TP" << tp;
      CheckLedger(plan);
      const Bytes truth = expected.ranks[0].detail.parameters;
      const Bytes others = plan.ranks[0].weights - plan.ranks[0].detail.parameters;
      const Range& range = WeightsOf(plan.ranks[0]).bytes;
      EXPECT_LE((range.low - others).count(), truth.count()) << test.name << " TP" << tp;
      EXPECT_GE((range.high - others).count() * 101 / 100, truth.count())
          << test.name << " TP" << tp;
    }
  }
}

TEST(UnknownFamily, AVerdictForBothEnds) {
  const TempDir dir;
  CheckpointBuilder builder(dir.Path("m"));
  std::vector<TestTensor> tensors = {{"model.embed_tokens.weight", "BF16", {32000, 4096}}};
  for (int layer = 0; layer < 8; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".";
    tensors.push_back({p + "self_attn.k_proj.weight", "BF16", {1024, 4096}});
    tensors.push_back({p + "self_attn.v_proj.weight", "BF16", {1024, 4096}});
    tensors.push_back({p + "memory.bank", "BF16", {262144, 4096}});  // 2 GiB each
  }
  builder.Shard("model.safetensors", tensors)
      .Config(R"({"architectures":["BrandNewForCausalLM"],"hidden_size":4096,
                  "num_attention_heads":32,"num_key_value_heads":8,"num_hidden_layers":8,
                  "max_position_embeddings":8192,"torch_dtype":"bfloat16"})");
  const Model model = Load(dir.Path("m"));
  Deployment d = UnknownLayout(4, 1, 1, false);
  d.gpu = "a10-24";
  d.settings.gpu_memory_utilization = 0.88;
  d.settings.max_num_batched_tokens = 2048;
  const Plan plan = Evaluate(model, d);
  CheckLedger(plan);
  EXPECT_EQ(plan.verdict_low, Verdict::kFits);
  EXPECT_EQ(plan.verdict_high, Verdict::kFits);
  const Entry& weights = WeightsOf(plan.ranks[0]);
  EXPECT_GT(weights.bytes.high - weights.bytes.low, Bytes(int64_t{11} << 30));
  EXPECT_LT(plan.kv->num_blocks_low, plan.kv->num_blocks_high);
  ASSERT_NE(FindFinding(plan, "model.family_unknown"), nullptr);
  EXPECT_FALSE(plan.launch.empty());
  d.settings.gpu_memory_utilization = 0.6;  // now the whole tensors are too much
  const Plan short_plan = Evaluate(model, d);
  EXPECT_EQ(short_plan.verdict_low, Verdict::kFits);
  EXPECT_EQ(short_plan.verdict_high, Verdict::kDoesNotFit);
  EXPECT_NE(FindFinding(short_plan, "verdict.range"), nullptr);
}

// The cache of attention that nobody recognises: one head, the config's, all of them.
TEST(UnknownFamily, TheCacheHasEndsToo) {
  const TempDir dir;
  CheckpointBuilder builder(dir.Path("m"));
  std::vector<TestTensor> tensors = {{"model.embed_tokens.weight", "BF16", {1000, 512}}};
  for (int layer = 0; layer < 4; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".";
    tensors.push_back({p + "attn.mystery.weight", "BF16", {512, 512}});
  }
  builder.Shard("model.safetensors", tensors)
      .Config(R"({"architectures":["BrandNewForCausalLM"],"hidden_size":512,
                  "num_attention_heads":8,"num_key_value_heads":4,"num_hidden_layers":4,
                  "max_position_embeddings":8192,"torch_dtype":"bfloat16"})");
  const Plan plan = Evaluate(Load(dir.Path("m")), UnknownLayout(2, 1, 1, false));
  CheckLedger(plan);
  EXPECT_EQ(plan.kv->bytes_per_block, Bytes(4 * 16 * 2 * 2 * 64 * 2));
  // One head instead of two a rank: twice the blocks; four on every rank: half of them.
  EXPECT_GT(plan.kv->num_blocks_high, plan.kv->num_blocks * 19 / 10);
  EXPECT_LT(plan.kv->num_blocks_low, plan.kv->num_blocks * 11 / 20);
}

}  // namespace
}  // namespace shardplan
