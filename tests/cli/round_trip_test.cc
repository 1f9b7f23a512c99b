// The commands that a plan prints are read back as the same deployment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/apply_command.h"
#include "cli/run_program.h"
#include "shardplan/launch/shell.h"
#include "shardplan/report/plan_json.h"
#include "support/plan_world.h"
#include "support/table.h"

namespace shardplan::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using testing_support::Applied;
using testing_support::Apply;
using testing_support::ReadText;

// "NAME='value' … program 'word' …" of a node.
std::string CommandOf(const OrderedJson& launch) {
  std::string text;
  for (const auto& [name, value] : launch["env"].items()) {
    text += name + "=" + ShellQuote(value.get<std::string>()) + " ";
  }
  for (const OrderedJson& word : launch["argv"]) text += ShellQuote(word.get<std::string>()) + " ";
  return text;
}

// What a command decides: not what was asked of the plan, and not which settings were given: a
// launch line of SGLang spells out the fraction that the plan made up.
OrderedJson Comparable(OrderedJson plan) {
  for (const char* key : {"findings", "window", "model"}) plan.erase(key);
  plan["engine"].erase("defaults");
  if (!plan["static_memory"].is_null()) {
    for (const char* key : {"reserve_terms", "fraction_given"}) plan["static_memory"].erase(key);
  }
  return plan;
}

class ExampleTest : public ::testing::Test {
 protected:
  // Runs `command`, a `shardplan plan`, and the plan of each command that it prints.
  static void RoundTrip(const std::string& command, const std::string& directory) {
    const auto json = [&](const std::string& line) -> OrderedJson {
      const testing_support::Outcome outcome = testing_support::RunScript(line, directory);
      EXPECT_TRUE(OrderedJson::accept(outcome.out)) << line << "\n" << outcome.err;
      return OrderedJson::accept(outcome.out) ? OrderedJson::parse(outcome.out) : OrderedJson();
    };
    const OrderedJson first = json(command + " --format json");
    ASSERT_FALSE(first.is_null());
    ASSERT_FALSE(first["launch"].empty()) << command;
    const OrderedJson& cluster = first["cluster"];
    // Cards are no part of a command: those of the first plan.
    const std::string cards = cluster["file"].is_null()
                                  ? " --gpu " + cluster["gpu"].get<std::string>() +
                                        " --gpus-per-node " +
                                        std::to_string(cluster["gpus_per_node"].get<int>())
                                  : " --cluster " + ShellQuote(cluster["file"].get<std::string>());
    std::string line = "shardplan plan " + ShellQuote(first["model"]["source"].get<std::string>()) +
                       cards + " --engine " + first["engine"]["name"].get<std::string>() + "@" +
                       first["engine"]["version"].get<std::string>();
    if (!first["window"]["output_tokens"].is_null()) line += " --output-tokens 1024";
    for (const OrderedJson& launch : first["launch"]) {
      const OrderedJson second =
          json(line + " --from-command " + ShellQuote(CommandOf(launch)) + " --format json");
      ASSERT_FALSE(second.is_null());
      EXPECT_EQ(Comparable(first), Comparable(second)) << CommandOf(launch);
    }
  }
};

TEST_F(ExampleTest, EveryScriptsCommandIsReadBack) {
  int scripts = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SHARDPLAN_EXAMPLES)) {
    if (entry.path().extension() != ".sh") continue;
    ++scripts;
    SCOPED_TRACE(entry.path().string());
    const std::string directory = entry.path().parent_path().string();
    RoundTrip(
        "SHARDPLAN=" + ShellQuote(SHARDPLAN_BINARY) + " sh " + ShellQuote(entry.path().string()),
        directory);
  }
  EXPECT_GE(scripts, 8);
}

// Those of README.md that plan an example.
TEST_F(ExampleTest, TheReadmesCommandsAreReadBack) {
  const std::string root = std::string(SHARDPLAN_EXAMPLES) + "/..";
  std::istringstream lines(ReadText(root + "/README.md"));
  int commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("$ shardplan plan examples/")) continue;
    std::string command = line.substr(2);
    while (command.ends_with('\\') && std::getline(lines, line)) {
      command.back() = ' ';
      command += line;
    }
    ++commands;
    SCOPED_TRACE(command);
    RoundTrip(command, root);
  }
  EXPECT_GE(commands, 3);
}

