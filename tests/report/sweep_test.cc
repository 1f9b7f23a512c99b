#include "shardplan/report/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/example_plan.h"
#include "report/text.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;
using testing_support::ExamplePlan;
using testing_support::GiB;
using testing_support::IllegalPlan;
using testing_support::ShortPlan;

SweepAxis Windows() {
  return {"max-model-len", {{"32K", int64_t{32'768}}, {"64K", int64_t{65'536}}}};
}

SweepAxis Fractions() { return {"gpu-memory-utilization", {{"0.8", 0.8}, {"0.90", 0.9}}}; }

Plan UnsurePlan() {
  Plan plan = ExamplePlan();
  plan.verdict_high = Verdict::kDoesNotFit;
  plan.kv->max_concurrency = 4.5;
  return plan;
}

Sweep Matrix() {
  Sweep sweep{"a title", {Windows(), Fractions()}, {}};
  for (const Plan& plan : {ExamplePlan(), ShortPlan(), IllegalPlan(), UnsurePlan()}) {
    sweep.cells.push_back(MakeSweepCell(plan));
  }
  return sweep;
}

void ExpectSweepWidth(const std::string& text, size_t width) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
}

TEST(SweepCellTest, HasTheLeastHeadroomOfAllRanks) {
  const SweepCell cell = MakeSweepCell(ExamplePlan());
  EXPECT_EQ(cell.verdict, Verdict::kFits);
  EXPECT_FALSE(cell.unsure);
  EXPECT_EQ(cell.headroom, GiB(2));  // stage 1 has three
  EXPECT_EQ(cell.kv->num_blocks, 2048);
  EXPECT_EQ(cell.reason, "");
}

TEST(SweepCellTest, SaysWhy) {
  EXPECT_EQ(MakeSweepCell(ShortPlan()).reason, "rank 1 (stage 0): vLLM would say: no room.");
  const SweepCell cell = MakeSweepCell(IllegalPlan());
  EXPECT_THAT(cell.reason, StartsWith("--tensor-parallel-size 7: Total number of attention"));
  EXPECT_FALSE(cell.kv.has_value());
  EXPECT_FALSE(cell.headroom.has_value());
  EXPECT_TRUE(MakeSweepCell(UnsurePlan()).unsure);
}

TEST(SweepTableTest, AMatrixForEachFigure) {
  const std::string text = RenderSweepTable(Matrix());
  EXPECT_EQ(
      text,
      "a title\n"
      "\n"
      "max-model-len down, gpu-memory-utilization across\n"
      "\n"
      "Capacity, tokens\n"
      "             0.8         0.90\n"
      "  32K  1,234,955    1,234,955 ✗\n"
      "  64K          –    1,234,955 ?\n"
      "\n"
      "Concurrency at the full window\n"
      "         0.8     0.90\n"
      "  32K  2.36×    2.36× ✗\n"
      "  64K      –    4.50× ?\n"
      "\n"
      "Headroom, GiB, the least of all ranks\n"
      "         0.8     0.90\n"
      "  32K  2.000    2.000 ✗\n"
      "  64K      –    2.000 ?\n"
      "  ✗ does not fit; ? fits, but not at the dear end of the ranges; – illegal\n"
      "\n"
      "illegal at max-model-len=64K, gpu-memory-utilization=0.8: --tensor-parallel-size 7: "
      "Total number of\n"
      "  attention heads (96) must be divisible by tensor parallel size (7).\n"
      "does not fit at max-model-len=32K, gpu-memory-utilization=0.90: rank 1 (stage 0): vLLM "
      "would say: no\n"
      "  room.\n"
      "\n"
      "2 of 4 cells fit; most requests at once at max-model-len=64K, "
      "gpu-memory-utilization=0.90: 4.50×\n");
}

TEST(SweepTableTest, NoMarksWhereAllFits) {
  Sweep sweep{"a title", {Windows(), Fractions()}, {}};
  for (int i = 0; i < 4; ++i) sweep.cells.push_back(MakeSweepCell(ExamplePlan()));
  const std::string text = RenderSweepTable(sweep);
  EXPECT_THAT(text, HasSubstr("\nCapacity, tokens\n             0.8       0.90\n"));
  EXPECT_THAT(text, Not(HasSubstr("✗")));
  EXPECT_THAT(text, HasSubstr("\n  64K  2.000  2.000\n\nall 4 cells fit; "));
}

TEST(SweepTableTest, OneAxisIsATable) {
  Sweep sweep{"a title", {Windows()}, {MakeSweepCell(UnsurePlan()), MakeSweepCell(IllegalPlan())}};
  EXPECT_THAT(
      RenderSweepTable(sweep),
      StartsWith("a title\n"
                 "\n"
                 "  max-model-len  verdict  blocks  capacity, tokens  full windows  headroom, GiB\n"
                 "  32K             fits ?   2,048         1,234,955         4.50×          2.000\n"
                 "  64K            illegal       –                 –             –              –\n"
                 "  ? fits, but not at the dear end of the ranges\n"
                 "\n"
                 "illegal at max-model-len=64K: "));
  sweep.cells[0].kv->typical_concurrency = 12.5;
  EXPECT_THAT(RenderSweepTable(sweep), HasSubstr("full windows  typical  headroom, GiB\n"));
  EXPECT_THAT(RenderSweepTable(sweep), HasSubstr("        4.50×   12.50×          2.000\n"));
}

