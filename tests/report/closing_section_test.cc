#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_plan.h"
#include "report/sections.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::ExamplePlan;
using testing_support::IllegalPlan;
using testing_support::ShortPlan;

TEST(DefaultsSectionTest, ListsThem) {
  Plan plan = ExamplePlan();
  EXPECT_EQ(DefaultsSection(plan, 100),
            "Defaults taken by vllm@9.9.9\n"
            "  dtype=bfloat16, block-size=16\n");
  plan.defaults.clear();
  EXPECT_EQ(DefaultsSection(plan, 100), "");
}

TEST(FindingsSectionTest, SeverityMessageFix) {
  Plan plan = ExamplePlan();
  EXPECT_EQ(FindingsSection(plan, 100),
            "Findings\n"
            "  warning capacity.max_num_seqs: --max-num-seqs 64: 64 is a scheduler limit, not a "
            "promise\n"
            "    fix: count on 2 full windows\n"
            "  note model.mtp_absent: mtp: not stored\n");
  plan.findings.clear();
  EXPECT_EQ(FindingsSection(plan, 100), "");
}

// Every way out on a line of its own.
TEST(FindingsSectionTest, WaysOutAreLines) {
  EXPECT_EQ(FixLines("", 100, 100), "");
  EXPECT_EQ(FixLines("--a 1 (why)", 100, 100), "    fix: --a 1 (why)\n");
  EXPECT_EQ(FixLines("--a 1 --b 2 (why); or no --c; or d", 100, 100),
            "    fix: --a 1 --b 2 (why)\n"
            "    or: no --c\n"
            "    or: d\n");
  EXPECT_EQ(FixLines("aaaa bbbb; or c\nd", 100, 14),
            "    fix: aaaa\n"
            "         bbbb\n"
            "    or: c\\x0ad\n");
}

TEST(FindingsSectionTest, HostileTextStaysOnItsLine) {
  Plan plan = ExamplePlan();
  plan.findings = {{"x", Severity::kNote, "a\nfits: yes", "b\x1b[2J", "c\rd"}};
  EXPECT_EQ(FindingsSection(plan, 100),
            "Findings\n"
            "  note x: a\\x0afits: yes: b\\x1b[2J\n"
            "    fix: c\\x0dd\n");
}

TEST(VerdictSectionTest, Fits) {
  Plan plan = ExamplePlan();
  EXPECT_EQ(VerdictSection(plan, 100, false),
            "fits: 2.000 GiB to spare on rank 0, the fullest; 2 requests of 524,288 tokens at once "
            "(2.36×)\n");
  plan.verdict_high = Verdict::kDoesNotFit;
  EXPECT_THAT(VerdictSection(plan, 200, false),
              HasSubstr("(2.36×); at the dear end of the ranges it does not fit\n"));
}

TEST(VerdictSectionTest, DoesNotFit) {
  Plan plan = ShortPlan();
  EXPECT_EQ(VerdictSection(plan, 100, false),
            "does not fit: kv_cache on rank 1 is short by 3.250 GiB; --max-model-len 1000 fits\n");
  plan.verdict_low = Verdict::kFits;
  EXPECT_THAT(VerdictSection(plan, 200, false),
              HasSubstr("; at the cheap end of the ranges it fits\n"));
  plan.verdict_low = Verdict::kDoesNotFit;
  plan.limiting.reset();
  plan.findings[0].fix = "";
  EXPECT_EQ(VerdictSection(plan, 100, false),
            "does not fit: rank 1 (stage 0): vLLM would say: no room\n");
}

// Nothing is short: a known issue is in the way.
TEST(VerdictSectionTest, KnownIssue) {
  Plan plan = testing_support::ExamplePlan();
  plan.verdict = plan.verdict_low = plan.verdict_high = Verdict::kDoesNotFit;
  plan.limiting.reset();
  plan.findings = {{"issue.one", Severity::kError, "driver", "is too old", "a newer driver"}};
  EXPECT_EQ(VerdictSection(plan, 100, false),
            "does not start as planned: driver: is too old; a newer driver\n");
}

TEST(VerdictSectionTest, Illegal) {
  EXPECT_EQ(
      VerdictSection(IllegalPlan(), 100, false),
      "illegal layout: --tensor-parallel-size 7: Total number of attention heads (96) must be "
      "divisible by\n"
      "  tensor parallel size (7); nearest legal tensor-parallel sizes: 6 or 8\n");
}

TEST(VerdictSectionTest, ColourOnlyWhereAsked) {
  EXPECT_THAT(VerdictSection(ExamplePlan(), 100, false), Not(HasSubstr("\x1b")));
  const std::string fits = VerdictSection(ExamplePlan(), 100, true);
  EXPECT_TRUE(fits.starts_with("\x1b[1;32mfits")) << fits;
  EXPECT_TRUE(fits.ends_with("\x1b[0m\n")) << fits;
  EXPECT_TRUE(VerdictSection(ShortPlan(), 100, true).starts_with("\x1b[1;31mdoes not fit"));
}

}  // namespace
}  // namespace shardplan
