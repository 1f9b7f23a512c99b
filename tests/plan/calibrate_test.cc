#include "plan/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "shardplan/base/units.h"
#include "support/measured_runs.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::DeploymentOf;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindFinding;
using testing_support::K3;
using testing_support::kPublished;
using testing_support::PlanWith;
using testing_support::PublishedKimiK3;
using testing_support::RunOf;
using testing_support::Start;
using testing_support::With;

const Entry* EntryOf(const RankPlan& rank, Account account, bool in_budget) {
  for (const Entry& entry : rank.ledger.entries()) {
    if (entry.account == account && entry.in_budget == in_budget) return &entry;
  }
  return nullptr;
}

void ExpectConserved(const Plan& plan) {
  for (const RankPlan& rank : plan.ranks) {
    EXPECT_EQ(rank.ledger.Sum(), rank.device_total);
    EXPECT_EQ(rank.ledger.SumInBudget(true), rank.budget);
    EXPECT_EQ(
        rank.detail.parameters + rank.detail.buffers + rank.detail.post_load + rank.detail.rounding,
        rank.weights + rank.offloaded);
    for (const Entry& entry : rank.ledger.entries()) {
      EXPECT_LE(entry.bytes.low, entry.bytes.central) << ToString(entry.account);
      EXPECT_LE(entry.bytes.central, entry.bytes.high) << ToString(entry.account);
      if (entry.account != Account::kHeadroom) {
        EXPECT_GE(entry.bytes.central, Bytes());
      }
      Bytes parts;
      for (const Part& part : entry.parts) parts += part.bytes;
      if (!entry.parts.empty()) {
        EXPECT_EQ(parts, entry.bytes.central) << ToString(entry.account);
      }
    }
  }
  for (const ActivationPlan& stage : plan.activations) {
    Bytes sum;
    for (const auto& [name, bytes] : stage.fixed) sum += bytes;
    for (const auto& [name, bytes] : stage.phases) {
      if (name == stage.binding) sum += bytes;
    }
    EXPECT_EQ(sum, stage.peak.central);
  }
}

// Any one of the published starts makes the other two right to 1 %, and itself exact.
TEST(Calibrate, OneRunMakesItsNeighboursRight) {
  for (const Start& known : kPublished) {
    for (const Start& asked : kPublished) {
      const Plan plan = PlanWith(DeploymentOf(asked), RunOf(known));
      const int64_t tolerance = &known == &asked ? 0 : asked.blocks / 100;
      EXPECT_NEAR(static_cast<double>(plan.kv->num_blocks), static_cast<double>(asked.blocks),
                  static_cast<double>(tolerance))
          << known.blocks << " → " << asked.blocks;
      EXPECT_LE(plan.kv->num_blocks_low, asked.blocks);
      EXPECT_GE(plan.kv->num_blocks_high, asked.blocks);
      ExpectConserved(plan);
    }
  }
}

// It is the measurement that does it: whatever a run printed, its neighbours follow.
TEST(Calibrate, NeighboursFollowTheMeasurement) {
  for (const int64_t off : {-300, -100, 57}) {
    for (const Start& known : kPublished) {
      CalibrationRun run = RunOf(known);
      *run.num_blocks += off;
      for (const Start& asked : kPublished) {
        const Plan right = PlanWith(DeploymentOf(asked), RunOf(known));
        const Plan moved = PlanWith(DeploymentOf(asked), run);
        EXPECT_EQ(moved.kv->num_blocks - right.kv->num_blocks, off);
        ExpectConserved(moved);
      }
    }
  }
}

TEST(Calibrate, TheSameFromTokensAndFromMemory) {
  CalibrationRun run = RunOf(kPublished[0]);
  run.num_blocks.reset();
  run.kv_tokens = 1'234'955;
  EXPECT_EQ(PlanWith(PublishedKimiK3(), run).kv->num_blocks, 1630);
  EXPECT_EQ(PlanWith(PublishedKimiK3(), run).kv->tokens, 1'234'955);
  run.kv_tokens.reset();
  run.stage = 0;
  const Bytes left = Bytes(10'616'832) * 1630 + Bytes(5'000'000);
  run.available_kv = Range(left - Bytes(1'000'000), left, left + Bytes(1'000'000));
  const Plan plan = PlanWith(PublishedKimiK3(), run);
  EXPECT_EQ(plan.ranks[0].kv_available.central, left);
  EXPECT_EQ(plan.ranks[0].kv_available.low, left - Bytes(1'000'000));
  EXPECT_EQ(plan.ranks[0].kv_available.high, left + Bytes(1'000'000));
  ExpectConserved(plan);
}

