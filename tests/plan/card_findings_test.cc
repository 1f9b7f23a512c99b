#include "plan/card_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cluster_world.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindFinding;
using testing_support::OnCluster;
using testing_support::Server;
using testing_support::Told;

Plan Dense(const Deployment& d) { return Evaluate(ExampleFromConfig("dense-70b"), d); }

std::string MessageOf(const Plan& plan, const std::string& id) {
  const Finding* const finding = FindFinding(plan, id);
  return finding == nullptr ? "" : finding->message;
}

TEST(CardFindingsTest, TheSmallestCardDecides) {
  const Plan plan = Dense(OnCluster({Server("h200-141", 8), Server("h20-96", 8)}, 8, 2));
  EXPECT_THAT(MessageOf(plan, "placement.mixed_cards"),
              HasSubstr("every rank is planned as on the smallest, NVIDIA H20 with 95.07 GiB"));
  EXPECT_EQ(plan.gpu, "h20-96");
  EXPECT_EQ(MessageOf(plan, "placement.device_order"), "");
  EXPECT_EQ(MessageOf(Dense(OnCluster({Server("h200-141", 8, 2)}, 8, 2)), "placement.mixed_cards"),
            "");
}

// pains.jsonl: flag-dev-order.
TEST(CardFindingsTest, DifferentCardsInOneNode) {
  NodeKind kind = Server("rtxa6000-48", 4);
  kind.cards[3].gpu = "l40s-48";
  const Plan plan = Dense(OnCluster({kind}, 4));
  const Finding* const order = FindFinding(plan, "placement.device_order");
  ASSERT_NE(order, nullptr);
  EXPECT_THAT(order->fix, HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_NE(MessageOf(plan, "placement.mixed_cards"), "");
  EXPECT_EQ(MessageOf(Dense(OnCluster({Server("l40s-48", 4)}, 4)), "placement.device_order"), "");
}

TEST(CardFindingsTest, WhatWasReadOnTheCards) {
  NodeKind kind = Server("h200-141", 8);
  kind.cards[2].in_use = Bytes(700 * kMiB);
  Deployment d = OnCluster({kind}, 8);
  EXPECT_THAT(MessageOf(Dense(d), "placement.memory_in_use"),
              HasSubstr("nvidia-smi showed 700 MiB in use on card 2: the plan counts 0 MiB"));
  d.gpu_memory_in_use = Bytes(700 * kMiB);
  EXPECT_EQ(MessageOf(Dense(d), "placement.memory_in_use"), "");
  d = OnCluster({kind}, 2);  // cards 0 and 1
  EXPECT_EQ(MessageOf(Dense(d), "placement.memory_in_use"), "");
  kind.cards[1].mig = true;
  EXPECT_THAT(MessageOf(Dense(OnCluster({kind}, 2)), "placement.mig"),
              HasSubstr("card 1 is divided into MIG instances"));
  EXPECT_EQ(MessageOf(Dense(OnCluster({kind}, 1)), "placement.mig"), "");
}

TEST(CardFindingsTest, ANumaNodeWithCardsAndNoMemory) {
  NodeKind kind = Server("h200-141", 8);
  kind.numa[0].memory = Told(Bytes(512 * kGiB));
  kind.numa[1].memory = Told(Bytes());
  EXPECT_THAT(MessageOf(Dense(OnCluster({kind}, 8)), "placement.numa_without_memory"),
              HasSubstr("NUMA node 1 has cards 4, 5, 6, 7 and no memory"));
  EXPECT_EQ(MessageOf(Dense(OnCluster({kind}, 4)), "placement.numa_without_memory"), "");
  kind.numa[1].memory = Told(Bytes(kGiB));
  EXPECT_EQ(MessageOf(Dense(OnCluster({kind}, 8)), "placement.numa_without_memory"), "");
}

// pains.jsonl: drv-h20-570, drv-ptx-kimi.
TEST(CardFindingsTest, ADriverOlderThanTheToolkit) {
  NodeKind kind = Server("h20-96", 8);
  kind.driver = "570.86.15";
  Deployment d = OnCluster({kind}, 8);
  d.engine_version = "0.19.0";
  EXPECT_THAT(
      MessageOf(Dense(d), "placement.driver"),
      HasSubstr("driver 570.86.15 is older than 575.51.03, which came with the toolkit: vLLM "
                "0.19.0 is built with CUDA 12.9"));
  d.engine_version = "0.31.0";
  EXPECT_THAT(
      MessageOf(Dense(d), "placement.driver"),
      HasSubstr("driver 570.86.15 is older than 580.65.06, the oldest that runs CUDA 13.0"));
  kind.driver = "580.159.04";
  d = OnCluster({kind}, 8);
  EXPECT_EQ(MessageOf(Dense(d), "placement.driver"), "");
  // The option goes before the file.
  d.driver = "570.86.15";
  d.engine_version = "0.19.0";
  EXPECT_THAT(MessageOf(Dense(d), "placement.driver"), HasSubstr("driver 570.86.15 is older"));
  kind.driver = "450.1";
  d = OnCluster({kind}, 8);
  d.driver = "580.159.04";
  EXPECT_EQ(MessageOf(Dense(d), "placement.driver"), "");
  kind.driver.clear();
  EXPECT_EQ(MessageOf(Dense(OnCluster({kind}, 8)), "placement.driver"), "");
}

TEST(CardFindingsTest, PinnedWeightsWithoutBinding) {
  Deployment d = OnCluster({Server("h200-141", 8)}, 8);
  d.settings.offload_backend = "uva";
  d.settings.cpu_offload_gb = 4;
  const Plan plan = Dense(d);
  const Finding* const bind = FindFinding(plan, "placement.numa_bind");
  ASSERT_NE(bind, nullptr);
  EXPECT_EQ(bind->fix, "--numa-bind, with --numa-bind-nodes 0 0 0 0 1 1 1 1 here");
  d.settings.numa_bind = true;
  EXPECT_EQ(MessageOf(Dense(d), "placement.numa_bind"), "");
  d.settings.numa_bind = false;
  d.settings.cpu_offload_gb = 0;
  d.settings.offload_backend.reset();
  EXPECT_EQ(MessageOf(Dense(d), "placement.numa_bind"), "");
}

}  // namespace
}  // namespace shardplan
