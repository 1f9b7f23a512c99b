#include "engine/vllm/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "shardplan/base/units.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

TEST(VllmProfile, NewestIsTheDefault) {
  const ConfigStore store = ConfigStore::BuiltIn();
  std::vector<Finding> findings;
  const auto profile = vllm::LoadProfile(store, "", &findings);
  ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
  EXPECT_EQ(profile->version, "0.31.0");
  EXPECT_EQ(profile->version, vllm::ProfileVersions(store).back());
  EXPECT_DOUBLE_EQ(profile->gpu_memory_utilization, 0.92);
  EXPECT_EQ(profile->prefill_checkpoint_blocks, 1);
  EXPECT_TRUE(findings.empty());
}

TEST(VllmProfile, InheritsWhatItDoesNotChange) {
  std::vector<Finding> findings;
  const auto profile = vllm::LoadProfile(ConfigStore::BuiltIn(), "0.28.0", &findings);
  ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
  EXPECT_EQ(profile->prefill_checkpoint_blocks, 0);
  EXPECT_EQ(profile->expert_padding_over, vllm::PaddingOver::kTp);
  EXPECT_EQ(profile->graph_estimate, vllm::GraphEstimate::kV1Only);
  EXPECT_EQ(profile->mla_hybrid_min_block, 128);
  EXPECT_TRUE(findings.empty());
}

TEST(VllmProfile, EveryRuleHasASource) {
  std::vector<Finding> findings;
  for (const std::string& version : vllm::ProfileVersions(ConfigStore::BuiltIn())) {
    const auto profile = vllm::LoadProfile(ConfigStore::BuiltIn(), version, &findings);
    ASSERT_TRUE(profile.has_value());
    EXPECT_EQ(profile->sources.size(), 13u);
    for (const auto& [rule, source] : profile->sources) EXPECT_FALSE(source.empty()) << rule;
  }
}

TEST(VllmProfile, OtherVersionsTakeTheNearestOlderOne) {
  const ConfigStore store = ConfigStore::BuiltIn();
  std::vector<Finding> findings;
  EXPECT_EQ(vllm::LoadProfile(store, "0.30.2", &findings)->version, "0.28.0");
  EXPECT_EQ(vllm::LoadProfile(store, "v0.31", &findings)->version, "0.31.0");
  EXPECT_EQ(vllm::LoadProfile(store, "0.40.0rc1", &findings)->version, "0.31.0");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].message, "no profile for this version; the one of 0.28.0 is used");
  EXPECT_EQ(findings[1].message,
            "newer than every profile for this version; the one of 0.31.0 is used");
}

TEST(VllmProfile, RefusesWhatItCannotKnow) {
  const ConfigStore store = ConfigStore::BuiltIn();
  std::vector<Finding> findings;
  const auto old = vllm::LoadProfile(store, "0.7.3", &findings);
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(old.error().ToString(), "vllm@0.7.3: profiles reach from 0.28.0 to 0.31.0");
  const auto text = vllm::LoadProfile(store, "latest", &findings);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().ToString(), "vllm@latest: expected a version such as 0.31.0");
}

class BrokenProfile : public ::testing::Test {
 protected:
  std::string Load(const std::string& text) {
    std::filesystem::create_directories(dir_.path() + "/engines/vllm");
    std::ofstream(dir_.path() + "/engines/vllm/0.99.0.yaml") << text;
    const auto store = ConfigStore::WithOverrides(dir_.path());
    EXPECT_TRUE(store.has_value());
    std::vector<Finding> findings;
    const auto profile = vllm::LoadProfile(*store, "0.99.0", &findings);
    if (profile) return "loaded";
    std::string message = profile.error().ToString();
    const size_t at = message.find("0.99.0.yaml");
    return at == std::string::npos ? message : message.substr(at);
  }
  testing_support::TempDir dir_;
};

TEST_F(BrokenProfile, SaysWhatIsWrong) {
  EXPECT_EQ(Load("inherits: 0.31.0\n"), "loaded");
  EXPECT_EQ(Load("inherits: 0.31.0\nrules:\n  v2_runner: {value: maybe, source: x}\n"),
            "0.99.0.yaml: v2_runner: unknown value 'maybe'");
  EXPECT_EQ(Load("inherits: 0.31.0\nrules:\n  v2_runner: all\n"),
            "0.99.0.yaml: v2_runner: expected {value, source}");
  EXPECT_EQ(
      Load("inherits: 0.31.0\nmemory:\n  nccl_group: {low: 2, central: 1, high: 3, source: x}\n"),
      "0.99.0.yaml: nccl_group: expected low ≤ central ≤ high");
  EXPECT_EQ(Load("inherits: 0.99.0\n"), "0.99.0.yaml: profiles inherit in a circle");
  EXPECT_EQ(Load("- a\n- b\n"), "0.99.0.yaml: expected a YAML mapping");
}

TEST(VllmProfile, ConstantsGrowPerDoubling) {
  vllm::MemoryConstant constant;
  constant.low = 1;
  constant.central = 2;
  constant.high = 3;
  constant.per_doubling_central = 0.5;
  constant.per_doubling_high = 1;
  EXPECT_EQ(constant.At(2).central, Bytes(2 * kGiB));
  EXPECT_EQ(constant.At(8).central, Bytes(3 * kGiB));
  EXPECT_EQ(constant.At(8).high, Bytes(5 * kGiB));
  EXPECT_EQ(constant.At(8).low, Bytes(1 * kGiB));
}

}  // namespace
}  // namespace shardplan
