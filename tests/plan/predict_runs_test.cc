#include "plan/predict_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "shardplan/base/units.h"
#include "support/measured_runs.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::EnvironmentFor;
using testing_support::Evaluate;
using testing_support::FindFinding;
using testing_support::K3;
using testing_support::kPublished;
using testing_support::PlanWith;
using testing_support::PublishedKimiK3;
using testing_support::RunOf;
using testing_support::With;

TEST(PredictRuns, MeasuredLessDerived) {
  CalibrationRun run = RunOf(kPublished[0]);
  run.stage = 1;
  run.weights = Range(Gibibytes(61.5).ToBytes());
  const Deployment d = With(PublishedKimiK3(), {run, RunOf(kPublished[1])});
  const Environment env = EnvironmentFor(K3(), d);
  ASSERT_NE(env.calibration, nullptr);
  ASSERT_EQ(env.calibration->runs.size(), 2u);
  const PredictedRun& first = env.calibration->runs[0];
  const Plan derived = Evaluate(K3(), PublishedKimiK3());
  EXPECT_EQ(first.refused, "");
  EXPECT_EQ(first.source, "runs.yaml, run 1");
  EXPECT_EQ(first.batched_tokens, 8192);
  EXPECT_TRUE(first.capture_sizes.empty());
  ASSERT_EQ(first.stages.size(), 2u);
  EXPECT_EQ(first.stages[0].kv_available.central, derived.ranks[0].kv_available.central);
  // Weights are stage 1's, blocks those of stage 0, which has fewest.
  EXPECT_EQ(first.weights->central, Gibibytes(61.5).ToBytes() - derived.ranks[8].weights);
  const Bytes left = Bytes(10'616'832) * 1630 + Bytes(5'308'416);
  EXPECT_EQ(first.rest->central,
            derived.ranks[0].kv_available.central - left - first.weights->central);
  EXPECT_EQ(first.rest->high - first.rest->low, Bytes(10'616'831));
  EXPECT_FALSE(first.activations.has_value());
  EXPECT_FALSE(env.calibration->runs[1].capture_sizes.empty());
  EXPECT_EQ(EnvironmentFor(K3(), PublishedKimiK3()).calibration, nullptr);
}

TEST(PredictRuns, RunsOfSomethingElseAreNotApplied) {
  const Plan plain = Evaluate(K3(), PublishedKimiK3());
  const auto note = [&](const CalibrationRun& run) -> std::string {
    const Plan plan = PlanWith(PublishedKimiK3(), run);
    EXPECT_EQ(plan.kv->num_blocks, plain.kv->num_blocks);
    const Finding* finding = FindFinding(plan, "calibration.not_applied");
    if (!finding) return "";
    EXPECT_EQ(finding->severity, Severity::kNote);
    EXPECT_EQ(finding->subject, "runs.yaml, run 1");
    return finding->message;
  };
  CalibrationRun run = RunOf(kPublished[1]);
  run.deployment.gpu = "h20-141";
  EXPECT_EQ(note(run), "not applied: it ran on h20-141, this is h20-96");
  run = RunOf(kPublished[1]);
  run.deployment.engine_version = "v0.30.2";
  EXPECT_EQ(note(run), "not applied: it ran on vllm@0.30, this is vllm@0.31");
  run = RunOf(kPublished[1]);
  run.model = "deepseek-v3";
  EXPECT_THAT(note(run), StartsWith("not applied: it ran deepseek-v3, this is kimi-k3 ("));
  run = RunOf(kPublished[1]);
  run.deployment.sizes.expert_parallel = true;
  EXPECT_EQ(note(run), "not applied: it ran as TP8 × PP2 with expert parallel, this is TP8 × PP2");
}

TEST(PredictRuns, PatchesAndArchitecturesMatch) {
  CalibrationRun run = RunOf(kPublished[0]);
  run.deployment.engine_version = "v0.31.1rc1.dev50";
  run.model = "KimiK3ForConditionalGeneration";
  run.deployment.gpu = "NVIDIA H20";
  Deployment d = PublishedKimiK3();
  d.gpu = "NVIDIA H20";
  EXPECT_EQ(PlanWith(PublishedKimiK3(), run).kv->num_blocks, 1630);
}

// Figures that cannot be this model's are told, and leave the plan as it was.
TEST(PredictRuns, FiguresThatCannotBe) {
  const Plan plain = Evaluate(K3(), PublishedKimiK3());
  const auto warning = [&](const CalibrationRun& run) -> std::string {
    const Plan plan = PlanWith(PublishedKimiK3(), run);
    EXPECT_EQ(plan.kv->num_blocks, plain.kv->num_blocks);
    const Finding* finding = FindFinding(plan, "calibration.not_applied");
    if (!finding) return "";
    EXPECT_EQ(finding->severity, Severity::kWarning);
    return finding->message;
  };
  CalibrationRun run = RunOf(kPublished[0]);
  run.num_blocks = 4000;
  EXPECT_THAT(warning(run), HasSubstr("beside its weights it used -"));
  run.num_blocks = 40'000;
  EXPECT_THAT(warning(run), HasSubstr("a larger cache than the card holds"));
  run.num_blocks = 1;
  EXPECT_THAT(warning(run), HasSubstr("is it this model, and are these its options?"));
  run = RunOf(kPublished[0]);
  run.stage = 0;
  run.weights = Range(Gibibytes(40).ToBytes());
  EXPECT_THAT(warning(run), HasSubstr("it printed 40.000 GiB of weights where 65.5"));
  run = RunOf(kPublished[0]);
  run.stage = 2;
  EXPECT_THAT(warning(run), HasSubstr("it is of stage 2, and there are 2"));
  run = RunOf(kPublished[0]);
  run.deployment.sizes.tp = 7;
  EXPECT_THAT(warning(run), HasSubstr("not applied: "));
  run = RunOf(kPublished[0]);
  run.deployment.settings.kv_cache_memory_bytes = Bytes(kGiB);
  EXPECT_THAT(warning(run), HasSubstr("kv-cache-memory-bytes"));
  run = RunOf(kPublished[0]);
  run.num_blocks.reset();
  run.kv_tokens = int64_t{1} << 60;
  EXPECT_THAT(warning(run), HasSubstr("a larger cache than the card holds"));
}

}  // namespace
}  // namespace shardplan
