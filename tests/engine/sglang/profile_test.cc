#include "engine/sglang/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace shardplan::sglang {
namespace {

Profile At(const char* version) {
  std::vector<Finding> findings;
  const auto profile = LoadProfile(ConfigStore::BuiltIn(), version, &findings);
  EXPECT_TRUE(profile.has_value()) << (profile ? "" : profile.error().ToString());
  return profile.value_or(Profile());
}

TEST(SglangProfile, NewestIsTheDefault) {
  const ConfigStore store = ConfigStore::BuiltIn();
  std::vector<Finding> findings;
  const auto profile = LoadProfile(store, "", &findings);
  ASSERT_TRUE(profile.has_value()) << profile.error().ToString();
  EXPECT_EQ(profile->version, "0.5.21");
  EXPECT_EQ(profile->version, ProfileVersions(store).back());
  EXPECT_EQ(ProfileVersions(store).front(), "0.4.0");
  EXPECT_TRUE(findings.empty());
}

TEST(SglangProfile, RulesHoldFromTheirVersionOn) {
  EXPECT_EQ(At("0.4.3").mem_fraction_rule, FractionRule::kByTp);
  EXPECT_EQ(At("0.5.2").mem_fraction_rule, FractionRule::kByCard);
  EXPECT_EQ(At("0.5.3").mem_fraction_rule, FractionRule::kTerms);
  EXPECT_EQ(At("0.5.14").prefill_graph, PrefillGraph::kPiecewise);
  EXPECT_EQ(At("0.5.15").prefill_graph, PrefillGraph::kBreakable);
  EXPECT_EQ(At("0.5.14").kv_refusal, KvRefusal::kMinimumViable);
  EXPECT_EQ(At("0.5.13").kv_refusal, KvRefusal::kNotEnoughMemory);
  EXPECT_EQ(At("0.5.13").draft_reserve_mib, 2048);
  EXPECT_EQ(At("0.5.13").standalone_draft_reserve_mib, 6144);
  EXPECT_EQ(At("0.5.15").draft_reserve_mib, 0);
  EXPECT_EQ(At("0.5.15").deepep_reserve_mib, 2048);
  EXPECT_EQ(At("0.5.14").deepep_reserve_mib, 0);
  EXPECT_EQ(At("0.5.15").state_padding_slots, 0);
  EXPECT_EQ(At("0.5.16").state_padding_slots, 1);
  EXPECT_FALSE(At("0.5.16").states_by_stage);
  EXPECT_TRUE(At("0.5.17").states_by_stage);
  EXPECT_EQ(At("0.5.16").multimodal_cache_mib, 0);
  EXPECT_EQ(At("0.5.17").multimodal_cache_mib, 100);
  EXPECT_EQ(At("0.5.17").tiers[1].chunked_prefill_size, 2048);
  EXPECT_EQ(At("0.5.18").tiers[1].chunked_prefill_size, 4096);
  EXPECT_EQ(At("0.5.17").page_sizes.at("cutedsl_mla").front(), 64);
}

TEST(SglangProfile, EveryReleaseLoadsAndEveryRuleSaysHowItIsKnown) {
  for (const std::string& version : ProfileVersions(ConfigStore::BuiltIn())) {
    const Profile profile = At(version.c_str());
    EXPECT_GE(profile.sources.size(), 17u) << version;
    for (const auto& [rule, source] : profile.sources) {
      EXPECT_FALSE(source.text.empty()) << version << " " << rule;
      EXPECT_FALSE(source.since.empty()) << version << " " << rule;
    }
    EXPECT_GT(profile.CountOf(Evidence::kSource), 0);
  }
}

TEST(SglangProfile, OtherVersionsTakeTheirNeighboursRules) {
  std::vector<Finding> findings;
  const auto load = [&](const char* version) {
    findings.clear();
    return LoadProfile(ConfigStore::BuiltIn(), version, &findings);
  };
  EXPECT_EQ(load("0.5.17.post1")->version, "0.5.17");
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(load("v0.5.30")->version, "0.5.21");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_EQ(findings[0].subject, "sglang@v0.5.30");
  EXPECT_EQ(load("0.3.6").error().ToString(), "sglang@0.3.6: rules reach from 0.4.0 to 0.5.21");
  EXPECT_EQ(load("main").error().ToString(), "sglang@main: expected a version such as 0.5.21");
}

TEST(SglangProfile, SaysWhatIsWrongWithTheFile) {
  testing_support::TempDir dir;
  const auto error = [&](const std::string& rules) {
    std::filesystem::create_directories(dir.path() + "/engines/sglang");
    std::ofstream(dir.path() + "/engines/sglang/rules.yaml")
        << "releases:\n  - {version: 0.5.0, cut: 2026-01-01}\nrules:\n"
        << rules;
    const auto store = ConfigStore::WithOverrides(dir.path());
    std::vector<Finding> findings;
    const auto profile = LoadProfile(*store, "", &findings);
    if (profile) return std::string("loaded");
    const std::string message = profile.error().ToString();
    return message.substr(message.find("rules.yaml"));
  };
  const std::string terms = "  mem_fraction_rule:\n    - {since: 0.4.0, value: terms, source: x}\n";
  EXPECT_EQ(error("  a: []\n"),
            "rules.yaml: mem_fraction_rule: expected an entry that holds at this version");
  EXPECT_EQ(error("  mem_fraction_rule:\n    - {since: 0.4.0, value: guess, source: x}\n"),
            "rules.yaml: mem_fraction_rule: unknown value 'guess'");
  EXPECT_EQ(error("  mem_fraction_rule:\n    - {since: 0.4.0, value: terms}\n"),
            "rules.yaml: mem_fraction_rule: expected {value, source}");
  EXPECT_EQ(error(terms + "  memory_tiers:\n    - {since: 0.4.0, value: [[9, 1, 1, 1]], source: "
                          "x}\n"),
            "rules.yaml: memory_tiers: expected rows of four numbers, rising, the last below 0");
  EXPECT_EQ(error(terms + "  memory_tiers:\n    - {since: 0.4.0, value: soon, source: x}\n")
                .substr(0, 17),
            "rules.yaml: line ");
}

}  // namespace
}  // namespace shardplan::sglang
