#include "plan/sglang/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/plan/calibration.h"
#include "support/sglang_world.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using testing_support::BaselineKimiK3;
using testing_support::Cards;
using testing_support::ExampleFromConfig;
using testing_support::FindingOf;
using testing_support::HasFinding;
using testing_support::OnSglang;
using testing_support::SglangEnvironmentFor;
using testing_support::Store;

// Prepares a deployment; what its plan would begin with.
std::unique_ptr<SglangPrepared> Prepared(const Model& model, const Deployment& d,
                                         SglangEnvironment* env) {
  *env = SglangEnvironmentFor(model, d);
  auto p = std::make_unique<SglangPrepared>();
  const Status status = PrepareSglang(*env, d, p.get());
  EXPECT_TRUE(status) << (status ? "" : status.error().ToString());
  return p;
}

TEST(SglangPrepare, SizesAndSettingsMeet) {
  SglangEnvironment env;
  const auto p = Prepared(ExampleFromConfig("kimi-k3"), BaselineKimiK3(), &env);
  EXPECT_TRUE(p->legal);
  EXPECT_EQ(p->context.args.tp_size, 16);
  EXPECT_EQ(p->context.args.nnodes, 2);
  EXPECT_EQ(p->sizes.ep(), 16);
  EXPECT_EQ(p->sizes.world(), 16);
  EXPECT_EQ(p->places.size(), 16u);
  EXPECT_DOUBLE_EQ(p->defaults.mem_fraction_static, .824611875);
  EXPECT_THAT(p->option_defaults, Contains(Pair("mem-fraction-static", "0.824611875")));
  EXPECT_THAT(p->option_defaults, Contains(Pair("page-size", "64")));
  EXPECT_THAT(p->option_defaults, Contains(Pair("cuda-graph-max-bs-decode", "512")));
  // What was given is no default.
  EXPECT_THAT(p->option_defaults, Not(Contains(Pair("moe-runner-backend", ::testing::_))));
}

TEST(SglangPrepare, DpAttentionIsNoFurtherGpus) {
  Deployment d = OnSglang("h200-141", 8);
  d.sizes.dp = 4;
  d.sglang.enable_dp_attention = true;
  SglangEnvironment env;
  EXPECT_EQ(Prepared(ExampleFromConfig("deepseek-v3"), d, &env)->sizes.world(), 8);
  d.sglang.enable_dp_attention = false;
  d.sizes.tp = 2;
  EXPECT_EQ(Prepared(ExampleFromConfig("deepseek-v3"), d, &env)->sizes.world(), 8);
  // --enable-expert-parallel, in SGLang's words, is an EP size of all of TP.
  d = OnSglang("h200-141", 8);
  d.sizes.expert_parallel = true;
  EXPECT_EQ(Prepared(ExampleFromConfig("deepseek-v3"), d, &env)->sizes.ep(), 8);
}

TEST(SglangPrepare, OffloadThatSglangDoesNotHave) {
  Deployment d = BaselineKimiK3();
  d.settings.offload_backend = "uva";
  d.settings.cpu_offload_params = {"w13_weight"};
  d.vllm_options = {"--offload-backend", "--cpu-offload-params"};
  SglangEnvironment env;
  const auto p = Prepared(ExampleFromConfig("kimi-k3"), d, &env);
  EXPECT_FALSE(p->legal);
  EXPECT_THAT(FindingOf(p->findings, "offload.not_in_engine").message,
              HasSubstr("no offload that kernels read in place"));
  EXPECT_FALSE(HasFinding(p->findings, "engine.foreign_option"));
}

TEST(SglangPrepare, OptionsOfTheOtherEngine) {
  Deployment d = BaselineKimiK3();
  d.vllm_options = {"--gpu-memory-utilization", "--moe-backend", "--moe-backend"};
  SglangEnvironment env;
  const auto p = Prepared(ExampleFromConfig("kimi-k3"), d, &env);
  EXPECT_TRUE(p->legal);
  EXPECT_EQ(FindingOf(p->findings, "engine.foreign_option").subject,
            "--gpu-memory-utilization, --moe-backend");
}

TEST(SglangPrepare, VllmsNameOfACacheIsTold) {
  Deployment d = BaselineKimiK3();
  d.settings.kv_cache_dtype = "fp8";
  d.sglang.kv_cache_dtype = "fp8_e4m3";
  SglangEnvironment env;
  const auto p = Prepared(ExampleFromConfig("kimi-k3"), d, &env);
  EXPECT_EQ(FindingOf(p->findings, "kv.dtype_name").message,
            "vLLM's name: planned and launched as fp8_e4m3, SGLang's name for it");
  d.settings.kv_cache_dtype = "fp8_e4m3";
  EXPECT_FALSE(
      HasFinding(Prepared(ExampleFromConfig("kimi-k3"), d, &env)->findings, "kv.dtype_name"));
}