// Card of a cookbook's row.
std::string CardOf(const std::string& name) {
  static const std::map<std::string, std::string> cards = {
      {"b200", "b200-180"},     {"b300", "b300-288"},    {"gb200", "gb200"},
      {"gb300", "gb300"},       {"h100", "h100-80-sxm"}, {"h200", "h200-141"},
      {"mi350x", "mi355x-288"}, {"mi355x", "mi355x-288"}};
  return cards.at(name);
}

TEST(CookbookTest, EveryRecipeIsPlannedAndReadBack) {
  const Model& model = testing_support::ExampleFromConfig("kimi-k3");
  const auto rows = testing_support::ReadTable("sglang/cookbook.tsv");
  ASSERT_EQ(rows.size(), 48U);
  int legal = 0;
  for (const testing_support::TableRow& row : rows) {
    const std::string line =
        "m --draft-weights 5GiB --draft-bytes-per-token 4096 --gpu " + CardOf(row.at(0));
    const std::string command =
        row.at(4) + " python3 -m sglang.launch_server --model-path org/model " + row.at(5) +
        " --nnodes " + row.at(3) + " --node-rank 0 --dist-init-addr HOST:20000";
    const Applied first = Apply(command, line);
    ASSERT_EQ(first.error, "") << command;
    const Plan plan = testing_support::Evaluate(model, first.what.deployment);
    if (plan.verdict == Verdict::kIllegal) continue;
    ++legal;
    const OrderedJson expected = OrderedJson::parse(RenderPlanJson(plan));
    ASSERT_EQ(expected["launch"].size(), std::stoul(row.at(3))) << command;
    for (const OrderedJson& launch : expected["launch"]) {
      const Applied second = Apply(CommandOf(launch), line);
      ASSERT_EQ(second.error, "") << CommandOf(launch);
      const OrderedJson found = OrderedJson::parse(
          RenderPlanJson(testing_support::Evaluate(model, second.what.deployment)));
      EXPECT_EQ(Comparable(expected), Comparable(found)) << command << "\n" << CommandOf(launch);
    }
  }
  EXPECT_EQ(legal, 48);
}

// vLLM: what the tests of plans use most.
TEST(VllmCommandsTest, AreReadBack) {
  const Model& model = testing_support::ExampleFromConfig("kimi-k3");
  std::vector<Deployment> deployments(4, testing_support::PublishedKimiK3());
  deployments[1].sizes = {};
  deployments[1].sizes.tp = 16;
  deployments[1].sizes.expert_parallel = true;
  deployments[1].partition.reset();
  deployments[1].gpu = "h20-141";
  deployments[2].settings.enforce_eager = false;
  deployments[2].settings.cudagraph_capture_sizes = std::vector<int64_t>{1, 2};
  deployments[2].settings.env.emplace_back("NCCL_IB_HCA", "mlx5_0,mlx5_1 'x' $(y)");
  deployments[3].sizes.dp = 2;
  deployments[3].nodes = 4;
  for (const Deployment& d : deployments) {
    const Plan plan = testing_support::Evaluate(model, d);
    const OrderedJson expected = OrderedJson::parse(RenderPlanJson(plan));
    ASSERT_FALSE(plan.launch.empty());
    for (const OrderedJson& launch : expected["launch"]) {
      const Applied read = Apply(CommandOf(launch), "m --output-tokens 32768 --gpu " + d.gpu);
      ASSERT_EQ(read.error, "") << CommandOf(launch);
      const OrderedJson found = OrderedJson::parse(
          RenderPlanJson(testing_support::Evaluate(model, read.what.deployment)));
      EXPECT_EQ(Comparable(expected), Comparable(found)) << CommandOf(launch);
    }
  }
}

}  // namespace
}  // namespace shardplan::cli
