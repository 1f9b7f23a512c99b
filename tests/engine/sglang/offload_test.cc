#include "engine/sglang/offload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sglang/weights.h"
#include "shardplan/base/units.h"
#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using ::testing::HasSubstr;
using testing_support::SglangContext;

DeviceWeights WeightsOf(SglangContext& c) {
  return ComputeDeviceWeights(*c.context.arch, TableFor(c.context), RulesFor(c.context));
}

Offload Moved(SglangContext& c, StageRange stage) {
  return OffloadOf(c.context, WeightsOf(c), stage);
}

std::vector<std::string> OffloadIds(SglangContext& c) {
  std::vector<std::string> ids;
  for (const Finding& finding : CheckOffload(c.context)) ids.push_back(finding.id);
  return ids;
}

// A second way to walk: all parameters in one list, the first that reach the sum.
TEST(SglangOffload, ModulesInOrderUntilTheGibibytesHaveGone) {
  SglangContext c("Qwen__Qwen3-32B");
  EXPECT_EQ(Moved(c, {0, 64}).bytes, Bytes());
  const DeviceWeights weights = WeightsOf(c);
  std::vector<Bytes> all;
  for (int64_t layer = 0; layer < 64; ++layer) {
    for (const DeviceParam& param : weights.layer(layer).params) all.push_back(param.bytes);
  }
  for (const int gib : {1, 4, 17}) {
    c.args().cpu_offload_gb = gib;
    Bytes sum;
    for (const Bytes bytes : all) {
      if (sum >= Gibibytes(gib).ToBytes()) break;
      sum += bytes;
    }
    const Offload offload = Moved(c, {0, 64});
    EXPECT_EQ(offload.bytes, sum) << gib;
    EXPECT_GE(offload.pinned, offload.bytes);
    // A layer is copied whole while it runs.
    EXPECT_LE(offload.on_card, weights.layer(0).bytes);
    EXPECT_GT(offload.layers, 0);
  }
  c.args().cpu_offload_gb = 4096;  // more than there is
  EXPECT_EQ(Moved(c, {0, 64}).layers, 64);
}

// DeepSeek's experts, the last of every four layers, without scales; three dense layers move none.
TEST(SglangOffload, GroupsMoveExpertMatrices) {
  SglangContext c("deepseek-v3");
  c.args().tp_size = c.args().ep_size = 8;
  c.args().offload_group_size = 4;
  const Offload offload = Moved(c, {0, 61});
  EXPECT_EQ(offload.layers, 15);  // 3, 7, …, 59
  const int64_t one = 32 * (2 * 2048 * 7168 + 7168 * 2048);
  EXPECT_EQ(offload.bytes, Bytes(15 * one));
  EXPECT_EQ(offload.on_card, Bytes(2 * one));  // the running one and the next
  c.args().offload_num_in_group = 2;
  c.args().offload_prefetch_step = 3;
  EXPECT_EQ(Moved(c, {0, 61}).layers, 29);  // layer 2 is dense
  EXPECT_EQ(Moved(c, {0, 61}).on_card, Bytes(4 * one));
}

TEST(SglangOffload, WhatAModelCannotHave) {
  SglangContext k3("kimi-k3");
  EXPECT_TRUE(OffloadIds(k3).empty());
  k3.args().cpu_offload_gb = 32;
  ASSERT_EQ(OffloadIds(k3), std::vector<std::string>{"offload.views"});
  EXPECT_THAT(CheckOffload(k3.context)[0].message, HasSubstr("the answers are wrong"));
  k3.args().cpu_offload_gb = 0;
  k3.args().offload_group_size = 4;
  ASSERT_EQ(OffloadIds(k3), std::vector<std::string>{"offload.model"});
  EXPECT_THAT(CheckOffload(k3.context)[0].message, HasSubstr("passes no offloader_kwargs"));

  SglangContext v3("deepseek-v3");
  v3.args().offload_group_size = 4;
  EXPECT_TRUE(OffloadIds(v3).empty());
  v3.args().cpu_offload_gb = 1;
  EXPECT_EQ(OffloadIds(v3), std::vector<std::string>{"offload.conflict"});
  v3.args().offload_group_size = 0;
  v3.args().cpu_offload_gb = 1.5;
  EXPECT_EQ(OffloadIds(v3), std::vector<std::string>{"offload.whole"});
}

}  // namespace
}  // namespace shardplan::sglang
