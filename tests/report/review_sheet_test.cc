#include "report/review_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing::Not;

Plan SheetExample() {
  Plan plan;
  plan.verdict = plan.verdict_low = plan.verdict_high = Verdict::kFits;
  plan.source = "/models/K3";
  plan.engine = "vllm";
  plan.engine_version = "0.31.0";
  plan.gpu_name = "NVIDIA H20";
  plan.nodes = 1;
  plan.gpus_per_node = 1;
  RankPlan rank;
  rank.device_total = Bytes(int64_t{100} << 30);
  rank.capacity = rank.device_total;
  rank.budget = Bytes(int64_t{90} << 30);
  Ledger ledger(rank.device_total, rank.capacity, Range(rank.budget));
  ledger.Add({Account::kWeights, true, Range(Bytes(int64_t{60} << 30)), Basis::kExact, "headers"});
  ledger.Add({Account::kCommunication, false,
              Range(Bytes(int64_t{1} << 30), Bytes(int64_t{2} << 30), Bytes(int64_t{3} << 30)),
              Basis::kAssumed, "NCCL channels"});
  ledger.Close();
  rank.ledger = ledger;
  plan.ranks.push_back(rank);
  return plan;
}

Bundle Files() {
  Bundle bundle;
  bundle.files = {{"node-0.sh", "x", true, "starts the engine"}};
  bundle.variables = {{"MASTER_ADDR", "address of node 0", "10.0.0.1", {}, false, false},
                      {"NCCL_IB_HCA", "adapters", "mlx5_0", {"mlx5_7"}, false, true}};
  bundle.assumptions = {"A start takes 600 s."};
  bundle.notes = {"Tags move."};
  return bundle;
}

TEST(ReviewSheetTest, SaysAllThatAReviewerAsks) {
  Plan plan = SheetExample();
  plan.findings = {{"layout.x", Severity::kWarning, "TP", "is wide", "make it narrow"}};
  const std::string text = RenderReviewSheet(plan, "docker", Files(), {},
                                             {"launch", "docker", "/models/K3", "-o", "out dir"});
  EXPECT_THAT(text, testing::StartsWith("# Review sheet: launch docker\n"));
  EXPECT_THAT(text, HasSubstr("\n## Verdict\n\n```text\nfits"));
  EXPECT_THAT(text, HasSubstr("- `node-0.sh`: starts the engine\n- `README.md`: "));
  EXPECT_THAT(text, HasSubstr("- `plan.json`: "));
  EXPECT_THAT(text, HasSubstr("nothing starts without them:\n\n- `MASTER_ADDR`: address of node 0, "
                              "such as `10.0.0.1`\n"));
  EXPECT_THAT(text, HasSubstr("Filled in:\n\n- `NCCL_IB_HCA`: adapters: `mlx5_7`\n"));
  EXPECT_THAT(text, HasSubstr("- Tags move.\n"));
  EXPECT_THAT(text, HasSubstr("weights"));
  EXPECT_THAT(text, HasSubstr("1.000 to 3.000"));
  EXPECT_THAT(text, HasSubstr("2.00 %  NCCL channels"));
  EXPECT_THAT(text, HasSubstr("stage 0: 3.2 %"));  // 2 of the 62 that are claimed
  EXPECT_THAT(text, HasSubstr("- A start takes 600 s.\n"));
  EXPECT_THAT(text, HasSubstr("layout.x"));
  EXPECT_THAT(text, HasSubstr("## What the plan does not promise"));
  EXPECT_THAT(text, HasSubstr("```text\nshardplan launch docker /models/K3\n```\n"));
  EXPECT_THAT(text, Not(HasSubstr("out dir")));
}

TEST(ReviewSheetTest, TheSameWhereverItIsWritten) {
  const auto sheet = [](const std::vector<std::string>& output) {
    std::vector<std::string> line = {"launch", "docker", "m"};
    line.insert(line.end() - 1, output.begin(), output.end());
    return RenderReviewSheet(SheetExample(), "docker", Files(), {}, line);
  };
  const std::string none = sheet({});
  EXPECT_EQ(sheet({"-o", "a"}), none);
  EXPECT_EQ(sheet({"-oa"}), none);
  EXPECT_EQ(sheet({"--output=a"}), none);
  EXPECT_EQ(sheet({"--output", "a"}), none);
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ReviewSheetTest, NoLineIsLongerThanAHundredColumns) {
  Bundle bundle = Files();
  std::string note = "Words";
  for (int i = 0; i < 60; ++i) note += " and more words";
  bundle.notes = {note};
  bundle.assumptions = {note};
  bundle.files[0].purpose = note;
  bundle.variables[0].what = note;
  std::vector<std::string> line = {"launch", "docker", "/models/K3"};
  for (int i = 0; i < 20; ++i) line.emplace_back("--env=NAME=a value");
  const std::string text = RenderReviewSheet(SheetExample(), "docker", bundle, {}, line);
  for (const std::string& shown : LinesOf(text)) EXPECT_LE(shown.size(), 100U) << shown;
  EXPECT_THAT(text, HasSubstr("- Words and more words and"));
  EXPECT_THAT(text, HasSubstr(" \\\n    '--env=NAME=a value'"));
}

// A line that a wrapped word begins must be no heading, list or fence of its own.
TEST(ReviewSheetTest, WrappedWordsBeginNothing) {
  for (const std::string word : {"#", "-", "+", "*", ">", "1.", "1)", "```", "~~~", "|", "==="}) {
    Bundle bundle = Files();
    std::string note = "Word";
    for (int i = 0; i < 99; ++i) note += " " + word;
    bundle.notes = {note};
    const std::string text =
        RenderReviewSheet(SheetExample(), "docker", bundle, {}, {"launch", "docker", "m"});
    EXPECT_THAT(text, HasSubstr("- " + note + "\n"));
  }
}

TEST(ReviewSheetTest, HostileTextStaysText) {
  Plan plan = SheetExample();
  plan.findings = {{"layout.x", Severity::kError, "a", "```\n# Not a heading", ""}};
  Bundle bundle = Files();
  bundle.variables[1].values = {"`x`\n# no"};
  const std::string text = RenderReviewSheet(
      plan, "docker", bundle, {{"launch.flag_unknown", Severity::kError, "--x", "is none", ""}},
      {"launch", "docker", "```\n# Not a heading either\n"});
  EXPECT_THAT(text, HasSubstr("launch.flag_unknown"));
  EXPECT_THAT(text, HasSubstr("````text\nshardplan launch docker $'```\\n# Not"));
  EXPECT_THAT(text, HasSubstr("`` `x`\\x0a# no ``"));
  size_t headings = 0;
  for (size_t at = 0; (at = text.find("\n# ", at)) != std::string::npos; ++at) ++headings;
  EXPECT_EQ(headings, 0U) << text;
}

}  // namespace
}  // namespace shardplan
