#include "cli/sweep_options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using testing_support::Outcome;
using testing_support::RunProgram;

std::string ErrorOf(const std::vector<std::string>& texts) {
  const auto request = ParseSweep(texts);
  if (request) return "read";
  EXPECT_EQ(request.error().code, ErrorCode::kUsage);
  return request.error().ToString();
}

TEST(SweepOptionsTest, CountsAreIntegersAndFractionsAreNot) {
  const auto request =
      ParseSweep({"max-model-len=32K,64k,1000", "gpu-memory-utilization=0.85,0.9"});
  ASSERT_TRUE(request.has_value()) << request.error().ToString();
  ASSERT_EQ(request->as_numbers.size(), 2U);
  const SweepAxis& windows = request->as_numbers[0];
  EXPECT_EQ(windows.option, "max-model-len");
  EXPECT_EQ(std::get<int64_t>(windows.values[0].number), 32'768);
  EXPECT_EQ(std::get<int64_t>(windows.values[1].number), 64'000);
  EXPECT_EQ(std::get<int64_t>(windows.values[2].number), 1000);
  EXPECT_EQ(windows.values[0].text, "32K");
  EXPECT_DOUBLE_EQ(std::get<double>(request->as_numbers[1].values[0].number), 0.85);
  EXPECT_EQ(request->axes[1].values.size(), 2U);
}

TEST(SweepOptionsTest, EveryKindOfNumber) {
  for (const char* text :
       {"tensor-parallel-size=1,2", "tp=8", "nodes=1,2", "cpu-offload-gb=0,8.5,32",
        "gpu-memory-in-use=1GiB,2GB", "kv-cache-memory-bytes=20G,30G", "max-num-seqs=1,256",
        "block-size=16,32", "require-concurrency=1,2", "typical-tokens=1K,2K",
        "max-num-batched-tokens=2K;8K"}) {
    EXPECT_EQ(ErrorOf({text}), "read") << text;
  }
}

TEST(SweepOptionsTest, WrongSweeps) {
  EXPECT_EQ(ErrorOf({"kv-cache-dtype=auto,fp8"}),
            "--sweep kv-cache-dtype: expected an option that takes a number, such as "
            "max-model-len, max-num-batched-tokens, gpu-memory-utilization or "
            "tensor-parallel-size; shardplan compare --vary kv-cache-dtype=… takes any");
  for (const char* text : {"pp-partition=48,45", "pp-partition=48,45;47,46", "pp-partition"}) {
    EXPECT_EQ(ErrorOf({text}),
              "--sweep pp-partition: expected an option that takes a number, such as "
              "max-model-len, max-num-batched-tokens, gpu-memory-utilization or "
              "tensor-parallel-size, found one that takes lists; shardplan compare --vary "
              "'pp-partition=A,B;C,D' takes lists, with a semicolon between them");
  }
  EXPECT_EQ(ErrorOf({"enforce-eager=true,false"})
                .find("--sweep enforce-eager: expected an option "
                      "that takes a number"),
            0U);
  EXPECT_EQ(ErrorOf({"tp=1,2", "pp=1,2", "dp=1,2"}),
            "--sweep: expected at most 2 options, found 3; shardplan compare --vary takes more");
  EXPECT_EQ(ErrorOf({"max-model-len"}),
            "--sweep max-model-len: expected OPTION=A,B,…; such as tensor-parallel-size=8,16");
  EXPECT_EQ(ErrorOf({"max-model-length=1K"}),
            "--sweep max-model-length: unknown option; did you mean max-model-len?");
  EXPECT_EQ(ErrorOf({"max-model-len=32K,32768"}),
            "--sweep max-model-len=32768: expected different values, found 32K as well");
  EXPECT_EQ(ErrorOf({"max-model-len=32K,auto"})
                .find("--sweep max-model-len=auto: expected a "
                      "number of tokens"),
            0U);
  EXPECT_EQ(ErrorOf({"gpu-memory-utilization=0.9,high"})
                .find("--sweep gpu-memory-utilization=high: expected "),
            0U);
}

constexpr char kSweepPlan[] = "plan tiny-dense --gpu a10-24 ";

// A cell is the plan that its options make.
TEST(SweepCommandTest, CellsAreThePlans) {
  const Outcome outcome = RunProgram(std::string(kSweepPlan) +
                                     "--format json --sweep tp=1,2,3 --sweep max-model-len=1K,2K");
  EXPECT_EQ(outcome.code, 1);  // three ranks are illegal
  EXPECT_EQ(outcome.err, "");
  const OrderedJson d = OrderedJson::parse(outcome.out);
  ASSERT_EQ(d["cells"].size(), 6U);
  for (const OrderedJson& cell : d["cells"]) {
    const OrderedJson plan = OrderedJson::parse(
        RunProgram(std::string(kSweepPlan) + "--format json --tp " + cell["at"]["tp"].dump() +
                   " --max-model-len " + cell["at"]["max-model-len"].dump())
            .out);
    EXPECT_EQ(cell["verdict"], plan["verdict"]);
    EXPECT_EQ(cell["kv_cache"], plan["kv_cache"]);
    if (plan["verdict"] == "illegal") {
      EXPECT_TRUE(cell["headroom_bytes"].is_null());
      continue;
    }
    OrderedJson least = plan["ranks"][0]["headroom_bytes"];
    for (const OrderedJson& rank : plan["ranks"]) least = std::min(least, rank["headroom_bytes"]);
    EXPECT_EQ(cell["headroom_bytes"], least);
  }
}

TEST(SweepCommandTest, TheExitCodeIsOfAllCells) {
  EXPECT_EQ(RunProgram(std::string(kSweepPlan) + "--sweep tp=1,2").code, 0);
  EXPECT_EQ(RunProgram(std::string(kSweepPlan) + "--sweep require-concurrency=1,65000").code, 1);
}

// What one cell cannot be asked does not hide the others; what none can is an error.
TEST(SweepCommandTest, AValueThatOneCellRefuses) {
  const std::string run = std::string(kSweepPlan) + "--output-tokens 2K --format json ";
  const Outcome outcome = RunProgram(run + "--sweep max-model-len=1K,4K");
  EXPECT_EQ(outcome.code, 1);
  const OrderedJson d = OrderedJson::parse(outcome.out);
  EXPECT_EQ(d["cells"][0]["verdict"], "illegal");
  EXPECT_EQ(d["cells"][0]["reason"],
            "--output-tokens 2048: expected a number from 1 to 1,023, less than the window; input "
            "and output share --max-model-len");
  EXPECT_EQ(d["cells"][1]["verdict"], "fits");
  const Outcome none = RunProgram(run + "--sweep max-model-len=1K,2K");
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.out, "");
}

TEST(SweepCommandTest, UsageErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"--sweep", "--sweep: expected a value, found nothing"},
      {"--tp 2 --sweep tp=1,2", "--sweep tp: --tp is given as well; leave one of them out"},
      {"--sweep tp=1,2 --sweep tensor-parallel-size=1,2",
       "--sweep tensor-parallel-size: expected once, found twice; list all its values together"},
      {"--sweep tp=0,2", "--sweep tp=0: expected a whole number, at least 1"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = RunProgram(std::string(kSweepPlan) + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(outcome.err, std::string("shardplan: error: ") + message + "\n") << arguments;
  }
  std::string many = "--sweep max-num-seqs=1";
  for (int i = 2; i <= 33; ++i) many += "," + std::to_string(i);
  std::string more = " --sweep max-num-batched-tokens=1000";
  for (int i = 1001; i <= 1032; ++i) more += "," + std::to_string(i);
  EXPECT_EQ(RunProgram(kSweepPlan + many + more).err,
            "shardplan: error: variants: expected at most 1,024, found 1,089 (33 × 33); give fewer "
            "values at a time\n");
  EXPECT_EQ(RunProgram("plan --sweep tp=1,2").code, 2);
  EXPECT_EQ(RunProgram("plan nowhere --gpu a10-24 --sweep tp=1,2").code, 4);
}

}  // namespace
}  // namespace shardplan::cli
