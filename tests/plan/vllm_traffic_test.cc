#include "plan/vllm_traffic.h"

#include <gtest/gtest.h>

#include "support/plan_world.h"
#include "support/temp_dir.h"
#include "support/tiny_models.h"
#include "support/traffic_wire.h"

namespace shardplan {
namespace {

using testing_support::EnvironmentFor;
using testing_support::ExampleFromConfig;
using testing_support::TempDir;
using testing_support::Wire;

Model FromConfig(const nlohmann::json& config) {
  const TempDir dir;
  testing_support::WriteText(dir.Path("config.json"), config.dump());
  Result<Model> model = LoadModel(dir.Path("config.json"));
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().ToString());
  return model ? std::move(*model) : Model();
}

Deployment On(int64_t tp, int64_t pp, int64_t dp, int64_t per_node) {
  Deployment d;
  d.gpu = "h20-141";
  d.sizes.tp = tp;
  d.sizes.pp = pp;
  d.sizes.dp = dp;
  d.gpus_per_node = per_node;
  d.settings.max_num_batched_tokens = 64;
  d.settings.max_num_seqs = 8;
  return d;
}

std::optional<TrafficPlan> TrafficOf(const Model& model, const Deployment& d,
                                     TrafficWorld* world = nullptr) {
  const Environment env = EnvironmentFor(model, d);
  Prepared p;
  const Status status = Prepare(env, d, &p);
  if (!status || !p.legal) return std::nullopt;
  if (world != nullptr) *world = WorldOf(p.gpu, p.placement, d.sizes.world());
  return MakeVllmTraffic(p, /*brief=*/false);
}

// The forward pass of every engine, walked layer by layer and rank by rank.
class Walk {
 public:
  Walk(const Architecture& arch, const Deployment& d, const TrafficWorld& world)
      : arch_(arch), s_(d.sizes), wire_(world) {}

  Wire& Run(const std::vector<StageRange>& stages, int64_t tokens, int64_t rows, bool decode) {
    const double h = 2.0 * static_cast<double>(arch_.hidden);
    const auto t = static_cast<double>(tokens);
    const bool kimi = arch_.kda.heads > 0;
    const bool apart = s_.dp > 1 && arch_.moe.experts > 0;
    const bool split = apart && s_.expert_parallel && s_.tp > 1 && (!kimi || s_.pp == 1);
    const double part = split ? static_cast<double>((tokens + s_.tp - 1) / s_.tp) : t;
    for (int64_t stage = 0; stage < s_.pp; ++stage) {
      for (int64_t engine = 0; engine < s_.dp; ++engine) {
        const std::vector<int64_t> tp = TpRanks(engine, stage);
        if (stage == 0) wire_.Ring(tp, t * h, 2);
        if (stage > 0) {
          const int64_t first = stages[static_cast<size_t>(stage)].first;
          const int64_t blocks = arch_.attn_res_block > 0
                                     ? (first + arch_.attn_res_block - 1) / arch_.attn_res_block
                                     : 1;
          for (int64_t tensor = 0; tensor < 1 + blocks; ++tensor) {
            const std::vector<int64_t> before = TpRanks(engine, stage - 1);
            for (size_t i = 0; i < tp.size(); ++i) {
              wire_.Send(before[i], tp[i], t * h / static_cast<double>(tp.size()));
            }
            wire_.Ring(tp, t * h, 1);
          }
        }
        for (int64_t layer = stages[static_cast<size_t>(stage)].first;
             layer < stages[static_cast<size_t>(stage)].end(); ++layer) {
          const bool moe = arch_.is_moe(layer);
          const double padded = part * static_cast<double>(s_.tp) * h;
          if (split && kimi) {
            wire_.Ring(tp, padded, 1);
            wire_.Ring(tp, padded, 1);
          } else {
            wire_.Ring(tp, t * h, 2);                      // attention
            if (!split || !moe) wire_.Ring(tp, t * h, 2);  // MLP, or mixture
            if (split && moe) wire_.Ring(tp, padded, 1);
            if (moe && !split && kimi && arch_.moe.latent > 0) {
              wire_.Ring(tp, t * 2 * static_cast<double>(arch_.moe.latent), 2);
            }
          }
        }
        if (stage + 1 == s_.pp) {
          if (split && kimi) wire_.Ring(tp, part * static_cast<double>(s_.tp) * h, 1);
          const int64_t vocabulary = (arch_.vocabulary + 63) / 64 * 64;
          wire_.Ring(tp, static_cast<double>(rows * vocabulary) * 2, 1);
        }
        if (decode && s_.dcp > 1) DecodeContext(tp, stages[static_cast<size_t>(stage)], t);
      }
      if (!apart) continue;
      std::vector<std::vector<int64_t>> groups;
      if (split) {
        groups.emplace_back();
        for (int64_t engine = 0; engine < s_.dp; ++engine) {
          for (const int64_t rank : TpRanks(engine, stage)) groups[0].push_back(rank);
        }
      } else {
        for (int64_t i = 0; i < s_.tp; ++i) {
          groups.emplace_back();
          for (int64_t engine = 0; engine < s_.dp; ++engine) {
            groups.back().push_back(TpRanks(engine, stage)[static_cast<size_t>(i)]);
          }
        }
      }
      const int64_t width = arch_.moe.latent > 0 ? arch_.moe.latent : arch_.hidden;
      const bool fp8 = arch_.quantization == "fp8" && s_.expert_parallel;
      const double sent = fp8 ? static_cast<double>(width + 4 * ((width + 127) / 128))
                              : 2 * static_cast<double>(width);
      for (int64_t layer = stages[static_cast<size_t>(stage)].first;
           layer < stages[static_cast<size_t>(stage)].end(); ++layer) {
        if (!arch_.is_moe(layer)) continue;
        for (const std::vector<int64_t>& group : groups) {
          const double all = part * static_cast<double>(group.size());
          wire_.Ring(group, all * (sent + 8 * static_cast<double>(arch_.moe.top_k)), 1);
          wire_.Ring(group, all * 2 * static_cast<double>(width), 1);
        }
      }
    }
    return wire_;
  }

