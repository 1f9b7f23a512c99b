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

// Nothing is short where memory fits; what is short stays told where it does not.
TEST(IssueMatchTest, MemoryIsToldBesideThem) {
  Deployment d = PublishedKimiK3();
  d.driver = "570.86.10";
  d.engine_version = "0.31.0";
  d.cuda.clear();
  Deployment fine = d;
  fine.driver = "580.95.05";
  const Plan fits = Evaluate(ExampleFromConfig("kimi-k3"), fine);
  const Plan stopped = Evaluate(ExampleFromConfig("kimi-k3"), d);
  ASSERT_NE(testing_support::FindFinding(stopped, "issue.cuda-13-driver"), nullptr);
  EXPECT_EQ(fits.verdict, Verdict::kFits);
  EXPECT_EQ(stopped.verdict, Verdict::kDoesNotFit);
  EXPECT_FALSE(stopped.limiting.has_value());
  ASSERT_EQ(stopped.ranks.size(), fits.ranks.size());
  EXPECT_EQ(stopped.ranks[0].headroom, fits.ranks[0].headroom);
  // Short of memory as well: both are told, and the way out is looked for by memory.
  d.settings.cpu_offload_gb = 0;
  d.settings.cpu_offload_params.clear();
  const Plan both = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_NE(testing_support::FindFinding(both, "issue.cuda-13-driver"), nullptr);
  EXPECT_TRUE(both.limiting.has_value());
  const Finding* const memory = testing_support::FindFinding(both, "fit.no_kv_memory");
  ASSERT_NE(memory, nullptr);
  EXPECT_THAT(memory->fix, HasSubstr("--cpu-offload-gb"));
}

// An error of an earlier version is a doubt; a warning of the same one is no word any more.
TEST(IssueMatchTest, WhatStoppedAnEarlierVersion) {
  KnownIssue issue;
  issue.id = "one";
  issue.severity = Severity::kError;
  issue.seen = "0.28.0";
  EXPECT_TRUE(IsIssueDoubt(FindingOf(issue, "0.31.0")));
  EXPECT_FALSE(IsIssueDoubt(FindingOf(issue, "0.28.0")));
  EXPECT_TRUE(IsIssueError(FindingOf(issue, "0.28.0")));
  issue.severity = Severity::kWarning;
  EXPECT_FALSE(IsIssueDoubt(FindingOf(issue, "0.28.0")));
  EXPECT_FALSE(IsIssueDoubt({"fit.one", Severity::kWarning, "",
                             "which a later version may have "
                             "mended",
                             ""}));
}

TEST(IssueMatchTest, TheVerdictOfAPlanWithOne) {
  Plan plan;
  plan.verdict = plan.verdict_low = plan.verdict_high = Verdict::kFits;
  plan.findings = {{"issue.one", Severity::kWarning, "", "", ""},
                   {"fit.other", Severity::kError, "", "", ""}};
  ApplyIssues(&plan);
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  plan.findings.push_back({"issue.two", Severity::kError, "", "", ""});
  EXPECT_TRUE(IsIssueError(plan.findings.back()));
  ApplyIssues(&plan, plan.findings);
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  ApplyIssues(&plan);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(plan.verdict_high, Verdict::kDoesNotFit);
  plan.verdict = Verdict::kIllegal;
  ApplyIssues(&plan);
  EXPECT_EQ(plan.verdict, Verdict::kIllegal);
  KnownIssue two;
  two.id = "two";
  EXPECT_TRUE(IssuesBeside({two}, plan.findings).empty());
  EXPECT_EQ(IssuesBeside({two}, {}).size(), 1U);
}

// The plan tells them, and an error makes a deployment one that does not start.
TEST(IssueMatchTest, PlansTellThem) {
  Deployment d = PublishedKimiK3();
  d.engine_version = "0.28.0";
  d.settings.kv_cache_dtype = "fp8";
  const Plan refused = Evaluate(ExampleFromConfig("kimi-k3"), d);
  const Finding* const issue = testing_support::FindFinding(refused, "issue.kimi-k3-fp8-kv-hopper");
  ASSERT_NE(issue, nullptr);
  EXPECT_EQ(issue->fix, "--kv-cache-dtype auto, which is bfloat16");
  // Its figures are there all the same.
  EXPECT_EQ(refused.verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(refused.verdict_low, Verdict::kDoesNotFit);
  EXPECT_FALSE(refused.ranks.empty());
  EXPECT_TRUE(refused.kv.has_value());
  EXPECT_FALSE(refused.launch.empty());
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
