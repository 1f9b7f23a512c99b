// tests/data/cases/pains.tsv: what went wrong for people, as commands, and what they are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_program.h"
#include "shardplan/launch/shell.h"
#include "support/example_model.h"
#include "support/table.h"
#include "support/temp_dir.h"

namespace shardplan::cli {
namespace {

using Json = nlohmann::json;
using testing_support::DenseConfig;
using testing_support::ExampleConfig;
using testing_support::ExampleConfigPath;
using testing_support::Outcome;
using testing_support::TableRow;
using testing_support::TempDir;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// The path of a model's config, written into `dir` where it is made up; empty for none.
std::string ConfigOf(const std::string& model, const TempDir& dir) {
  if (model == "-") return "";
  const std::vector<std::string> parts = Split(model, ':');
  if (parts[0] == "cases") {
    return std::string(SHARDPLAN_TEST_DATA) + "/cases/configs/" + parts.at(1) + ".json";
  }
  if (parts[0] == "dense") {
    const int64_t hidden = std::stoll(parts.at(1));
    return dir.Write("config.json",
                     DenseConfig("LlamaForCausalLM", hidden, 4 * hidden, 40,
                                 std::stoll(parts.at(2)), std::stoll(parts.at(3)), 32'000)
                         .dump());
  }
  if (parts[0] == "edit") {
    Json config = ExampleConfig(parts.at(1));
    const std::vector<std::string> pair = Split(parts.at(2), '=');
    config[pair.at(0)] = std::stoll(pair.at(1));
    return dir.Write("config.json", config.dump());
  }
  if (parts[0] == "moe") {
    Json config = ExampleConfig("Qwen__Qwen3-30B-A3B-FP8");
    config["moe_intermediate_size"] = std::stoll(parts.at(1));
    return dir.Write("config.json", config.dump());
  }
  if (parts[0] == "standin") {
    const Outcome made = testing_support::RunScript("shardplan standin " +
                                                        ShellQuote(ExampleConfigPath(parts.at(1))) +
                                                        " " + ShellQuote(dir.path() + "/standin"),
                                                    "/");
    EXPECT_EQ(made.code, 0) << made.err;
    return dir.path() + "/standin";
  }
  return ExampleConfigPath(model);
}

// Options with the paths of their files.
std::string OptionsOf(std::string text) {
  for (size_t at = text.find(" @"); at != text.npos; at = text.find(" @")) {
    const size_t end = std::min(text.find(' ', at + 1), text.size());
    const std::string path =
        std::string(SHARDPLAN_TEST_DATA) + "/" + text.substr(at + 2, end - at - 2);
    text.replace(at + 1, end - at - 1, ShellQuote(path));
  }
  return text;
}

double FractionOf(const std::string& text, size_t at) {
  return std::stod(text.substr(at + std::string("--mem-fraction-static ").size()));
}

TEST(PainsTest, EveryOneIsTold) {
  const std::vector<TableRow> rows = testing_support::ReadTable("cases/pains.tsv");
  ASSERT_EQ(rows.size(), 71U);
  std::set<std::string> ids;
  int commands = 0;
  for (const TableRow& row : rows) {
    ASSERT_EQ(row.size(), 6U) << row[0];
    EXPECT_TRUE(ids.insert(row[0]).second) << row[0];
    if (row[3] == "-") {
      EXPECT_GT(row[5].size(), 20U) << row[0] << " has neither a command nor a reason";
      continue;
    }
    ++commands;
    const TempDir dir;
    const std::string model = ConfigOf(row[1], dir);
    const std::string line = "shardplan check command " + ShellQuote(row[3]) +
                             (model.empty() ? "" : " " + ShellQuote(model)) +
                             (row[2] == "-" ? "" : OptionsOf(" " + row[2])) + " --format json";
    const Outcome outcome = testing_support::RunScript(line, "/");
    ASSERT_FALSE(outcome.out.empty()) << row[0] << ": " << outcome.err;
    const Json document = Json::parse(outcome.out);
    std::set<std::string> told;
    bool error = false;
    for (const Json& finding : document["findings"]) {
      const std::string id = finding["id"];
      told.insert(finding["severity"] == "error" ? id + "!" : id);
      error = error || finding["severity"] == "error";
    }
    EXPECT_EQ(outcome.code, error ? 1 : 0) << row[0];
    for (const std::string& wanted : Split(row[4], '|')) {
      EXPECT_TRUE(told.contains(wanted)) << row[0] << ": no " << wanted << " in\n"
                                         << line << "\n"
                                         << document.dump(1);
    }
  }
  EXPECT_EQ(commands, 60);
}

// Starts that end for want of memory need opposite changes: before the pools are there a larger
// fraction, after them a smaller one.
TEST(PainsTest, EarlyAndLateEndsOfSglangNeedOppositeFractions) {
  const auto fix_at = [](const std::string& fraction) {
    const Outcome outcome = testing_support::RunScript(
        "shardplan check command 'python3 -m sglang.launch_server --model-path org/model --tp-size "
        "2 "
        "--context-length 32768 --mem-fraction-static " +
            fraction + "' " + ShellQuote(ExampleConfigPath("Qwen__Qwen3-32B")) +
            " --gpu h100-80-sxm --format json",
        "/");
    EXPECT_EQ(outcome.code, 1) << fraction;
    const Json document = Json::parse(outcome.out);
    for (const Json& finding : document["findings"]) {
      if (!finding["fix"].is_string()) continue;
      const std::string fix = finding["fix"];
      const size_t at = fix.find("--mem-fraction-static ");
      if (finding["severity"] == "error" && at != fix.npos) return FractionOf(fix, at);
    }
    ADD_FAILURE() << outcome.out;
    return 0.0;
  };
  EXPECT_GT(fix_at("0.4"), 0.4);
  EXPECT_LT(fix_at("0.97"), 0.97);
}

}  // namespace
}  // namespace shardplan::cli
