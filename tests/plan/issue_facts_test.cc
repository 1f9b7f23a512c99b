#include "plan/issue_facts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/sglang_world.h"

namespace shardplan {
namespace {

using testing_support::Cards;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;

std::string Word(const IssueFacts& facts, const char* fact) {
  const std::string* const word = facts.Word(fact);
  return word == nullptr ? "?" : *word;
}

double Number(const IssueFacts& facts, const char* fact) {
  const double* const number = facts.Number(fact);
  return number == nullptr ? -1 : *number;
}

TEST(IssueFactsTest, ModelCardAndDriver) {
  const Architecture& arch = ExampleFromConfig("kimi-k3").arch;
  const GpuSpec gpu = Cards().FindGpu("h20-96").value();
  Deployment d;
  d.driver = "570.195.03";
  const IssueFacts facts = FactsOfPlace(&arch, &gpu, d, "0.31.0");
  EXPECT_EQ(Word(facts, "architecture"), "KimiK3ForConditionalGeneration");
  EXPECT_EQ(Word(facts, "quantization"), "mxfp4");
  EXPECT_EQ(Number(facts, "capability"), 90);
  EXPECT_EQ(Number(facts, "delta"), 1);
  EXPECT_EQ(Number(facts, "gated_delta"), 0);
  EXPECT_EQ(Number(facts, "driver"), 570.195);
  EXPECT_EQ(Number(facts, "cuda"), 13);
  EXPECT_EQ(Number(FactsOfPlace(nullptr, nullptr, d, "0.19.0"), "cuda"), 12.9);
  d.cuda = "12.8";
  d.driver = "new";
  EXPECT_EQ(Number(FactsOfPlace(nullptr, nullptr, d, "0.31.0"), "cuda"), 12.8);
  EXPECT_EQ(Number(FactsOfPlace(nullptr, nullptr, d, "0.31.0"), "driver"), -1);
  EXPECT_EQ(Word(FactsOfPlace(nullptr, nullptr, d, "0.31.0"), "architecture"), "?");
}

TEST(IssueFactsTest, GivenSettingsOnly) {
  Deployment d;
  d.sizes.pp = 2;
  IssueFacts facts;
  AddGivenFacts(d, &facts);
  EXPECT_EQ(Number(facts, "pp"), 2);
  EXPECT_EQ(Word(facts, "kv_cache_dtype"), "?");
  EXPECT_EQ(Word(facts, "offload"), "none");
  EXPECT_EQ(Word(facts, "speculation"), "none");
  d.settings.kv_cache_dtype = "fp8";
  d.settings.cpu_offload_gb = 8;
  AddGivenFacts(d, &facts);
  EXPECT_EQ(Word(facts, "kv_cache_dtype"), "fp8");
  EXPECT_EQ(Word(facts, "offload"), "uva");
  EXPECT_EQ(Word(facts, "offload_params"), "all");
}

TEST(IssueFactsTest, PreparedDeploymentsKnowEverything) {
  const Deployment d = PublishedKimiK3();
  const Environment env = testing_support::EnvironmentFor(ExampleFromConfig("kimi-k3"), d);
  Prepared p;
  ASSERT_TRUE(Prepare(env, d, &p).has_value());
  const IssueFacts facts = FactsOf(p, "0.31.0");
  EXPECT_EQ(Word(facts, "kv_cache_dtype"), "bfloat16");
  EXPECT_EQ(Word(facts, "moe_backend"), "marlin");
  EXPECT_EQ(Word(facts, "offload_params"), "chosen");
  EXPECT_EQ(Number(facts, "nodes"), 2);
  EXPECT_EQ(Number(facts, "graphs"), 0);
  EXPECT_EQ(Number(facts, "utilization"), 0.9);
  for (const std::string& fact : IssueTextFacts()) {
    EXPECT_NE(facts.Word(fact), nullptr) << fact;
  }
  for (const std::string& fact : IssueNumberFacts()) {
    EXPECT_EQ(facts.Number(fact) == nullptr, fact == "driver") << fact;
  }
}

TEST(IssueFactsTest, FlagsThatNoOptionReadsAreSwitches) {
  Deployment d = testing_support::PublishedKimiK3();
  IssueFacts facts;
  AddGivenFacts(d, &facts);
  EXPECT_EQ(Number(facts, "kv_offloading"), 0);
  d.settings.command_flags = {{"--kv-offloading-size", "200", false}};
  AddGivenFacts(d, &facts);
  EXPECT_EQ(Number(facts, "kv_offloading"), 1);
}

TEST(IssueFactsTest, SglangsToo) {
  Deployment d = testing_support::BaselineKimiK3();
  d.sglang.cpu_offload_gb = 1;
  const SglangEnvironment env =
      testing_support::SglangEnvironmentFor(ExampleFromConfig("kimi-k3"), d);
  SglangPrepared p;
  ASSERT_TRUE(PrepareSglang(env, d, &p).has_value());
  const IssueFacts facts = FactsOf(p, "0.5.20");
  EXPECT_EQ(Word(facts, "offload"), "modules");
  EXPECT_EQ(Word(facts, "attention_backend"), "flashmla");
  EXPECT_EQ(Number(facts, "expert_ranks"), 16);
  EXPECT_EQ(Number(facts, "prefix_caching"), 0);
  EXPECT_EQ(Number(facts, "host_cache"), 0);
}

}  // namespace
}  // namespace shardplan
