#include "shardplan/plan/known_issues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/flag_table.h"
#include "support/plan_world.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
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

}  // namespace
}  // namespace shardplan
