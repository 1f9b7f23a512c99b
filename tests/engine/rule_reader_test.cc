#include "engine/rule_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing_support::TempDir;

constexpr char kBook[] = R"(releases:
  - {version: 0.1.0, cut: 2026-01-01}
  - {version: 0.2.0, cut: 2026-02-01}
rules:
  a:
    - {since: 0.1.0, value: 1, evidence: log, source: seen}
    - {since: 0.2.0, value: 2, source: read}
  late:
    - {since: 0.2.0, value: 7, source: read}
  bare:
    - {since: 0.1.0, value: 1}
  rumour:
    - {since: 0.1.0, value: 1, evidence: heard, source: x}
  word:
    - {since: 0.1.0, value: odd, source: x}
)";

class RuleReaderTest : public ::testing::Test {
 protected:
  RuleReaderTest() {
    std::filesystem::create_directories(dir_.path() + "/engines/vllm");
    std::ofstream(dir_.path() + "/engines/vllm/rules.yaml") << kBook;
    book_ = *RuleBook::Load(*ConfigStore::WithOverrides(dir_.path()));
  }

  RuleReader At(const EngineVersion& version, OwnRules own = {}) {
    return RuleReader(*book_, version, std::move(own), &sources_);
  }

  std::string ProblemOf(const char* key) {
    RuleReader reader = At({0, 1, 0});
    int64_t value = 0;
    reader.Rule(key, &value);
    EXPECT_EQ(value, 0);
    return reader.problem();
  }

  TempDir dir_;
  std::optional<RuleBook> book_;
  RuleSources sources_;
};

TEST_F(RuleReaderTest, TheRuleOfTheVersionAndHowItIsKnown) {
  int64_t a = 0;
  RuleReader old = At({0, 1, 5});
  old.Rule("a", &a);
  EXPECT_EQ(a, 1);
  EXPECT_EQ(sources_["a"].evidence, Evidence::kLog);
  RuleReader reader = At({0, 2, 0});
  reader.Rule("a", &a);
  EXPECT_EQ(a, 2);
  EXPECT_EQ(sources_["a"].evidence, Evidence::kSource);
  EXPECT_EQ(sources_["a"].text, "read");
  EXPECT_EQ(sources_["a"].since, "0.2.0");
  EXPECT_EQ(reader.problem(), "");
}

TEST_F(RuleReaderTest, TheNearestFileOfOnesOwnWins) {
  const YAML::Node near = YAML::Load("rules: {a: {value: 5, evidence: assumed, source: mine}}");
  const YAML::Node far = YAML::Load("rules: {a: {value: 6, source: far}}");
  int64_t a = 0;
  RuleReader reader = At({0, 2, 0}, {{near, far}, "0.2.0-mine"});
  reader.Rule("a", &a);
  EXPECT_EQ(a, 5);
  EXPECT_EQ(sources_["a"].evidence, Evidence::kAssumed);
  EXPECT_EQ(sources_["a"].since, "0.2.0-mine");
}

TEST_F(RuleReaderTest, TheFirstProblemIsKept) {
  EXPECT_EQ(ProblemOf("late"), "late: expected an entry that holds at this version");
  EXPECT_EQ(ProblemOf("bare"), "bare: expected {value, source}");
  EXPECT_EQ(ProblemOf("rumour"), "rumour: unknown evidence 'heard'");
  EXPECT_THROW(ProblemOf("word"), YAML::Exception);
  RuleReader reader = At({0, 1, 0});
  int choice = 0;
  reader.Choice<int>("word", {{"even", 2}}, &choice);
  reader.Choice<int>("bare", {{"even", 2}}, &choice);
  EXPECT_EQ(reader.problem(), "word: unknown value 'odd'");
  EXPECT_EQ(choice, 0);
}

TEST(VersionWithRules, TheNewestThatIsNoNewer) {
  const std::vector<std::string> known = {"0.1.0", "0.2.0"};
  std::vector<Finding> findings;
  const auto of = [&](std::string_view version) {
    findings.clear();
    const auto found = VersionWithRules("engine", version, known, &findings);
    return found ? *found : found.error().ToString();
  };
  EXPECT_EQ(of(""), "0.2.0");
  EXPECT_EQ(of("v0.1"), "0.1.0");
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(of("0.1.7"), "0.1.0");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_EQ(findings[0].message, "planned by the rules of 0.1.0");
  EXPECT_EQ(of("1.0"), "0.2.0");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_EQ(findings[0].subject, "engine@1.0");
  EXPECT_EQ(of("0.0.9"), "engine@0.0.9: rules reach from 0.1.0 to 0.2.0");
  EXPECT_EQ(of("main"), "engine@main: expected a version such as 0.2.0");
}

}  // namespace
}  // namespace shardplan