 private:
  std::vector<int64_t> TpRanks(int64_t engine, int64_t stage) const {
    std::vector<int64_t> ranks;
    for (int64_t i = 0; i < s_.tp; ++i) ranks.push_back((engine * s_.pp + stage) * s_.tp + i);
    return ranks;
  }

  void DecodeContext(const std::vector<int64_t>& tp, const StageRange& range, double tokens) {
    for (size_t at = 0; at < tp.size(); at += static_cast<size_t>(s_.dcp)) {
      const std::vector<int64_t> group(tp.begin() + static_cast<int64_t>(at),
                                       tp.begin() + static_cast<int64_t>(at) + s_.dcp);
      for (int64_t layer = range.first; layer < range.end(); ++layer) {
        const AttentionKind kind = arch_.attention[static_cast<size_t>(layer)];
        if (kind != AttentionKind::kMla && kind != AttentionKind::kFull) continue;
        const bool mla = kind == AttentionKind::kMla;
        const auto heads = static_cast<double>(arch_.heads / s_.tp * s_.dcp);
        const auto query = static_cast<double>(
            mla ? arch_.mla.kv_lora_rank + arch_.mla.rope_head_dim : arch_.head_dim);
        const auto output = static_cast<double>(mla ? arch_.mla.kv_lora_rank : arch_.head_dim);
        wire_.Ring(group, tokens * heads * query * 2, 1);
        wire_.Ring(group, tokens * heads * 4 * static_cast<double>(s_.dcp), 1);
        wire_.Ring(group, tokens * heads * output * 2, 1);
      }
    }
  }

