// tests/data/cases/pains.tsv: what went wrong for people, as commands, and what they are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  return ExampleConfigPath(model);
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
                             (row[2] == "-" ? "" : " " + row[2]) + " --format json";
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
  EXPECT_EQ(commands, 54);
}

}  // namespace
}  // namespace shardplan::cli
