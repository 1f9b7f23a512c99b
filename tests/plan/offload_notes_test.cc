#include "plan/offload_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindFinding;
using testing_support::PublishedKimiK3;

Plan OffloadingK3(const Deployment& d) { return Evaluate(ExampleFromConfig("kimi-k3"), d); }

// The published deployment with its experts prefetched instead: every second layer.
Deployment Prefetching() {
  Deployment d = PublishedKimiK3();
  EngineSettings& s = d.settings;
  s.cpu_offload_gb = 0;
  s.cpu_offload_params.clear();
  s.offload_backend = "prefetch";
  s.offload_group_size = 2;
  s.offload_params = {"w13_weight", "w2_weight"};
  return d;
}

Bytes CountedWorkspace(const RankPlan& rank) {
  Bytes sum;
  for (const Entry& entry : rank.ledger.entries()) {
    if (entry.account == Account::kWorkspace && entry.in_budget) sum += entry.bytes.central;
  }
  return sum;
}

// 24 layers of stage 0 leave the weights; one layer's buffers stand in the workspace.
TEST(OffloadNotes, PrefetchInThePlan) {
  const Plan plan = OffloadingK3(Prefetching());
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  const RankPlan& rank = plan.ranks.front();
  const Bytes layer(1'849'688'064);
  EXPECT_EQ(rank.offloaded, layer * 24);
  EXPECT_EQ(rank.weights,
            rank.detail.parameters + rank.detail.buffers + rank.detail.post_load - rank.offloaded);
  EXPECT_EQ(
      CountedWorkspace(rank) - CountedWorkspace(OffloadingK3(PublishedKimiK3()).ranks.front()),
      layer);
  EXPECT_EQ(rank.pinned_allocated, Bytes(24 * 3 * kGiB));
  EXPECT_EQ(plan.host.front().pinned, rank.offloaded * 8);
  const Finding* note = FindFinding(plan, "offload.prefetch");
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->message,
            "vLLM will say: [PrefetchOffloader] Initialized 24 modules. Total GPU memory saved: "
            "44.3925 GB, Static buffer pool: 1.8497 GB (group_size=2, num_in_group=1, "
            "prefetch_step=1, mode=cpu)");
  EXPECT_EQ(FindFinding(plan, "offload.pool"), nullptr);
  EXPECT_NE(FindFinding(plan, "offload.pinned_rounding"), nullptr);
  EXPECT_THAT(plan.launch.front().argv, Contains("prefetch"));
  EXPECT_THAT(plan.launch.front().argv, Contains("--offload-group-size"));
}

TEST(OffloadNotes, PinnedRounding) {
  const Plan plan = OffloadingK3(PublishedKimiK3());
  const Finding* finding = FindFinding(plan, "offload.pinned_rounding");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "514.50 GiB of offloaded weights take 896.00 GiB of pinned memory over all nodes: the "
            "allocator rounds each tensor up to a power of two");
}

TEST(OffloadNotes, UvaThatMovesNothing) {
  Deployment d = PublishedKimiK3();
  d.settings.cpu_offload_params = {"w13"};
  EXPECT_THAT(FindFinding(OffloadingK3(d), "offload.nothing")->message,
              HasSubstr("matches no parameter of the decoder layers"));
  d.settings.cpu_offload_gb = 0;
  EXPECT_THAT(FindFinding(OffloadingK3(d), "offload.nothing")->message,
              HasSubstr("nothing moves without --cpu-offload-gb"));
}

TEST(OffloadNotes, APoolThatEatsWhatItFrees) {
  Deployment d = Prefetching();
  d.settings.offload_prefetch_step = 24;
  const Finding* finding = nullptr;
  const Plan plan = OffloadingK3(d);
  finding = FindFinding(plan, "offload.pool");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "the buffers on the card (41.34 GiB) take what offloading frees (41.34 GiB)");
}

TEST(OffloadNotes, WhatMovesNothing) {
  Deployment d = Prefetching();
  d.settings.offload_params = {"w13"};
  EXPECT_THAT(FindFinding(OffloadingK3(d), "offload.nothing")->message,
              HasSubstr("matches no parameter of the decoder layers"));
  d.settings.offload_params.clear();
  d.settings.offload_group_size = 100;
  EXPECT_THAT(FindFinding(OffloadingK3(d), "offload.nothing")->message,
              HasSubstr("longer than the stages"));
  d.settings.offload_backend.reset();
  d.settings.offload_group_size = 0;
  d.settings.offload_params = {"w13_weight"};
  EXPECT_THAT(FindFinding(OffloadingK3(d), "offload.nothing")->message,
              HasSubstr("nothing moves without --offload-group-size"));
}

TEST(OffloadNotes, BothBackendsAreTold) {
  Deployment d = Prefetching();
  d.settings.cpu_offload_gb = 8;
  const Plan plan = OffloadingK3(d);
  const Finding* finding = FindFinding(plan, "offload.conflict");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->message, HasSubstr("UVA settings will be ignored."));
  EXPECT_EQ(plan.ranks.front().offloaded, Bytes(1'849'688'064) * 24);
}

}  // namespace
}  // namespace shardplan
