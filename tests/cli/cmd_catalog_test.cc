#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_program.h"
#include "report/text.h"

namespace shardplan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
using testing_support::Outcome;
using testing_support::RunProgram;

TEST(CatalogCommandTest, EveryKindInEveryFormat) {
  for (const std::string kind : {"gpus", "nodes", "engines", "families", "issues"}) {
    const Outcome table = RunProgram("catalog " + kind);
    EXPECT_EQ(table.code, 0) << kind << table.err;
    std::istringstream lines(table.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100U) << line;
    const Json d = Json::parse(RunProgram("catalog " + kind + " --format json").out);
    EXPECT_EQ(d["schema_version"], 1);
    EXPECT_GE(d[kind].size(), 2U) << kind;
    EXPECT_THAT(RunProgram("catalog " + kind + " --format yaml").out,
                StartsWith("schema_version: 1\n" + kind + ":\n  - "));
  }
}

TEST(CatalogCommandTest, KnowsWhatPlansNeed) {
  EXPECT_THAT(RunProgram("catalog gpus").out, HasSubstr("\nh20-96 "));
  EXPECT_THAT(RunProgram("catalog nodes").out, HasSubstr("hgx-8 "));
  EXPECT_THAT(RunProgram("catalog engines").out, HasSubstr("\nvllm@0.8.0 "));
  EXPECT_THAT(RunProgram("catalog engines").out, HasSubstr("  the default: plain vllm\n"));
  EXPECT_THAT(RunProgram("catalog issues").out, HasSubstr("\nkimi-k3-fp8-kv-hopper "));
  EXPECT_THAT(RunProgram("catalog families").out, HasSubstr("KimiK3ForConditionalGeneration\n"));
}

TEST(CatalogCommandTest, UsageErrors) {
  EXPECT_EQ(RunProgram("catalog").code, 2);
  EXPECT_EQ(RunProgram("catalog").err,
            "shardplan: error: KIND: expected what to list, found none; give "
            "gpus, nodes, engines, families or issues\n");
  EXPECT_EQ(RunProgram("catalog gpu").err,
            "shardplan: error: gpu: expected gpus, nodes, engines, families "
            "or issues; did you mean gpus?\n");
  EXPECT_EQ(RunProgram("catalog no-such-kind").code, 2);
}

}  // namespace
}  // namespace shardplan::cli
