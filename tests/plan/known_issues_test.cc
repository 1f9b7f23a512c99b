#include "plan/known_issues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/flag_table.h"
#include "support/plan_world.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;
using testing_support::Store;
using testing_support::TempDir;

constexpr const char* kHead = R"(issues:
  - id: one
    severity: error
    subject: --kv-cache-dtype
    message: what goes wrong
    fix: what helps
    source: https://example.org/1
    date: 2026-08-06
)";

// The issues of a file of one's own, or the error without its folder.
std::string Problem(const std::string& text) {
  const TempDir dir;
  dir.Write("known_issues.yaml", text);
  const auto store = ConfigStore::WithOverrides(dir.path());
  const auto issues = LoadKnownIssues(*store);
  if (issues) return "";
  const std::string error = issues.error().ToString();
  return error.substr(error.find("known_issues.yaml"));
}

KnownIssue One(const std::string& when) {
  const TempDir dir;
  dir.Write("known_issues.yaml", std::string(kHead) + "    when: " + when + "\n");
  const auto issues = LoadKnownIssues(*ConfigStore::WithOverrides(dir.path()));
  EXPECT_TRUE(issues.has_value()) << (issues ? "" : issues.error().ToString());
  return issues ? issues->at(0) : KnownIssue();
}

TEST(KnownIssuesTest, EveryBuiltInEntryIsWhole) {
  const auto issues = LoadKnownIssues(Store());
  ASSERT_TRUE(issues.has_value()) << issues.error().ToString();
  EXPECT_GE(issues->size(), 20U);
  for (const KnownIssue& issue : *issues) {
    EXPECT_FALSE(issue.when.empty()) << issue.id;
    EXPECT_FALSE(issue.message.ends_with('.')) << issue.id;
    if (!issue.since.empty() && !issue.fixed.empty()) {
      EXPECT_TRUE(IsOlder(issue.since, issue.fixed)) << issue.id;
    }
    if (!issue.seen.empty() && !issue.fixed.empty()) {
      EXPECT_TRUE(IsOlder(issue.seen, issue.fixed)) << issue.id;
    }
  }
}

TEST(KnownIssuesTest, WrongFilesAreRefusedWithTheirLine) {
  EXPECT_EQ(Problem("issue: []\n"), "known_issues.yaml:1: unknown key issue; did you mean issues?");
  EXPECT_EQ(Problem("issues: 3\n"), "known_issues.yaml:1: issues: expected a list, found 3");
  const std::string head = kHead;
  EXPECT_EQ(Problem(head), "known_issues.yaml:2: missing key when");
  EXPECT_EQ(Problem(head + "    when: {engine: llama}\n"),
            "known_issues.yaml:9: when.engine: expected vllm or sglang, found llama");
  EXPECT_THAT(Problem(head + "    when: {engine: vllm, cappability: 90}\n"),
              HasSubstr("known_issues.yaml:9: unknown key when.cappability; did you mean "
                        "capability?"));
  EXPECT_EQ(Problem(head + "    when: {engine: vllm, tp: many}\n"),
            "known_issues.yaml:9: when.tp: expected a number from 0 to 1000000000000, found many");
  EXPECT_EQ(Problem(head + "    when: {engine: vllm, tp: {}}\n"),
            "known_issues.yaml:9: when.tp: expected min or max, found a mapping");
  EXPECT_EQ(Problem(head + "    when: {engine: vllm, since: new}\n"),
            "known_issues.yaml:9: when.since: expected a version such as 0.31.0, found new");
  EXPECT_EQ(Problem(head + "    when: {engine: vllm, family: []}\n"),
            "known_issues.yaml:9: when.family: expected at least one word, found a list");
  std::string dated = head + "    when: {engine: vllm}\n";
  dated.replace(dated.find("2026-08-06"), 10, "August");
  EXPECT_EQ(Problem(dated),
            "known_issues.yaml:8: date: expected a day or month such as 2026-11-29 or 2026-11, "
            "found August");
  const std::string twice = head.substr(head.find("  - id"));
  EXPECT_EQ(Problem(head + "    when: {engine: vllm}\n" + twice + "    when: {engine: vllm}\n"),
            "known_issues.yaml:10: second issue one");
}

