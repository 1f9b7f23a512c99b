#include "shardplan/base/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using testing::ElementsAre;

Finding Make(std::string id, Severity severity, std::string subject) {
  Finding finding;
  finding.id = std::move(id);
  finding.severity = severity;
  finding.subject = std::move(subject);
  return finding;
}

TEST(FindingTest, NamesOfSeverities) {
  EXPECT_EQ(ToString(Severity::kError), "error");
  EXPECT_EQ(ToString(Severity::kWarning), "warning");
  EXPECT_EQ(ToString(Severity::kNote), "note");
}

TEST(FindingTest, SortsBySeverityThenIdThenSubject) {
  std::vector<Finding> findings = {
      Make("a", Severity::kNote, "x"),    Make("b", Severity::kError, "y"),
      Make("b", Severity::kError, "x"),   Make("a", Severity::kWarning, "z"),
      Make("a", Severity::kError, "zzz"),
  };
  SortFindings(findings);
  std::vector<std::string> order;
  for (const Finding& f : findings) order.push_back(f.id + f.subject);
  EXPECT_THAT(order, ElementsAre("azzz", "bx", "by", "az", "ax"));
}

TEST(FindingTest, EqualKeysKeepTheirOrder) {
  std::vector<Finding> findings = {Make("a", Severity::kNote, "x"),
                                   Make("a", Severity::kNote, "x")};
  findings[0].message = "first";
  findings[1].message = "second";
  SortFindings(findings);
  EXPECT_EQ(findings[0].message, "first");
}

TEST(FindingTest, HasErrorLooksAtEveryOne) {
  EXPECT_FALSE(HasError({}));
  EXPECT_FALSE(HasError({Make("a", Severity::kWarning, "x")}));
  EXPECT_TRUE(HasError({Make("a", Severity::kNote, "x"), Make("b", Severity::kError, "y")}));
}

}  // namespace
}  // namespace shardplan