TEST(SglangPrepare, CalibrationsAreVllms) {
  Deployment d = BaselineKimiK3();
  d.calibration = std::make_shared<const Calibration>();
  SglangEnvironment env;
  EXPECT_TRUE(HasFinding(Prepared(ExampleFromConfig("kimi-k3"), d, &env)->findings,
                         "calibration.other_engine"));
}

TEST(SglangPrepare, ModelsThatAReleaseDoesNotHave) {
  Deployment d = BaselineKimiK3();
  d.engine_version = "0.5.16";
  SglangEnvironment env = SglangEnvironmentFor(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(FindingOf(env.findings, "engine.model_too_new").message,
            "SGLang 0.5.16 does not have it: it came with 0.5.17");
  d.engine_version = "0.5.17";
  env = SglangEnvironmentFor(ExampleFromConfig("kimi-k3"), d);
  EXPECT_FALSE(HasFinding(env.findings, "engine.model_too_new"));
}

TEST(SglangPrepare, DraftsAreTheModelsOwnOrGivenOrUnknown) {
  SglangEnvironment env;
  Deployment d = OnSglang("h200-141", 8);
  d.sglang.speculative_algorithm = "EAGLE";
  auto p = Prepared(ExampleFromConfig("deepseek-v3"), d, &env);
  ASSERT_TRUE(p->draft);
  EXPECT_TRUE(p->draft->model);
  EXPECT_GT(p->draft->weights, Bytes());
  EXPECT_EQ(p->context.args.draft_layers, 1);
  // A chain of DeepSeek's; the launch line has all three.
  EXPECT_EQ(p->context.args.speculative_num_steps, 3);
  EXPECT_EQ(p->context.args.speculative_eagle_topk, 1);
  EXPECT_EQ(p->context.args.speculative_num_draft_tokens, 4);

  d.sglang.speculative_algorithm = "NGRAM";
  EXPECT_FALSE(Prepared(ExampleFromConfig("deepseek-v3"), d, &env)->draft);

  d = BaselineKimiK3();
  d.sglang.speculative_algorithm = "DSPARK";
  p = Prepared(ExampleFromConfig("kimi-k3"), d, &env);
  EXPECT_TRUE(HasFinding(p->findings, "speculative.unknown_draft"));
  EXPECT_EQ(p->draft->basis, Basis::kAssumed);
  d.sglang.draft_weights = Bytes(int64_t{3} << 30);
  p = Prepared(ExampleFromConfig("kimi-k3"), d, &env);
  EXPECT_FALSE(HasFinding(p->findings, "speculative.unknown_draft"));
  EXPECT_EQ(p->draft->weights, Bytes(int64_t{3} << 30));

  // One that was given, of a class that has no rules here.
  d.sglang.draft_weights.reset();
  d.sglang.speculative_algorithm = "DFLASH";
  d.sglang.speculative_draft_model_path = testing_support::ExampleConfigPath("dense-70b");
  p = Prepared(ExampleFromConfig("kimi-k3"), d, &env);
  EXPECT_THAT(FindingOf(p->findings, "speculative.unknown_draft").message,
              HasSubstr("drafts of this class are not modelled for SGLang"));

  d.sglang.speculative_algorithm = "DSPARK";
  d.sglang.speculative_draft_model_path = "/nowhere/draft";
  const auto missing = MakeSglangEnvironment(ExampleFromConfig("kimi-k3"), Cards(), Store(), d);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().ToString(),
            "--speculative-draft-model-path: model /nowhere/draft: no such directory or file here; "
            "a plan needs no more than the draft's config.json: download it and give its path");
}

TEST(SglangPrepare, MoreFreeMemoryThanACardHas) {
  Deployment d = BaselineKimiK3();
  d.sglang.free_before_load = Bytes(int64_t{500} << 30);
  const SglangEnvironment env = SglangEnvironmentFor(ExampleFromConfig("kimi-k3"), d);
  SglangPrepared p;
  const Status status = PrepareSglang(env, d, &p);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().ToString(), HasSubstr("expected at most the"));
}

TEST(SglangPrepare, Refuses) {
  Deployment d = BaselineKimiK3();
  d.settings.dtype = "int8";
  const SglangEnvironment env = SglangEnvironmentFor(ExampleFromConfig("kimi-k3"), d);
  SglangPrepared p;
  const Status status = PrepareSglang(env, d, &p);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().ToString(),
            "--dtype int8: expected auto, half, float16, bfloat16, float or float32");
}

}  // namespace
}  // namespace shardplan
