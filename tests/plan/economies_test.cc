#include "plan/economies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shardplan {
namespace {

using ::testing::ElementsAre;

Plan DefaultsOf(const std::string& sequences, const std::string& chunk) {
  Plan plan;
  plan.defaults = {{"max-num-batched-tokens", chunk}, {"max-num-seqs", sequences}};
  return plan;
}

// "max-num-seqs 256, enforce-eager"
std::vector<std::string> Names(const std::vector<Economy>& economies) {
  std::vector<std::string> names;
  for (const Economy& economy : economies) {
    std::string name;
    for (const auto& [option, value] : economy.chosen) {
      name += (name.empty() ? "" : ", ") + option + (value.empty() ? "" : " " + value);
    }
    names.push_back(name);
  }
  return names;
}

TEST(Economies, MildestFirst) {
  const std::vector<Economy> all = EconomiesOf({}, {}, DefaultsOf("1024", "8192"));
  EXPECT_THAT(Names(all),
              ElementsAre("", "max-num-seqs 256", "max-num-seqs 64", "max-num-seqs 16",
                          "max-num-seqs 4", "max-num-seqs 4, max-num-batched-tokens 4096",
                          "max-num-seqs 4, max-num-batched-tokens 2048",
                          "max-num-seqs 4, max-num-batched-tokens 2048, enforce-eager"));
  const EngineSettings& last = all.back().deployment.settings;
  EXPECT_EQ(last.max_num_seqs, 4);
  EXPECT_EQ(last.max_num_batched_tokens, 2048);
  EXPECT_TRUE(last.enforce_eager);
  EXPECT_FALSE(all.front().deployment.settings.max_num_seqs);
  EXPECT_EQ(all[1].deployment.settings.max_num_seqs, 256);
  EXPECT_FALSE(all[1].deployment.settings.enforce_eager);
}

TEST(Economies, WhatWasAskedForStays) {
  GivenSizes given;
  given.sequences = given.chunk = true;
  EXPECT_THAT(Names(EconomiesOf({}, given, DefaultsOf("1024", "8192"))),
              ElementsAre("", "enforce-eager"));
  given.graphs = true;
  EXPECT_THAT(Names(EconomiesOf({}, given, DefaultsOf("1024", "8192"))), ElementsAre(""));
  Deployment eager;
  eager.settings.enforce_eager = true;
  EXPECT_THAT(Names(EconomiesOf(eager, {}, DefaultsOf("4", "2048"))), ElementsAre(""));
}

TEST(Economies, SequencesStayEnough) {
  Deployment d;
  d.require_concurrency = 20;
  GivenSizes given;
  given.chunk = given.graphs = true;
  EXPECT_THAT(Names(EconomiesOf(d, given, DefaultsOf("256", "8192"))),
              ElementsAre("", "max-num-seqs 64"));
}

TEST(Economies, OfSglangThereAreNone) {
  Deployment d;
  d.engine = "sglang";
  EXPECT_THAT(Names(EconomiesOf(d, {}, DefaultsOf("1024", "8192"))), ElementsAre(""));
}

TEST(Economies, ADefaultThatIsNoNumberIsLeftAlone) {
  GivenSizes given;
  given.graphs = true;
  EXPECT_THAT(Names(EconomiesOf({}, given, DefaultsOf("many", "8192x"))), ElementsAre(""));
  EXPECT_THAT(Names(EconomiesOf({}, given, Plan())), ElementsAre(""));
}

}  // namespace
}  // namespace shardplan
