// The published deployment and its neighbours, figure by figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/plan_world.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing_support::Cards;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindFinding;
using testing_support::PublishedKimiK3;
using testing_support::Store;

Plan K3(const Deployment& deployment) { return Evaluate(ExampleFromConfig("kimi-k3"), deployment); }

double Gib(Bytes bytes) { return InGiB(bytes).value(); }

TEST(EvaluatePlan, PublishedKimiK3Deployment) {
  const Plan plan = K3(PublishedKimiK3());
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  ASSERT_EQ(plan.ranks.size(), 16u);
  EXPECT_FALSE(plan.limiting.has_value());
  // Parameters as created, by stage.
  for (const auto& [rank, gib] : {std::pair(0, 97.702), std::pair(8, 93.280)}) {
    const WeightsDetail& detail = plan.ranks[static_cast<size_t>(rank)].detail;
    EXPECT_NEAR(Gib(detail.parameters + detail.buffers), gib, gib * 1e-4);
  }
  for (const RankPlan& rank : plan.ranks) {
    EXPECT_DOUBLE_EQ(Gib(rank.offloaded), 32.15625);
    EXPECT_EQ(rank.ledger.Sum(), rank.device_total);
    EXPECT_EQ(rank.ledger.SumInBudget(true), rank.budget);
    EXPECT_EQ(rank.device_total, Bytes(97'871 * kMiB));
    EXPECT_EQ(rank.detail.rounding, Bytes());
  }
  EXPECT_EQ(plan.kv->block_tokens, 768);
  EXPECT_EQ(plan.kv->page, Bytes(884'736));
  EXPECT_EQ(plan.kv->bytes_per_block, Bytes(10'616'832));
  EXPECT_EQ(plan.kv->blocks_per_request, 692);
  EXPECT_EQ(plan.kv->full_window_requests, 2);
  EXPECT_EQ(plan.kv->attention_layers_by_stage, (std::vector<int64_t>{12, 12}));
  EXPECT_EQ(plan.window.max_input_tokens, 491'520);
  EXPECT_EQ(plan.activations[0].per_token, Bytes(398'016));
  ASSERT_EQ(plan.host.size(), 2u);
  for (const HostPlan& host : plan.host) {
    EXPECT_DOUBLE_EQ(Gib(host.pinned), 257.25);
    EXPECT_EQ(host.pinned_allocated, Bytes(448 * kGiB));
    ASSERT_EQ(host.per_numa.size(), 2u);
    EXPECT_EQ(host.per_numa[0].bytes, host.per_numa[1].bytes);
    EXPECT_EQ(host.per_numa[0].allocated, Bytes(224 * kGiB));
  }
}

// Public logs of GLM-5.1 with its MTP layer print KV memory to 0.01 GiB and tokens: 78 + 1 layers
// of 656 + 132 bytes a token (github.com/voipmonitor/rtx6kpro, May 2026).
TEST(EvaluatePlan, TokensOfThePublishedMtpRuns) {
  struct Run {
    double gib;
    int64_t window;
    int64_t tokens;
  };
  for (const Run& run : {Run{19.12, 65'536, 329'792}, Run{25.09, 202'752, 432'832}}) {
    Deployment d;
    d.gpu = "rtxpro6000-96";
    d.sizes.tp = 8;
    d.settings.kv_cache_dtype = "fp8";
    d.settings.max_model_len = run.window;
    d.settings.max_num_seqs = 64;
    d.settings.max_num_batched_tokens = 8192;
    d.settings.speculation = Speculation{};
    d.settings.speculation->method = "mtp";
    d.settings.speculation->tokens = 3;
    const auto tokens = [&](double gib) {
      d.settings.kv_cache_memory_bytes = Gibibytes(gib).ToBytes();
      const Plan plan = Evaluate(ExampleFromConfig("zai-org__GLM-5.1-FP8"), d);
      EXPECT_EQ(plan.kv->bytes_per_block.count(), (656 + 132) * 79 * plan.kv->block_tokens);
      return plan.kv->tokens;
    };
    EXPECT_LE(tokens(run.gib - 0.005), run.tokens);
    EXPECT_GE(tokens(run.gib + 0.005), run.tokens - 1);  // printed from a truncated product today
    EXPECT_NEAR(static_cast<double>(tokens(run.gib)), static_cast<double>(run.tokens),
                static_cast<double>(run.tokens) * 0.0005);
  }
}

TEST(EvaluatePlan, AModelThatSpeculationNamesMustBeHere) {
  Deployment d;
  d.gpu = "h200-141";
  d.sizes.tp = 8;
  d.settings.speculation = Speculation{};
  d.settings.speculation->method = "eagle3";
  d.settings.speculation->model = "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B";
  d.settings.speculation->tokens = 3;
  const auto plan = EvaluatePlan(ExampleFromConfig("dense-70b"), testing_support::Cards(),
                                 testing_support::Store(), d);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kUsage);
  EXPECT_EQ(plan.error().ToString(),
            "--speculative-config: model yuhuili/EAGLE3-LLaMA3.1-Instruct-8B: no such directory or "
            "file here; a plan needs no more than the draft's config.json: download it and give "
            "its path");
}

// The model itself as a draft of itself: its weights twice on the last stage, its cache twice.
TEST(EvaluatePlan, ADraftModelFromAPath) {
  Deployment d;
  d.gpu = "h200-141";
  d.sizes.tp = 8;
  const Model& model = ExampleFromConfig("dense-70b");
  const Plan plain = Evaluate(model, d);
  d.settings.speculation = Speculation{};
  d.settings.speculation->method = "draft_model";
  d.settings.speculation->model = testing_support::ExampleConfigPath("dense-70b");
  d.settings.speculation->tokens = 3;
  const Plan plan = Evaluate(model, d);
  ASSERT_EQ(plan.ranks.size(), 8u);
  EXPECT_EQ(plan.ranks[0].detail.parameters, plain.ranks[0].detail.parameters * 2);
  EXPECT_EQ(plan.kv->bytes_per_block, plain.kv->bytes_per_block * 2);
  EXPECT_EQ(plan.ranks[0].ledger.Sum(), plan.ranks[0].device_total);
  EXPECT_NE(FindFinding(plan, "speculative.drafter"), nullptr);
}

// What _verify_quantization raises ends the start, whatever the memory.
TEST(EvaluatePlan, AnotherQuantizationThanTheCheckpointsIsIllegal) {
  for (const char* engine : {"vllm", "sglang"}) {
    Deployment d;
    d.engine = engine;
    d.gpu = "h200-141";
    d.sizes.tp = 8;
    d.settings.command_flags = {{"--quantization", "gptq", false}};
    EXPECT_NE(
        FindFinding(Evaluate(ExampleFromConfig("deepseek-v3"), d), "command.quantization_mismatch"),
        nullptr);
    const Plan plain = Evaluate(ExampleFromConfig("dense-70b"), d);
    EXPECT_NE(FindFinding(plain, "command.quantization_plain"), nullptr);
    EXPECT_EQ(plain.verdict, Verdict::kIllegal);
    d.settings.command_flags = {{"--quantization", "fp8", false}};
    const Plan fp8 = Evaluate(ExampleFromConfig("deepseek-v3"), d);
    EXPECT_EQ(FindFinding(fp8, "command.quantization_mismatch"), nullptr);
    EXPECT_NE(fp8.verdict, Verdict::kIllegal);
  }
}

// Inferact's DSpark draft for Kimi-K3, from a config alone: five latent layers by TP 8, what is
// whole on every rank, and the target's tables. Groups of 29 layers hold the cache.
TEST(EvaluatePlan, ADsparkDraftOfKimiK3) {
  const testing_support::TempDir dir;
  testing_support::WriteText(dir.Path("config.json"),
                             R"({"architectures": ["K3DSparkModel"], "hidden_size": 7168,
      "intermediate_size": 14336, "num_hidden_layers": 5, "num_attention_heads": 64,
      "vocab_size": 163840, "max_position_embeddings": 1048576, "q_lora_rank": 1536,
      "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "num_target_layers": 5, "markov_rank": 256, "torch_dtype": "bfloat16"})");
  Deployment d;
  d.gpu = "b300-288";
  d.sizes.tp = 8;
  const Model& model = ExampleFromConfig("kimi-k3");
  const Plan plain = Evaluate(model, d);
  d.settings.speculation = Speculation{};
  d.settings.speculation->method = "dspark";
  d.settings.speculation->model = dir.path();
  d.settings.speculation->tokens = 7;
  const Plan plan = Evaluate(model, d);
  ASSERT_EQ(plan.ranks.size(), 8u);
  const int64_t h = 7168;
  const int64_t layer = (1536 + 576) * h + 1536 + 512 + 8 * 192 * 1536 + 8 * 256 * 512 +
                        h * 8 * 128 + 3 * 1792 * h + 2 * h;
  const int64_t whole = 5 * h * h + 2 * h + 5 * 576 * h + 2 * 163840 * 256;
  EXPECT_EQ(plan.ranks[0].detail.parameters - plain.ranks[0].detail.parameters,
            Bytes((5 * layer + whole) * 2));
  EXPECT_EQ(plan.ranks[0].ledger.Sum(), plan.ranks[0].device_total);
  const Finding* const note = FindFinding(plan, "speculative.drafter");
  ASSERT_NE(note, nullptr);
  EXPECT_NE(note->message.find("its 5 attention layer(s) a part of the KV cache"),
            std::string::npos);
}

TEST(EvaluatePlan, NgramsTakeNothing) {
  Deployment d;
  d.gpu = "h200-141";
  d.sizes.tp = 8;
  const Model& model = ExampleFromConfig("dense-70b");
  const Plan plain = Evaluate(model, d);
  d.settings.speculation = Speculation{};
  d.settings.speculation->method = "ngram";
  d.settings.speculation->tokens = 3;
  const Plan plan = Evaluate(model, d);
  EXPECT_EQ(plan.ranks[0].detail.parameters, plain.ranks[0].detail.parameters);
  EXPECT_EQ(plan.kv->bytes_per_block, plain.kv->bytes_per_block);
  const Finding* const note = FindFinding(plan, "speculative.drafter");
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->message,
            "ngram guesses in host memory, after 5 tokens that stood before: no weights on a card "
            "and no part of the KV cache");
}

// Blocks that the deployment's logs show, with no calibration: within 5, 5 and 7 %, range included.
TEST(EvaluatePlan, BlocksOfThePublishedRuns) {
  struct Run {
    bool eager;
    int64_t batched;
    int64_t observed;
    double tolerance;
  };
  for (const Run& run : {Run{true, 8192, 1630, 0.05}, Run{false, 8192, 1568, 0.05},
                         Run{false, 16'384, 1262, 0.07}}) {
    Deployment d = PublishedKimiK3();
    d.settings.enforce_eager = run.eager;
    d.settings.max_num_batched_tokens = run.batched;
    const Plan plan = K3(d);
    EXPECT_NEAR(static_cast<double>(plan.kv->num_blocks), static_cast<double>(run.observed),
                static_cast<double>(run.observed) * run.tolerance);
    EXPECT_LE(plan.kv->num_blocks_low, run.observed);
    EXPECT_GE(plan.kv->num_blocks_high, run.observed);
  }
}

// One evaluator for many deployments answers as each of them alone.
TEST(FigureEvaluatorTest, FiguresAreThoseOfThePlan) {
  FigureEvaluator evaluator(ExampleFromConfig("kimi-k3"), Cards(), Store());
  std::vector<Deployment> deployments = {PublishedKimiK3(), PublishedKimiK3(), PublishedKimiK3(),
                                         PublishedKimiK3()};
  deployments[1].settings.max_num_batched_tokens = 16'384;
  deployments[2].gpu = "h20-141";
  deployments[3].engine_version = "0.28.0";
  for (const Deployment& d : deployments) {
    const Result<Plan> plan = evaluator.Evaluate(d);
    ASSERT_TRUE(plan.has_value());
    const Plan whole = K3(d);
    EXPECT_EQ(plan->verdict, whole.verdict);
    EXPECT_EQ(plan->engine_version, whole.engine_version);
    EXPECT_EQ(plan->kv->num_blocks, whole.kv->num_blocks);
    EXPECT_EQ(plan->ranks[0].headroom, whole.ranks[0].headroom);
    EXPECT_TRUE(plan->launch.empty());
  }
  Deployment unknown = PublishedKimiK3();
  unknown.gpu = "h20-97";
  EXPECT_FALSE(evaluator.Evaluate(unknown).has_value());
  EXPECT_TRUE(evaluator.Evaluate(deployments[0]).has_value());
}

TEST(EvaluatePlan, EvenShareOfSixteenH20) {
  const EvenShare share = K3(PublishedKimiK3()).even_share;
  EXPECT_EQ(share.cards, 16);
  EXPECT_EQ(FormatGiB(share.card), "95.577 GiB");
  EXPECT_EQ(FormatGiB(share.physical), "1,529.234 GiB");
  EXPECT_EQ(FormatTiB(share.physical), "1.493 TiB");
}

TEST(EvaluatePlan, WithoutOffloadItDoesNotFit) {
  Deployment d = PublishedKimiK3();
  d.settings.cpu_offload_gb = 0;
  d.settings.cpu_offload_params.clear();
  const Plan plan = K3(d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  ASSERT_TRUE(plan.limiting.has_value());
  EXPECT_EQ(plan.limiting->rank, 0);
  EXPECT_EQ(plan.limiting->account, Account::kWeights);
  EXPECT_NEAR(Gib(plan.limiting->short_by), 22.9, 0.5);
  const Finding* refusal = FindFinding(plan, "fit.no_kv_memory");
  ASSERT_NE(refusal, nullptr);
  EXPECT_THAT(refusal->message,
              HasSubstr("the weights alone are more than the 95.07 GiB that CUDA sees, and vLLM "
                        "runs out of memory while it loads them"));
  EXPECT_THAT(refusal->fix,
              HasSubstr("--cpu-offload-gb 23 --cpu-offload-params w13_weight,w2_weight"));
  EXPECT_THAT(
      refusal->fix,
      HasSubstr("--nodes 3 --pp 3 without --pp-partition (24 cards, the fewest nodes that fit)"));
  // The offload that is named does fit, and one GiB less does not.
  d.settings.cpu_offload_params = {"w13_weight", "w2_weight"};
  d.settings.cpu_offload_gb = 23;
  EXPECT_EQ(K3(d).verdict, Verdict::kFits);
  d.settings.cpu_offload_gb = 22;
  EXPECT_EQ(K3(d).verdict, Verdict::kDoesNotFit);
}

TEST(EvaluatePlan, OneNodeIsTooSmall) {
  for (const auto& [gpu, least] : {std::pair("h20-141", 60.0), std::pair("h20-96", 100.0)}) {
    Deployment d = PublishedKimiK3();
    d.gpu = gpu;
    d.nodes = 1;
    d.sizes.pp = 1;
    d.partition.reset();
    d.settings.cpu_offload_gb = 0;
    d.settings.cpu_offload_params.clear();
    const Plan plan = K3(d);
    EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit) << gpu;
    EXPECT_EQ(plan.limiting->account, Account::kWeights);
    EXPECT_GT(Gib(plan.limiting->short_by), least);
  }
}

TEST(EvaluatePlan, SixteenCardsWithAndWithoutExpertParallelism) {
  Deployment d = PublishedKimiK3();
  d.gpu = "h20-141";
  d.sizes.tp = 16;
  d.sizes.pp = 1;
  d.partition.reset();
  d.settings.cpu_offload_gb = 0;
  d.settings.cpu_offload_params.clear();
  d.settings.language_model_only = false;
  d.sizes.expert_parallel = true;
  Plan plan = K3(d);
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  EXPECT_NEAR(Gib(plan.ranks[0].detail.parameters), 101.69, 0.01);
  d.settings.language_model_only = true;
  EXPECT_NEAR(Gib(K3(d).ranks[0].detail.parameters), 100.85, 0.01);
  d.settings.language_model_only = false;
  d.sizes.expert_parallel = false;
  plan = K3(d);
  EXPECT_NEAR(Gib(plan.ranks[0].detail.parameters), 129.75, 0.01);
  const Finding* padding = FindFinding(plan, "weights.expert_padding");
  ASSERT_NE(padding, nullptr);
  EXPECT_THAT(padding->message, HasSubstr("a slice of 192 is padded to 256 (+33 %)"));
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  const Finding* refusal = FindFinding(plan, "fit.no_kv_memory");
  ASSERT_NE(refusal, nullptr);
  EXPECT_THAT(refusal->fix, HasSubstr("--enable-expert-parallel (on the same cards)"));
}

TEST(EvaluatePlan, IllegalLayoutsHaveNoRanks) {
  Deployment d = PublishedKimiK3();
  d.sizes.tp = 6;
  const Plan plan = K3(d);
  EXPECT_EQ(plan.verdict, Verdict::kIllegal);
  EXPECT_EQ(plan.verdict_low, Verdict::kIllegal);
  EXPECT_TRUE(plan.ranks.empty());
  EXPECT_TRUE(plan.host.empty());
  EXPECT_TRUE(plan.files.empty());
  EXPECT_TRUE(plan.launch.empty());
  EXPECT_FALSE(plan.kv.has_value());
  EXPECT_EQ(plan.findings.front().severity, Severity::kError);
}

TEST(EvaluatePlan, TokensHaveToLieInTheWindow) {
  Deployment d = PublishedKimiK3();
  const auto error = [&] {
    const auto plan = EvaluatePlan(ExampleFromConfig("kimi-k3"), testing_support::Cards(),
                                   testing_support::Store(), d);
    return plan ? "planned" : plan.error().ToString();
  };
  d.output_tokens = 524'288;
  EXPECT_EQ(error(),
            "--output-tokens 524288: expected a number from 1 to 524,287, less than the window; "
            "input and output share --max-model-len");
  d.output_tokens = 0;
  EXPECT_NE(error(), "planned");
  d.output_tokens = 1;
  EXPECT_EQ(error(), "planned");
  d.typical_tokens = 600'000;
  EXPECT_EQ(error(), "--typical-tokens 600000: expected a number from 1 to 524,288, the window");
}

TEST(EvaluatePlan, SameInputSameAnswer) {
  const Plan a = K3(PublishedKimiK3());
  const Plan b = K3(PublishedKimiK3());
  ASSERT_EQ(a.findings.size(), b.findings.size());
  for (size_t i = 0; i < a.findings.size(); ++i) {
    EXPECT_EQ(a.findings[i].message, b.findings[i].message);
  }
  EXPECT_EQ(a.launch[1].argv, b.launch[1].argv);
}

TEST(EvaluatePlan, VerdictNames) {
  EXPECT_EQ(ToString(Verdict::kFits), "fits");
  EXPECT_EQ(ToString(Verdict::kDoesNotFit), "does_not_fit");
  EXPECT_EQ(ToString(Verdict::kIllegal), "illegal");
}

}  // namespace
}  // namespace shardplan
