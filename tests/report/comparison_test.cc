#include "shardplan/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/example_plan.h"
#include "report/text.h"
#include "shardplan/report/plan_json.h"

namespace shardplan {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;
using testing_support::ExamplePlan;
using testing_support::GiB;
using testing_support::IllegalPlan;
using testing_support::ShortPlan;

std::vector<Variant> Mixed() {
  return {
      {{{"tp", "2"}}, ExamplePlan()}, {{{"tp", "4"}}, ShortPlan()}, {{{"tp", "7"}}, IllegalPlan()}};
}

void ExpectWidth(const std::string& text, size_t width) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
}

TEST(ComparisonTableTest, AColumnForEachVariant) {
  const std::string text = RenderComparisonTable(Mixed());
  EXPECT_THAT(text, StartsWith("Tiny MoE (tiny): 3 variants of tp\n\n"));
  EXPECT_THAT(text, HasSubstr("  verdict        fits  does not fit  illegal\n"));
  EXPECT_THAT(text, HasSubstr("; weights 8.000 GiB in the budget; activations "));
  EXPECT_THAT(text,
              HasSubstr("\nVerdicts\n  1  fits: 2.000 GiB to spare on rank 0, the fullest; "));
  EXPECT_THAT(text, HasSubstr("\n  2  does not fit: kv_cache on rank 1 is short by 3.250 GiB; "));
  EXPECT_THAT(text, HasSubstr("\n  3  illegal layout: --tensor-parallel-size 7: "));
  EXPECT_THAT(text, EndsWith("\n1 of 3 variants fits: 1; most requests at once in 1: 2.36×\n"));
  ExpectWidth(text, 100);
}

TEST(ComparisonTableTest, WhatIsTheSameIsToldOnce) {
  std::vector<Variant> variants = {{{{"tp", "2"}}, ExamplePlan()}, {{{"tp", "4"}}, ExamplePlan()}};
  variants[1].plan.kv->tokens = 7;
  const std::string text = RenderComparisonTable(variants);
  EXPECT_THAT(text, HasSubstr("Same in all: engine vllm@9.9.9; layout TP2 × PP2 (5,4); "));
  EXPECT_THAT(text, HasSubstr("weights 8.000 GiB in the budget;"));
  EXPECT_THAT(text, Not(HasSubstr("\n  weights ")));
  EXPECT_THAT(text, HasSubstr("KV cache\n  tokens   1,234,955     7\n"));
  EXPECT_THAT(text, EndsWith("\nboth variants fit; most requests at once in 1: 2.36×\n"));
}

TEST(ComparisonTableTest, BlocksWhereTheLineIsFull) {
  std::vector<Variant> variants;
  for (int i = 0; i < 16; ++i) {
    variants.push_back({{{"block-size", std::to_string(16 << i)}}, ExamplePlan()});
    variants.back().plan.kv->tokens = 1'000'000 + i;
  }
  for (const int width : {60, 100}) {
    TableOptions options;
    options.width = width;
    const std::string text = RenderComparisonTable(variants, options);
    ExpectWidth(text, static_cast<size_t>(width));
    EXPECT_THAT(text, HasSubstr("1,000,015"));
  }
}

TEST(ComparisonTableTest, OneVariantIsShownWhole) {
  const std::string text = RenderComparisonTable({{{{"tp", "2"}}, ExamplePlan()}});
  EXPECT_THAT(text, HasSubstr("\n  weights "));
  EXPECT_THAT(text, Not(HasSubstr("Same in all")));
  EXPECT_THAT(text, EndsWith("\nthe variant fits\n"));
}

TEST(ComparisonTableTest, HowManyFit) {
  const Variant fits = {{{"tp", "2"}}, ExamplePlan()};
  EXPECT_THAT(RenderComparisonTable({fits, fits, fits}),
              EndsWith("\nall 3 variants fit; most requests at once in 1: 2.36×\n"));
  EXPECT_THAT(RenderComparisonTable({{{{"tp", "4"}}, ShortPlan()}}),
              EndsWith("\nthe variant does not fit\n"));
}

TEST(ComparisonTableTest, NoneFits) {
  const std::vector<Variant> variants = {{{{"tp", "4"}}, ShortPlan()},
                                         {{{"tp", "7"}}, IllegalPlan()}};
  EXPECT_THAT(RenderComparisonTable(variants), EndsWith("\nnone of 2 variants fits\n"));
  TableOptions color;
  color.color = true;
  EXPECT_THAT(RenderComparisonTable(variants, color),
              EndsWith("\n\x1b[1;31mnone of 2 variants fits\x1b[0m\n"));
}

TEST(ComparisonTableTest, HostileNamesStayOnTheirLine) {
  std::vector<Variant> variants = Mixed();
  variants[0].options[0].second = "a\nb\x1b[2J";
  variants[0].plan.family = "f\x1b";
  EXPECT_THAT(RenderComparisonTable(variants), Not(HasSubstr("\x1b")));
}

TEST(ComparisonJsonTest, ThePlansAndWhatSetsThemApart) {
  const std::vector<Variant> variants = Mixed();
  const Json d = Json::parse(RenderComparisonJson(variants));
  EXPECT_EQ(d["schema_version"], 1);
  ASSERT_EQ(d["plans"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    Json plan = d["plans"][i];
    EXPECT_EQ(plan["variant"], (Json{{"tp", variants[i].options[0].second}}));
    plan.erase("variant");
    EXPECT_EQ(plan, Json::parse(RenderPlanJson(variants[i].plan)));
  }
  EXPECT_THAT(
      RenderComparisonYaml(variants),
      StartsWith("schema_version: 1\nplans:\n  - schema_version: 1\n    verdict: \"fits\"\n"));
}

}  // namespace
}  // namespace shardplan