  const Architecture& arch_;
  const ParallelSizes& s_;
  Wire wire_;
};

void ExpectTheWalk(const Model& model, int* legal) {
  for (const int64_t per_node : {1, 2, 4, 8}) {
    for (const int64_t tp : {1, 2, 4}) {
      for (const int64_t pp : {1, 2, 3}) {
        for (const int64_t dp : {1, 2, 3}) {
          for (const bool experts : {false, true}) {
            for (const int64_t dcp : {1, 2}) {
              if (tp % dcp != 0) continue;
              Deployment d = On(tp, pp, dp, per_node);
              d.sizes.expert_parallel = experts;
              d.sizes.dcp = dcp;
              TrafficWorld world;
              const std::optional<TrafficPlan> traffic = TrafficOf(model, d, &world);
              if (!traffic) continue;
              ++*legal;
              const std::vector<StageRange> stages = DefaultPartition(model.arch.layers(), pp);
              SCOPED_TRACE(testing::Message()
                           << "TP" << tp << " PP" << pp << " DP" << dp << " DCP" << dcp
                           << (experts ? " EP" : "") << " on nodes of " << per_node);
              Walk(model.arch, d, world).Run(stages, 64, 1, false).Expect(traffic->prefill);
              Walk(model.arch, d, world).Run(stages, 8, 8, true).Expect(traffic->decode);
            }
          }
        }
      }
    }
  }
}

class VllmTrafficWalk : public testing::TestWithParam<nlohmann::json (*)()> {};

TEST_P(VllmTrafficWalk, EqualsAWalkOfEverySmallLayout) {
  int legal = 0;
  ExpectTheWalk(FromConfig(GetParam()()), &legal);
  EXPECT_GT(legal, 50);
}

INSTANTIATE_TEST_SUITE_P(Models, VllmTrafficWalk,
                         testing::Values(&testing_support::TinyDeepseek,
                                         &testing_support::TinyKimiK3,
                                         &testing_support::TinyDense));

// Kimi-K3 on two nodes of eight.
TEST(VllmTrafficTest, PipelineStagesPutABoundaryOnTheNetwork) {
  Deployment d = testing_support::PublishedKimiK3();
  const std::optional<TrafficPlan> traffic = TrafficOf(ExampleFromConfig("kimi-k3"), d);
  ASSERT_TRUE(traffic.has_value());
  // The stream and four residual blocks of 7,168 values in bf16.
  EXPECT_DOUBLE_EQ(traffic->decode.NetworkPerToken(), 71'680);
  EXPECT_DOUBLE_EQ(traffic->prefill.NetworkPerToken(), 71'680);
  EXPECT_EQ(traffic->decode.tokens, 1);
}

TEST(VllmTrafficTest, TensorParallelOverNodesPutsEveryLayerOnTheNetwork) {
  Deployment d = On(16, 1, 1, 8);
  const std::optional<TrafficPlan> traffic = TrafficOf(ExampleFromConfig("kimi-k3"), d);
  ASSERT_TRUE(traffic.has_value());
  // Embedding, 93 attentions, a dense MLP, 92 mixtures of a hidden and a latent sum; logits.
  const double sums = 2 * (7168. * (1 + 93 + 1 + 92) + 3584. * 92) * 2 * 15 / 16;
  const double logits = 163'840. * 2 * 15 / 16;
  EXPECT_DOUBLE_EQ(traffic->decode.NetworkPerToken(), 2 * (sums + logits));
  // 8 tokens, each way, from each of both nodes.
  EXPECT_NEAR(static_cast<double>(traffic->decode.node_network.count()), 8 * (sums + logits), 2);
  // However it is done, sums cross once each way and half of the logits does.
  const double least = 8 * (sums / (2. * 15 / 16) + 163'840.);
  EXPECT_NEAR(static_cast<double>(traffic->decode.node_network_least.count()), least, 2);
  EXPECT_NEAR(traffic->decode.network_seconds, least / 400e9, 1e-9);
}

TEST(VllmTrafficTest, ExpertsOverNodesByBackend) {
  Deployment d = On(8, 1, 2, 8);
  d.sizes.expert_parallel = true;
  const Model& model = ExampleFromConfig("deepseek-v3");
  const auto network = [&](const char* backend) {
    d.settings.all2all_backend = backend;
    const std::optional<TrafficPlan> traffic = TrafficOf(model, d);
    EXPECT_TRUE(traffic.has_value());
    return traffic ? traffic->decode.NetworkPerToken() : 0;
  };
  const double gather = network("allgather_reducescatter");
  // FP8 with scales and choices, out; bf16 back; 58 mixtures; both nodes' halves of the ring.
  EXPECT_NEAR(gather, 58 * 2 * (15. / 16) * (7168 + 4 * 56 + 8 * 8 + 2 * 7168), 1);
  const double throughput = network("deepep_high_throughput");
  const double hit = HitChance(256, 8, 128);
  EXPECT_NEAR(throughput, 58 * hit * (7168 + 4 * 56 + 12 * 8 + 2 * 7168), 1);
  const double latency = network("deepep_low_latency");
  EXPECT_NEAR(latency, 58 * 4. * (7168 + 4 * 56 + 16 + 2 * 7168), 1);
}

TEST(VllmTrafficTest, GuessedTokensCountAsDecoded) {
  Deployment d = On(8, 1, 1, 8);
  Speculation s;
  s.text = R"({"method":"ngram","num_speculative_tokens":3})";
  s.method = "ngram";
  s.tokens = 3;
  d.settings.speculation = s;
  const std::optional<TrafficPlan> traffic = TrafficOf(ExampleFromConfig("deepseek-v3"), d);
  ASSERT_TRUE(traffic.has_value());
  EXPECT_EQ(traffic->decode.tokens, 8 * 4);
  EXPECT_EQ(traffic->decode.sent.network, Bytes());
}

TEST(VllmTrafficTest, BriefPlansHaveItWhereItIsAskedFor) {
  Deployment d = On(8, 2, 1, 8);
  const Model& model = ExampleFromConfig("kimi-k3");
  const Plan whole = testing_support::Evaluate(model, d);
  FigureEvaluator evaluator(model, testing_support::Cards(), testing_support::Store());
  Result<Plan> brief = evaluator.Evaluate(d);
  ASSERT_TRUE(brief.has_value());
  EXPECT_FALSE(brief->traffic.has_value());
  d.traffic_of_brief_plans = true;
  brief = evaluator.Evaluate(d);
  ASSERT_TRUE(brief.has_value() && brief->traffic && whole.traffic);
  EXPECT_EQ(brief->traffic->decode.sent, whole.traffic->decode.sent);
  EXPECT_TRUE(brief->traffic->decode.items[0].rule.empty());
  EXPECT_FALSE(whole.traffic->decode.items[0].rule.empty());
}

}  // namespace
}  // namespace shardplan