TEST(KnownIssuesTest, ConditionsHoldTogether) {
  const KnownIssue issue =
      One("{engine: vllm, family: [kimi-k3, glm*], tp: {min: 8}, sparse: true, pp: 2}");
  IssueFacts facts;
  EXPECT_EQ(MatchIssue(issue, facts), IssueMatch::kOpen);
  facts.Set("family", "glm-5");
  facts.Set("tp", 8);
  facts.Set("sparse", 1);
  EXPECT_EQ(MatchIssue(issue, facts), IssueMatch::kOpen);
  EXPECT_THAT(OpenFacts(issue, facts), ElementsAre("pp"));
  facts.Set("pp", 2);
  EXPECT_EQ(MatchIssue(issue, facts), IssueMatch::kYes);
  facts.Set("tp", 4);
  EXPECT_EQ(MatchIssue(issue, facts), IssueMatch::kNo);
  facts.Set("tp", 16);
  facts.Set("family", "qwen");
  EXPECT_EQ(MatchIssue(issue, facts), IssueMatch::kNo);
}

TEST(KnownIssuesTest, VersionsBeginAndEnd) {
  const KnownIssue issue = One("{engine: vllm, since: 0.20.0, seen: 0.22.0, fixed: 0.25.0}");
  const auto count = [&](const char* engine, const char* version) {
    return IssuesOf({issue}, engine, version, IssueFacts()).size();
  };
  EXPECT_EQ(count("vllm", "0.19.1"), 0U);
  EXPECT_EQ(count("vllm", "0.20.0"), 1U);
  EXPECT_EQ(count("vllm", "0.24.9"), 1U);
  EXPECT_EQ(count("vllm", "0.25.0"), 0U);
  EXPECT_EQ(count("sglang", "0.20.0"), 0U);
  Finding finding = FindingOf(issue, "0.22.0");
  EXPECT_EQ(finding.id, "issue.one");
  EXPECT_EQ(finding.severity, Severity::kError);
  EXPECT_EQ(finding.message, "what goes wrong (https://example.org/1, 2026-08-06)");
  finding = FindingOf(issue, "0.23.0");
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_THAT(finding.message, HasSubstr("; last seen in 0.22.0, which a later version"));
  // A warning is not worth a word then.
  KnownIssue warning = issue;
  warning.severity = Severity::kWarning;
  EXPECT_EQ(IssuesOf({warning}, "vllm", "0.22.0", IssueFacts()).size(), 1U);
  EXPECT_EQ(IssuesOf({warning}, "vllm", "0.23.0", IssueFacts()).size(), 0U);
}

// The plan tells them, and an error makes a layout one that does not start.
TEST(KnownIssuesTest, PlansTellThem) {
  Deployment d = PublishedKimiK3();
  d.engine_version = "0.28.0";
  d.settings.kv_cache_dtype = "fp8";
  const Plan refused = Evaluate(ExampleFromConfig("kimi-k3"), d);
  const Finding* const issue = testing_support::FindFinding(refused, "issue.kimi-k3-fp8-kv-hopper");
  ASSERT_NE(issue, nullptr);
  EXPECT_EQ(issue->fix, "--kv-cache-dtype auto, which is bfloat16");
  EXPECT_EQ(refused.verdict, Verdict::kIllegal);
  d.settings.kv_cache_dtype.reset();
  EXPECT_EQ(testing_support::FindFinding(Evaluate(ExampleFromConfig("kimi-k3"), d),
                                         "issue.kimi-k3-fp8-kv-hopper"),
            nullptr);
  // The V2 runner of 0.27 moves nothing.
  d.engine_version = "0.27.1";
  const Plan idle = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_NE(testing_support::FindFinding(idle, "issue.v2-runner-no-offload"), nullptr);
  d.settings.v2_model_runner = false;
  EXPECT_EQ(testing_support::FindFinding(Evaluate(ExampleFromConfig("kimi-k3"), d),
                                         "issue.v2-runner-no-offload"),
            nullptr);
}

}  // namespace
}  // namespace shardplan
