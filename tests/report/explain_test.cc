#include "shardplan/report/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/example_plan.h"
#include "report/text.h"

namespace shardplan {
namespace {

using Json = nlohmann::ordered_json;
using testing_support::ExampleRank;
using testing_support::GiB;

Explanation Weights() {
  const RankPlan rank = ExampleRank({2, 1, 0, 1, 0, 0, 0});
  return ExplanationOfWeights(
      rank, {{"norm.weight", "replicated", "[7168]", 1, Bytes(14'336), Basis::kExact, "norm, BF16"},
             {"model.layers.*.w13_weight", "all 896 experts", "[896, 768, 1792]", 4, GiB(7.5),
              Basis::kExact, "routed_expert, U8"},
             {"buffer", "a rotary cache", "", 1, GiB(0.5) - Bytes(14'336), Basis::kDerived, ""}});
}

TEST(ExplanationTest, WeightsSumToWhatIsResident) {
  const Explanation weights = Weights();
  EXPECT_EQ(weights.rank, 2);
  EXPECT_EQ(weights.account, "weights");
  EXPECT_EQ(weights.bytes, GiB(7));
  ASSERT_EQ(weights.items.size(), 4U);
  EXPECT_EQ(weights.items[0].name, "model.layers.*.w13_weight");
  EXPECT_EQ(weights.items[0].arithmetic, "4 × 2,013,265,920 B");
  EXPECT_EQ(weights.items[3].name, "offloaded to host memory");
  EXPECT_EQ(weights.items[3].bytes, -GiB(1));
}

TEST(ExplanationTest, OtherAccountsAreTheirEntries) {
  const RankPlan rank = ExampleRank({0, 0, 0, 0, 0, 0, 0});
  const Explanation context = ExplanationOfAccount(rank, Account::kCudaContext);
  EXPECT_EQ(context.bytes, GiB(0.5));
  ASSERT_EQ(context.items.size(), 1U);
  EXPECT_EQ(context.items[0].rule, "outside the engine's budget");
  EXPECT_EQ(context.items[0].arithmetic, "536,870,912 B (268,435,456 B to 1,073,741,824 B)");
  EXPECT_EQ(ExplanationOfAccount(rank, Account::kHeadroom).items.size(), 2U);
}

TEST(ExplanationTest, Table) {
  EXPECT_EQ(RenderExplanationTable(Weights()),
            "weights of rank 2: 7,516,192,768 B = 7.000 GiB\n"
            "   7.500 GiB  model.layers.*.w13_weight\n"
            "              4 × 2,013,265,920 B · [896, 768, 1792] · all 896 experts\n"
            "              exact: routed_expert, U8\n"
            "   512.0 MiB  buffer\n"
            "              536,856,576 B · a rotary cache\n"
            "              derived\n"
            "    14.0 KiB  norm.weight\n"
            "              14,336 B · [7168] · replicated\n"
            "              exact: norm, BF16\n"
            "  -1.000 GiB  offloaded to host memory\n"
            "              -1,073,741,824 B · whole parameters in the engine's order until the "
            "budget is passed\n"
            "              derived: --cpu-offload-gb\n");
}

TEST(ExplanationTest, AnAccountWithoutEntries) {
  const RankPlan rank = ExampleRank({0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(RenderExplanationTable(ExplanationOfAccount(rank, Account::kWorkspace)),
            "workspace of rank 0: 0 B = 0.000 GiB\n"
            "  nothing: the rank's ledger has no such entry\n");
}

TEST(ExplanationTest, TablesFitAndStayTame) {
  Explanation hostile = Weights();
  hostile.items[0].name = std::string(200, 'n') + "\n\x1b";
  hostile.items[0].rule = std::string(300, 'r');
  hostile.items[0].source = "\n";
  const std::string text = RenderExplanationTable(hostile);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100U) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ExplanationTest, Json) {
  const Json d = Json::parse(RenderExplanationJson(Weights()));
  EXPECT_EQ(d["schema_version"], 1);
  EXPECT_EQ(d["rank"], 2);
  EXPECT_EQ(d["account"], "weights");
  int64_t sum = 0;
  for (const Json& item : d["items"]) sum += item["bytes"].get<int64_t>();
  EXPECT_EQ(sum, d["bytes"]);
  EXPECT_EQ(d["items"][0], Json({{"name", "model.layers.*.w13_weight"},
                                 {"rule", "all 896 experts"},
                                 {"shape", "[896, 768, 1792]"},
                                 {"arithmetic", "4 × 2,013,265,920 B"},
                                 {"bytes", 8'053'063'680},
                                 {"basis", "exact"},
                                 {"source", "routed_expert, U8"}}));
  EXPECT_EQ(d["items"][1]["shape"], nullptr);
  EXPECT_THAT(RenderExplanationYaml(Weights()),
              ::testing::StartsWith("schema_version: 1\nrank: 2"));
}

}  // namespace
}  // namespace shardplan
