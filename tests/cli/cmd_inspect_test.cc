#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"
#include "support/checkpoint_builder.h"

namespace shardplan::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
using testing_support::CliData;
using testing_support::Outcome;
using testing_support::ReadText;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;
using testing_support::WriteText;

// A stand-in of tiny-moe; its only shard is model.safetensors.
class InspectCommandTest : public ::testing::Test {
 protected:
  InspectCommandTest() {
    const Outcome outcome = RunProgram("standin tiny-moe '" + model_ + "'");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }

  Outcome Inspect(const std::string& path, const std::string& rest = "") {
    return RunScript("shardplan inspect '" + path + "' " + rest, dir_.path());
  }

  // Refused as bad input, in one line that says so.
  void ExpectCorrupt(const std::string& path, const std::string& what) {
    const Outcome outcome = Inspect(path);
    EXPECT_EQ(outcome.code, 3) << what;
    EXPECT_EQ(outcome.out, "") << what;
    EXPECT_THAT(outcome.err, StartsWith("shardplan: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(what));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }

  TempDir dir_;
  std::string model_ = dir_.Path("a model");
  std::string shard_ = model_ + "/model.safetensors";
};

TEST_F(InspectCommandTest, EveryKindOfModel) {
  const auto size = static_cast<int64_t>(std::filesystem::file_size(shard_));
  for (const std::string& path : {model_, shard_}) {
    const Outcome outcome = Inspect(path, "--format json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const Json d = Json::parse(outcome.out);
    EXPECT_EQ(d["file_bytes"], size);
    EXPECT_EQ(d["payload_bytes"].get<int64_t>() + d["header_bytes"].get<int64_t>(), size);
    EXPECT_EQ(d["shards"].size(), 1U);
    EXPECT_EQ(d["shape_basis"], "exact");
  }
  const Json exact = Json::parse(Inspect(model_, "--format json").out);
  const Json derived = Json::parse(Inspect(model_ + "/config.json", "--format json").out);
  EXPECT_TRUE(derived["file_bytes"].is_null());
  EXPECT_TRUE(derived["header_bytes"].is_null());
  EXPECT_EQ(derived["shape_basis"], "derived");
  for (const char* key : {"tensors", "payload_bytes", "parameters", "active_parameters", "elements",
                          "by_dtype", "by_role", "layers", "largest"}) {
    EXPECT_EQ(exact[key], derived[key]) << key;
  }
}

// The index is enough where the shards are not there, and all of it where they are.
TEST_F(InspectCommandTest, AnIndex) {
  const std::string index = model_ + "/model.safetensors.index.json";
  if (!std::filesystem::exists(index)) {
    Json map = Json::object();
    std::string header = ReadText(shard_).substr(8);
    header.resize(header.rfind('}') + 1);
    const Json tensors = Json::parse(header);
    for (const auto& [name, value] : tensors.items()) map[name] = "model.safetensors";
    WriteText(index, Json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
  }
  Outcome outcome = Inspect(index);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\n  warning checkpoint.total_size: "));
  EXPECT_THAT(outcome.out, EndsWith("; 1 warning\n"));
  std::filesystem::remove(shard_);
  outcome = Inspect(index, "--format json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json d = Json::parse(outcome.out);
  EXPECT_TRUE(d["file_bytes"].is_null());
  EXPECT_EQ(d["findings"][0]["id"], "checkpoint.headers_absent");
}

TEST_F(InspectCommandTest, TheFilesDTypeCounts) {
  Json d = Json::parse(Inspect(model_, "--format json").out);
  const int64_t before = d["by_role"]["norm"]["by_dtype"]["BF16"]["bytes"];
  EXPECT_FALSE(d["by_dtype"].contains("F16"));
  // A norm in another dtype of the same size.
  std::string bytes = ReadText(shard_);
  const size_t norm = bytes.find("\"model.norm.weight\"");
  const size_t dtype = bytes.find("\"BF16\"", norm);
  bytes.replace(dtype, 6, "\"F16\" ");
  WriteText(shard_, bytes);
  const Outcome outcome = Inspect(model_, "--format json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  d = Json::parse(outcome.out);
  EXPECT_EQ(d["by_dtype"]["F16"]["bytes"], 512 * 2);
  EXPECT_EQ(d["by_role"]["norm"]["by_dtype"]["F16"]["tensors"], 1);
  EXPECT_EQ(d["by_role"]["norm"]["by_dtype"]["BF16"]["bytes"], before - 512 * 2);
  EXPECT_EQ(d["findings"][0]["id"], "model.dtype_differs");
}

TEST_F(InspectCommandTest, CorruptCheckpoints) {
  const std::string whole = ReadText(shard_);
  WriteText(shard_, "");
  ExpectCorrupt(model_, "model.safetensors");
  ExpectCorrupt(shard_, "model.safetensors");
  WriteText(shard_, whole.substr(0, 100));
  ExpectCorrupt(model_, "model.safetensors");
  WriteText(shard_, whole.substr(0, whole.size() - 1));
  ExpectCorrupt(model_, "the file is truncated; fetch it again");
  std::string bad = whole;
  bad[8] = '[';  // where the header's JSON begins
  WriteText(shard_, bad);
  ExpectCorrupt(model_, "model.safetensors");
  // Tensors that overlap, and a hole between them.
  testing_support::WriteShard(shard_,
                              R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                              R"("b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})",
                              12);
  ExpectCorrupt(model_, "the payload has tensors that overlap");
  testing_support::WriteShard(shard_,
                              R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                              R"("b":{"dtype":"U8","shape":[8],"data_offsets":[12,20]}})",
                              20);
  ExpectCorrupt(model_, "the payload has a hole");
}

TEST_F(InspectCommandTest, ShardsThatAreMissingAndConfigsThatAreWrong) {
  WriteText(model_ + "/model.safetensors.index.json",
            R"({"metadata":{},"weight_map":{"a":"model.safetensors","b":"gone.safetensors"}})");
  ExpectCorrupt(model_, "expected 2 shards, 1 of them missing: gone.safetensors");
  std::filesystem::remove(model_ + "/model.safetensors.index.json");
  std::filesystem::copy_file(CliData() + "/tiny-dense/config.json", model_ + "/config.json",
                             std::filesystem::copy_options::overwrite_existing);
  ExpectCorrupt(model_, "config and weights are of different models");
  WriteText(model_ + "/config.json", "");
  ExpectCorrupt(model_, "config.json");
  std::filesystem::remove(model_ + "/config.json");
  ExpectCorrupt(model_, "expected a config.json beside the weights");
}

TEST_F(InspectCommandTest, UsageAndIo) {
  const std::pair<const char*, const char*> cases[] = {
      {"inspect",
       "MODEL: expected a model directory or file, found none; it comes right after the command: "
       "shardplan inspect MODEL"},
      {"inspect tiny-moe --pp 7", "--pp 7: expected at most 6 stages, as many as there are layers"},
      {"inspect tiny-moe --pp-partition 3,4",
       "--pp-partition 3,4: expected layers that sum to 6, found 7"},
      {"inspect tiny-moe --pp-partition 3,x",
       "--pp-partition 3,x: expected the layers of each stage as positive numbers; write them with "
       "commas, such as 48,45"},
      {"inspect tiny-moe --pp 3 --pp-partition 3,3",
       "--pp-partition 3,3: expected 3 stages as --pp says, found 2"},
      {"inspect tiny-moe --pp-partitoin 3,3",
       "--pp-partitoin: unknown option; did you mean --pp-partition?"},
      {"inspect tiny-moe other", "other: unexpected argument; see shardplan inspect --help"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(outcome.err, std::string("shardplan: error: ") + message + "\n") << arguments;
  }
  EXPECT_EQ(RunProgram("inspect nowhere").code, 4);
}

TEST_F(InspectCommandTest, AReaderThatGoesAwayIsNoError) {
  for (const char* format : {"table", "json"}) {
    const Outcome outcome = RunScript(
        "set -o pipefail\n{ sleep 0.2; shardplan inspect 'a model' "
        "--format " +
            std::string(format) + "; } | true",
        dir_.path());
    EXPECT_EQ(outcome.code, 0) << format;
    EXPECT_EQ(outcome.err, "") << format;
  }
}

TEST_F(InspectCommandTest, FormatsAndFiles) {
  EXPECT_THAT(Inspect(model_, "--format yaml").out, StartsWith("schema_version: 1\nsource: "));
  const Outcome outcome = Inspect(model_, "-o 'the answer' --pp 2");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(ReadText(dir_.Path("the answer")), HasSubstr("\nWhat each pipeline stage loads"));
  EXPECT_THAT(Inspect(model_, "-v").out, HasSubstr("\nShards\n"));
}

TEST_F(InspectCommandTest, AssumptionsAreTaken) {
  const Outcome outcome = RunProgram("inspect tiny-dense --assume inv_freq=32 --format json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json d = Json::parse(outcome.out);
  EXPECT_EQ(d["by_role"]["leftover"]["tensors"], 4);
  EXPECT_EQ(d["outside_layers"]["leftover"]["tensors"], 4);
}

}  // namespace
}  // namespace shardplan::cli
