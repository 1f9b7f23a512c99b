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

TEST(VllmProfile, RulesHoldFromTheirVersionOn) {
  std::vector<Finding> findings;
  const auto at = [&](const char* version) {
    const auto profile = vllm::LoadProfile(ConfigStore::BuiltIn(), version, &findings);
    EXPECT_TRUE(profile.has_value()) << profile.error().ToString();
    return *profile;
  };
  // The version whose functions computed the golden numbers.
  const vllm::Profile golden = at("0.28.0");
  EXPECT_EQ(golden.prefill_checkpoint_blocks, 0);
  EXPECT_EQ(golden.expert_padding_over, vllm::PaddingOver::kTp);
  EXPECT_EQ(golden.graph_estimate, vllm::GraphEstimate::kV1Only);
  EXPECT_EQ(golden.mla_hybrid_min_block, 128);
  EXPECT_TRUE(golden.null_block_reserved);
  EXPECT_EQ(golden.v2_runner, vllm::V2Runner::kDenseAndListed);
  EXPECT_EQ(golden.largest_card_gib, 160);
  EXPECT_EQ(golden.capture_cap_sm10x, 1024);
  EXPECT_EQ(golden.windows_in_flight, vllm::WindowsInFlight::kConcurrentBatches);

  EXPECT_DOUBLE_EQ(at("0.19.1").gpu_memory_utilization, 0.90);
  EXPECT_DOUBLE_EQ(at("0.20.0").gpu_memory_utilization, 0.92);
  EXPECT_EQ(at("0.19.0").graph_estimate, vllm::GraphEstimate::kNever);
  EXPECT_EQ(at("0.20.0").graph_estimate, vllm::GraphEstimate::kV1Only);
  EXPECT_EQ(at("0.29.0").graph_estimate, vllm::GraphEstimate::kAlways);
  EXPECT_EQ(at("0.20.0").tokens_printed, vllm::TokensPrinted::kBlocks);
  EXPECT_EQ(at("0.21.0").tokens_printed, vllm::TokensPrinted::kConcurrency);
  EXPECT_EQ(at("0.22.0").windows_in_flight, vllm::WindowsInFlight::kOneBatch);
  EXPECT_EQ(at("0.16.0").sampler, vllm::SamplerPath::kSortNative);
  EXPECT_EQ(at("0.17.0").sampler, vllm::SamplerPath::kTriton);
  EXPECT_EQ(at("0.17.0").moe_chunk_tokens, 16384);
  EXPECT_EQ(at("0.18.0").moe_chunk_tokens, 0);
  EXPECT_EQ(at("0.27.0").largest_card_gib, 0);
  EXPECT_FALSE(at("0.27.0").null_block_reserved);
  EXPECT_TRUE(at("0.20.0").allocator_rounding);
  EXPECT_FALSE(at("0.21.0").allocator_rounding);
  EXPECT_EQ(at("0.21.0").v2_runner, vllm::V2Runner::kNone);
  EXPECT_EQ(at("0.25.0").v2_runner, vllm::V2Runner::kDense);
  for (const Finding& finding : findings) {
    EXPECT_TRUE(finding.id == "engine.evidence" || finding.subject == "vllm@0.19.1") << finding.id;
  }
}

TEST(VllmProfile, EveryRuleHasASource) {
  std::vector<Finding> findings;
  const std::vector<std::string> versions = vllm::ProfileVersions(ConfigStore::BuiltIn());
  EXPECT_EQ(versions.front(), "0.8.0");
  for (const std::string& version : versions) {
    const auto profile = vllm::LoadProfile(ConfigStore::BuiltIn(), version, &findings);
    ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
    EXPECT_EQ(profile->sources.size(), 32u);
    for (const auto& [rule, source] : profile->sources) {
      EXPECT_FALSE(source.text.empty()) << rule;
      EXPECT_FALSE(source.since.empty()) << rule;
    }
  }
}

TEST(VllmProfile, OtherVersionsTakeTheNearestOlderOne) {
  const ConfigStore store = ConfigStore::BuiltIn();
  std::vector<Finding> findings;
  EXPECT_EQ(vllm::LoadProfile(store, "0.30.2", &findings)->version, "0.30.0");
  EXPECT_EQ(vllm::LoadProfile(store, "v0.31", &findings)->version, "0.31.0");
  EXPECT_EQ(vllm::LoadProfile(store, "0.20.1rc1.dev16", &findings)->version, "0.20.0");
  EXPECT_EQ(vllm::LoadProfile(store, "0.40.0rc1", &findings)->version, "0.31.0");
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].message, "planned by the rules of 0.30.0");
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_EQ(findings[2].message, "newer than every release with rules; those of 0.31.0 are used");
  EXPECT_EQ(findings[2].severity, Severity::kWarning);
}

TEST(VllmProfile, AModelMayBeNewerThanTheVersion) {
  const ConfigStore store = ConfigStore::BuiltIn();
  const std::string k3 = "KimiK3ForConditionalGeneration";
  const auto finding = vllm::CheckModelVersion(store, "0.27.0", k3);
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->id, "engine.model_too_new");
  EXPECT_EQ(finding->message,
            "vLLM has this model from 0.27.1 on (first release after #50089 and #50000 "
            "(2026-07-30)); 0.27.0 would not start it");
  EXPECT_EQ(finding->fix, "--engine vllm@0.27.1 or later");
  EXPECT_FALSE(vllm::CheckModelVersion(store, "0.27.1", k3).has_value());
  EXPECT_FALSE(vllm::CheckModelVersion(store, "", k3).has_value());
  EXPECT_FALSE(vllm::CheckModelVersion(store, "0.8.0", "LlamaForCausalLM").has_value());
}

TEST(VllmProfile, OldVersionsSayWhatTheyRestOn) {
  std::vector<Finding> findings;
  const auto profile = vllm::LoadProfile(ConfigStore::BuiltIn(), "0.11.0", &findings);
  ASSERT_TRUE(profile.has_value());
  const int64_t source = profile->CountOf(Evidence::kSource);
  const int64_t log = profile->CountOf(Evidence::kLog);
  const int64_t assumed = profile->CountOf(Evidence::kAssumed);
  EXPECT_EQ(source + log + assumed, static_cast<int64_t>(profile->sources.size()));
  EXPECT_GT(log, 0);
  EXPECT_GT(assumed, 0);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "of its " + std::to_string(source + log + assumed) + " rules " +
                                     std::to_string(source) + " were read in the source, " +
                                     std::to_string(log) + " are seen in public logs, " +
                                     std::to_string(assumed) + " are assumed");
}

TEST(VllmProfile, RefusesWhatItCannotKnow) {
  const ConfigStore store = ConfigStore::BuiltIn();
  std::vector<Finding> findings;
  const auto old = vllm::LoadProfile(store, "0.7.3", &findings);
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(old.error().ToString(), "vllm@0.7.3: rules reach from 0.8.0 to 0.31.0");
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
  EXPECT_EQ(
      Load("inherits: 0.31.0\nrules:\n  v2_runner: {value: all, source: x, evidence: rumour}\n"),
      "0.99.0.yaml: v2_runner: unknown evidence 'rumour'");
  EXPECT_EQ(Load("inherits: 0.99.0\n"), "0.99.0.yaml: profiles inherit in a circle");
  EXPECT_EQ(Load("inherits: 0.7.0\n"),
            "0.99.0.yaml: inherits: expected a version from 0.8.0 to 0.31.0, found '0.7.0'");
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