// What was assumed is measured, with a range that the print's rounding makes.
TEST(Calibrate, TermsBecomeMeasuredAndNarrow) {
  const Plan plain = Evaluate(K3(), PublishedKimiK3());
  const Plan plan = PlanWith(PublishedKimiK3(), RunOf(kPublished[0]));
  for (const Account account :
       {Account::kActivations, Account::kCommunication, Account::kWorkspace}) {
    const Entry* entry = EntryOf(plan.ranks[0], account, true);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->basis, Basis::kMeasured);
    EXPECT_THAT(entry->source, StartsWith("runs.yaml, run 1: "));
  }
  EXPECT_EQ(EntryOf(plan.ranks[0], Account::kCommunication, false)->basis, Basis::kAssumed);
  EXPECT_EQ(plan.kv->num_blocks_low, 1630);
  EXPECT_EQ(plan.kv->num_blocks_high, 1630);
  EXPECT_LT(plain.kv->num_blocks_low, 1550);
  // Nor does what CUDA sees of the card make the rest less sure than it was.
  const auto spread = [](const Plan& p) {
    const Entry* headroom = EntryOf(p.ranks[0], Account::kHeadroom, false);
    return headroom->bytes.high - headroom->bytes.low;
  };
  EXPECT_LE(spread(plan), spread(plain));
  EXPECT_LT(plan.ranks[0].ledger.AssumedShare(), plain.ranks[0].ledger.AssumedShare());
}

// What the run did not show stays assumed.
TEST(Calibrate, AReserveThatWasNotMeasuredStaysAssumed) {
  const Plan to_graphs = PlanWith(DeploymentOf(kPublished[1]), RunOf(kPublished[0]));
  const Entry* reserve = EntryOf(to_graphs.ranks[0], Account::kCudaGraphs, true);
  EXPECT_EQ(reserve->basis, Basis::kAssumed);
  EXPECT_LT(reserve->bytes.low, reserve->bytes.high);
  // From graphs to eager the reserve's range goes into the rest.
  const Plan to_eager = PlanWith(DeploymentOf(kPublished[0]), RunOf(kPublished[1]));
  const Entry* rest = EntryOf(to_eager.ranks[0], Account::kCommunication, true);
  EXPECT_EQ(rest->bytes.high - rest->bytes.low,
            reserve->bytes.high - reserve->bytes.low + Bytes(10'616'831));
  // With equal graphs the sum is known.
  const Plan same = PlanWith(DeploymentOf(kPublished[2]), RunOf(kPublished[1]));
  EXPECT_LE(same.kv->num_blocks_high - same.kv->num_blocks_low, 20);
  EXPECT_EQ(EntryOf(same.ranks[0], Account::kCudaGraphs, true)->basis, Basis::kMeasured);
}

TEST(Calibrate, TermsAreTakenAsPrinted) {
  const auto printed = [](double gib) {
    const Bytes bytes = Gibibytes(gib).ToBytes();
    const Bytes half = Gibibytes(0.005).ToBytes();
    return Range(bytes - half, bytes, bytes + half);
  };
  CalibrationRun run = RunOf(DeploymentOf(kPublished[1]));
  run.stage = 0;
  run.weights = printed(65.6);
  run.activation_peak = printed(3.2);
  run.non_torch_growth = printed(0.65);
  run.graph_reserve = printed(0.61);
  run.baseline = printed(1.7);
  const Plan plan = PlanWith(DeploymentOf(kPublished[1]), run);
  const RankPlan& rank = plan.ranks[0];
  EXPECT_EQ(rank.weights, Gibibytes(65.6).ToBytes());
  EXPECT_EQ(EntryOf(rank, Account::kWeights, true)->bytes.central, rank.weights);
  EXPECT_EQ(EntryOf(rank, Account::kActivations, true)->bytes.central, Gibibytes(3.2).ToBytes());
  EXPECT_EQ(EntryOf(rank, Account::kCudaGraphs, true)->bytes.central, Gibibytes(0.61).ToBytes());
  EXPECT_EQ(EntryOf(rank, Account::kCommunication, true)->bytes.central +
                EntryOf(rank, Account::kWorkspace, true)->bytes.central,
            Gibibytes(0.65).ToBytes());
  EXPECT_EQ(EntryOf(rank, Account::kCommunication, false)->bytes.central +
                EntryOf(rank, Account::kCudaContext, false)->bytes.central,
            Gibibytes(1.7).ToBytes());
  for (const Account account : {Account::kWeights, Account::kActivations, Account::kCudaGraphs}) {
    const Entry* entry = EntryOf(rank, account, true);
    EXPECT_EQ(entry->basis, Basis::kMeasured);
    EXPECT_EQ(entry->bytes.high - entry->bytes.central, Gibibytes(0.005).ToBytes());
  }
  ExpectConserved(plan);
  // A longer batch keeps the derived slope; its range is 3 % of what it adds.
  const Plan longer = PlanWith(DeploymentOf(kPublished[2]), run);
  const Plan derived = Evaluate(K3(), DeploymentOf(kPublished[2]));
  const Plan short_one = Evaluate(K3(), DeploymentOf(kPublished[1]));
  const Bytes more = derived.activations[0].peak.central - short_one.activations[0].peak.central;
  const Entry* activations = EntryOf(longer.ranks[0], Account::kActivations, true);
  EXPECT_EQ(activations->bytes.central, Gibibytes(3.2).ToBytes() + more);
  EXPECT_EQ(activations->bytes.high - activations->bytes.central,
            Gibibytes(0.005).ToBytes() + Bytes(more.count() * 3 / 100));
  ExpectConserved(longer);
}

