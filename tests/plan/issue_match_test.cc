#include "plan/issue_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plan_world.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;

KnownIssue One(const std::string& when) {
  const testing_support::TempDir dir;
  dir.Write("known_issues.yaml",
            "issues:\n  - id: one\n    severity: error\n    subject: --kv-cache-dtype\n"
            "    message: what goes wrong\n    fix: what helps\n"
            "    source: https://example.org/1\n    date: 2026-08-06\n    when: " +
                when + "\n");
  const auto issues = LoadKnownIssues(*ConfigStore::WithOverrides(dir.path()));
  EXPECT_TRUE(issues.has_value()) << (issues ? "" : issues.error().ToString());
  return issues ? issues->at(0) : KnownIssue();
}

TEST(IssueMatchTest, ConditionsHoldTogether) {
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

TEST(IssueMatchTest, VersionsBeginAndEnd) {
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
TEST(IssueMatchTest, PlansTellThem) {
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
