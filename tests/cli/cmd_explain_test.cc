#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
using testing_support::Outcome;
using testing_support::RunProgram;

constexpr char kExplained[] = "tiny-dense --gpu a10-24 --tp 2 --pp 2";

// Every total of the ledger can be explained, and the explanation sums to it.
TEST(ExplainCommandTest, SumsToTheLedger) {
  const Json plan = Json::parse(RunProgram(std::string("plan --format json ") + kExplained).out);
  for (const int rank : {0, 3}) {
    std::map<std::string, int64_t> totals;
    for (const Json& entry : plan["ranks"][static_cast<size_t>(rank)]["ledger"]) {
      totals[entry["account"]] += entry["bytes"].get<int64_t>();
    }
    for (const auto& [account, bytes] : totals) {
      const Outcome outcome =
          RunProgram(std::string("explain ") + kExplained + " --format json --rank " +
                     std::to_string(rank) + " --account " + account);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      const Json d = Json::parse(outcome.out);
      int64_t sum = 0;
      for (const Json& item : d["items"]) sum += item["bytes"].get<int64_t>();
      EXPECT_EQ(d["rank"], rank);
      EXPECT_EQ(d["account"], account);
      EXPECT_EQ(d["bytes"], bytes) << account;
      EXPECT_EQ(sum, bytes) << account;
    }
  }
}

TEST(ExplainCommandTest, OffloadIsAnItem) {
  const std::string what = std::string(kExplained) + " --cpu-offload-gb 0.01 --format json";
  const Json plan = Json::parse(RunProgram("plan " + what).out);
  const Json d = Json::parse(RunProgram("explain " + what).out);
  EXPECT_EQ(d["bytes"], plan["ranks"][0]["weights_bytes"]);
  EXPECT_EQ(d["items"].back()["name"], "offloaded to host memory");
  EXPECT_EQ(d["items"].back()["bytes"], -plan["ranks"][0]["offloaded_bytes"].get<int64_t>());
}

TEST(ExplainCommandTest, Table) {
  const Outcome outcome = RunProgram(std::string("explain ") + kExplained + " --rank 2");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("weights of rank 2: "));
  EXPECT_THAT(outcome.out, HasSubstr("÷ TP 2"));
}

TEST(ExplainCommandTest, UsageErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"tiny-dense --gpu a10-24 --rank 1", "--rank 1: expected a rank from 0 to 0"},
      {"tiny-dense --gpu a10-24 --rank -1", "--rank -1: expected a whole number, at least 0"},
      {"tiny-dense --gpu a10-24 --account weight",
       "--account weight: expected an account of the ledger; did you mean weights?"},
      {"tiny-dense --gpu a10-24 --account zzz",
       "--account zzz: expected an account of the ledger; one of driver_reserved, "
       "in_use_by_others, cuda_context, communication, weights, activations, cuda_graphs, "
       "workspace, kv_cache, state_cache, headroom"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = RunProgram(std::string("explain ") + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.err, std::string("shardplan: error: ") + message + "\n") << arguments;
  }
}

TEST(ExplainCommandTest, AnIllegalLayoutIsAnAnswer) {
  const Outcome outcome = RunProgram("explain tiny-dense --gpu a10-24 --tp 3");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("\nillegal layout: "));
  EXPECT_THAT(outcome.out,
              HasSubstr("Total number of attention heads (16) must be\n    divisible by tensor"));
}

}  // namespace
}  // namespace shardplan::cli
