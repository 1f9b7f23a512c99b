#include "shardplan/report/plan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/example_plan.h"
#include "report/text.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::ExamplePlan;
using testing_support::IllegalPlan;
using testing_support::ShortPlan;

// The first line of every section, in order.
std::vector<std::string> Headings(const std::string& text) {
  std::vector<std::string> headings;
  std::istringstream lines(text);
  bool first = true;
  for (std::string line; std::getline(lines, line);) {
    if (first) headings.push_back(line);
    first = line.empty();
  }
  return headings;
}

TEST(PlanTableTest, SectionsInOrder) {
  EXPECT_THAT(
      Headings(RenderPlanTable(ExamplePlan())),
      ::testing::ElementsAre(
          "Tiny MoE (tiny) on vllm@9.9.9 · TP2 × PP2 (5,4) · 2 nodes × 2 Toy 16",
          "Memory at a glance", "Checkpoint", "Memory of one rank, GiB", "KV cache",
          "Activations at their peak", "Window", "Host memory, pinned", "Shard files of each node",
          "Defaults taken by vllm@9.9.9", "Findings", "Launch on node 0", "Launch on node 1",
          "fits: 2.000 GiB to spare on rank 0, the fullest; 2 requests of 524,288 tokens at "
          "once (2.36×)"));
}

TEST(PlanTableTest, IllegalLayoutsHaveNoRanks) {
  EXPECT_THAT(Headings(RenderPlanTable(IllegalPlan())),
              ::testing::ElementsAre(HasSubstr("Tiny MoE"), "Memory at a glance", "Checkpoint",
                                     "Defaults taken by vllm@9.9.9", "Findings",
                                     HasSubstr("illegal layout: ")));
}

TEST(PlanTableTest, AnEmptyPlanIsNoCrash) {
  EXPECT_THAT(RenderPlanTable(Plan()), HasSubstr("illegal layout: no layout of this kind exists"));
}

TEST(PlanTableTest, FitsItsWidth) {
  Plan plan = ShortPlan();
  plan.source = "/" + std::string(300, 'x');
  plan.launch.clear();
  plan.findings.push_back({"id", Severity::kNote, std::string(90, 's'), std::string(300, 'm'), ""});
  for (const int width : {100, 120}) {
    TableOptions options;
    options.width = width;
    options.verbose = true;
    std::istringstream lines(RenderPlanTable(plan, options));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(DisplayWidth(line), static_cast<size_t>(width)) << line;
    }
  }
}

TEST(PlanTableTest, HostileNamesStayTame) {
  Plan plan = ExamplePlan();
  plan.source = "/models/\x1b[2J\nfits: yes\xff";
  plan.architecture = "A\x07";
  plan.family = "f\n";
  plan.gpu_name = "G\x1b";
  plan.engine_version = "\r";
  plan.files[0].shards = {"s\n.safetensors"};
  plan.activations[0].binding = "b\n";
  plan.defaults = {{"a\n", "b\x1b"}};
  for (LaunchPlan& launch : plan.launch) launch.argv[2] = plan.source;
  TableOptions options;
  options.verbose = true;
  const std::string text = RenderPlanTable(plan, options);
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << +c;
  EXPECT_THAT(text, Not(HasSubstr("\nfits: yes")));
  EXPECT_THAT(text, HasSubstr("vllm serve $'/models/\\x1b[2J\\nfits: yes\\xff' \\\n"));
}

TEST(PlanTableTest, VerboseTellsSources) {
  TableOptions options;
  EXPECT_THAT(RenderPlanTable(ExamplePlan(), options), Not(HasSubstr("Where the numbers")));
  options.verbose = true;
  EXPECT_THAT(RenderPlanTable(ExamplePlan(), options), HasSubstr("Where the numbers come from\n"));
}

TEST(PlanTableTest, ColourIsForTheVerdictAlone) {
  TableOptions options;
  EXPECT_THAT(RenderPlanTable(ExamplePlan(), options), Not(HasSubstr("\x1b")));
  options.color = true;
  const std::string text = RenderPlanTable(ExamplePlan(), options);
  EXPECT_EQ(text.find('\x1b'), text.rfind("\x1b[1;32mfits"));
}

}  // namespace
}  // namespace shardplan