// A sum and its terms: the terms are as printed, the rest takes what is left.
TEST(Calibrate, TermsAndTheirSum) {
  CalibrationRun run = RunOf(kPublished[0]);
  run.stage = 0;
  run.activation_peak = Range(Gibibytes(3.5).ToBytes());
  const Plan plan = PlanWith(PublishedKimiK3(), run);
  EXPECT_EQ(plan.kv->num_blocks, 1630);
  EXPECT_EQ(EntryOf(plan.ranks[0], Account::kActivations, true)->bytes.central,
            Gibibytes(3.5).ToBytes());
  ExpectConserved(plan);
}

// No entry goes below nothing: what one cannot give, the next one does.
TEST(Calibrate, DifferencesLargerThanAnEntry) {
  CalibrationRun run = RunOf(kPublished[0]);
  *run.num_blocks += 200;  // 1.98 GiB, where growth outside torch is 0.85
  const Plan plan = PlanWith(PublishedKimiK3(), run);
  EXPECT_EQ(plan.kv->num_blocks, 1830);
  EXPECT_EQ(EntryOf(plan.ranks[0], Account::kCommunication, true)->bytes.central, Bytes());
  EXPECT_EQ(EntryOf(plan.ranks[0], Account::kWorkspace, true)->bytes.central, Bytes());
  EXPECT_LT(plan.activations[0].peak.central, Gibibytes(2.0).ToBytes());
  ExpectConserved(plan);
}

// Other windows, fractions and partitions are neighbours as well.
TEST(Calibrate, AnyOptionButTheLayoutMayDiffer) {
  const CalibrationRun run = RunOf(kPublished[0]);
  Deployment d = PublishedKimiK3();
  d.settings.max_model_len = 131'072;
  d.output_tokens.reset();
  EXPECT_EQ(PlanWith(d, run).kv->num_blocks, 1630);
  d.settings.gpu_memory_utilization = 0.92;
  const Plan plain = Evaluate(K3(), d);
  const Plan plan = PlanWith(d, run);
  const int64_t uncalibrated = Evaluate(K3(), PublishedKimiK3()).kv->num_blocks;
  EXPECT_NEAR(static_cast<double>(plan.kv->num_blocks - plain.kv->num_blocks),
              static_cast<double>(1630 - uncalibrated), 1.0);
  EXPECT_NE(FindFinding(plan, "calibration.applied"), nullptr);
}

TEST(Calibrate, TheNearestRunCounts) {
  const std::vector<CalibrationRun> runs = {RunOf(kPublished[0]), RunOf(kPublished[1]),
                                            RunOf(kPublished[2])};
  for (const Start& asked : kPublished) {
    const Plan plan = Evaluate(K3(), With(DeploymentOf(asked), runs));
    EXPECT_EQ(plan.kv->num_blocks, asked.blocks);
  }
}

// Without tensor parallelism there is no communication in the budget to take the difference.
TEST(Calibrate, OneCard) {
  const Model& model = ExampleFromConfig("deepseek-v3");
  Deployment d;
  d.gpu = "b300-288";
  d.sizes.tp = 1;
  d.sizes.dp = 8;
  d.sizes.expert_parallel = true;
  d.settings.max_model_len = 32'768;
  const Plan plain = Evaluate(model, d);
  ASSERT_GT(plain.kv->num_blocks, 1000);
  CalibrationRun run = RunOf(d);
  run.model = "deepseek-v3";
  run.kv_tokens = plain.kv->tokens - 64 * plain.kv->block_tokens;
  const Plan plan = Evaluate(model, With(d, {run}));
  EXPECT_EQ(plan.kv->tokens, *run.kv_tokens);
  ExpectConserved(plan);
}

}  // namespace
}  // namespace shardplan