TEST(SweepTableTest, ReasonsAreToldOnce) {
  Sweep sweep{"a title", {Windows(), Fractions()}, {}};
  for (int i = 0; i < 4; ++i) sweep.cells.push_back(MakeSweepCell(IllegalPlan()));
  const std::string text = RenderSweepTable(sweep);
  EXPECT_THAT(text, HasSubstr("\nillegal at max-model-len=32K, gpu-memory-utilization=0.8 and in 3 "
                              "cells more: "));
  EXPECT_THAT(text, EndsWith("\nnone of 4 cells fits\n"));
}

// Figures differ from cell to cell: one is told, the others are counted.
TEST(SweepTableTest, TheFirstCellThatIsShortSaysOfWhat) {
  Sweep sweep{"a title", {Windows()}, {MakeSweepCell(ShortPlan()), MakeSweepCell(ShortPlan())}};
  EXPECT_THAT(RenderSweepTable(sweep),
              HasSubstr("\ndoes not fit at max-model-len=32K: rank 1 (stage 0): vLLM would say: no "
                        "room.; so with 1 cell more\n"));
}

TEST(SweepTableTest, WideMatricesAreCut) {
  Sweep sweep{"a title", {Windows(), {"max-num-seqs", {}}}, {}};
  for (int64_t i = 1; i <= 16; ++i) sweep.axes[1].values.push_back({std::to_string(i), i});
  for (int i = 0; i < 32; ++i) sweep.cells.push_back(MakeSweepCell(ExamplePlan()));
  const std::string text = RenderSweepTable(sweep);
  ExpectSweepWidth(text, 100);
  EXPECT_THAT(text, HasSubstr(" 16\n  32K  "));
}

TEST(SweepTableTest, UntrustedNamesAndColour) {
  Sweep sweep{"a title", {Windows()}, {MakeSweepCell(ExamplePlan()), MakeSweepCell(IllegalPlan())}};
  sweep.axes[0].values[0].text = "3\x1b[2J";
  sweep.cells[1].reason = "bad\nnews";
  const std::string plain = RenderSweepTable(sweep);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  TableOptions options;
  options.color = true;
  EXPECT_THAT(RenderSweepTable(sweep, options), EndsWith("\x1b[0m\n"));
}

TEST(SweepTitleTest, TellsWhatDoesNotVary) {
  EXPECT_EQ(SweepTitle(ExamplePlan(), {Windows(), Fractions()}),
            "Tiny MoE (tiny) on vllm@9.9.9 · TP2 × PP2 (5,4) · Toy 16: 4 cells of max-model-len × "
            "gpu-memory-utilization");
  const SweepAxis sizes{"tp", {{"1", int64_t{1}}}};
  EXPECT_EQ(SweepTitle(ExamplePlan(), {sizes}),
            "Tiny MoE (tiny) on vllm@9.9.9 · Toy 16: 1 cell of tp");
}

TEST(SweepJsonTest, FollowsTheContract) {
  const Json d = Json::parse(RenderSweepJson(Matrix()));
  EXPECT_EQ(d["schema_version"], 1);
  EXPECT_EQ(d["axes"].dump(), R"([{"option":"max-model-len","values":[32768,65536]},)"
                              R"({"option":"gpu-memory-utilization","values":[0.8,0.9]}])");
  ASSERT_EQ(d["cells"].size(), 4U);
  EXPECT_EQ(d["cells"][1]["at"].dump(), R"({"max-model-len":32768,"gpu-memory-utilization":0.9})");
  EXPECT_EQ(d["cells"][2]["at"].dump(), R"({"max-model-len":65536,"gpu-memory-utilization":0.8})");
  EXPECT_EQ(d["cells"][0]["verdict"], "fits");
  EXPECT_EQ(d["cells"][0]["headroom_bytes"], GiB(2).count());
  EXPECT_EQ(d["cells"][0]["kv_cache"]["num_blocks"], 2048);
  EXPECT_TRUE(d["cells"][0]["reason"].is_null());
  EXPECT_EQ(d["cells"][1]["verdict"], "does_not_fit");
  EXPECT_EQ(d["cells"][2]["verdict"], "illegal");
  EXPECT_TRUE(d["cells"][2]["kv_cache"].is_null());
  EXPECT_TRUE(d["cells"][2]["headroom_bytes"].is_null());
  EXPECT_THAT(RenderSweepYaml(Matrix()), HasSubstr("max-model-len: 32768\n"));
}

// Two engines of 3 requests hold more than one of 5.
TEST(SweepTableTest, TheMostRequestsAreThoseOfAllEngines) {
  Sweep sweep;
  sweep.title = "t";
  sweep.axes = {{"dp", {{"1", int64_t{1}}, {"2", int64_t{2}}}}};
  for (const int64_t engines : {1, 2}) {
    SweepCell cell;
    cell.verdict = Verdict::kFits;
    cell.engines = engines;
    cell.kv.emplace();
    cell.kv->max_concurrency = engines == 1 ? 5 : 3;
    cell.headroom = Bytes();
    sweep.cells.push_back(cell);
  }
  EXPECT_NE(RenderSweepTable(sweep, TableOptions()).find("at dp=2: 6.00× on 2 engines"),
            std::string::npos)
      << RenderSweepTable(sweep, TableOptions());
}

}  // namespace
}  // namespace shardplan
