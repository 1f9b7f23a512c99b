#include "launch/group_command.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

std::vector<std::string> Vllm(int64_t node, const std::string& more = "x") {
  std::vector<std::string> argv = {
      "vllm", "serve", "/m", "--node-rank", std::to_string(node), "--master-addr", "<MASTER_ADDR>"};
  if (node > 0) argv.push_back("--headless");
  argv.insert(argv.end(), {"--served-model-name", more});
  return argv;
}

Plan GroupPlan(std::vector<LaunchPlan> launch) {
  Plan plan;
  plan.source = "m";
  plan.launch = std::move(launch);
  return plan;
}

std::string ErrorOf(const Plan& plan) {
  const auto command = MakeGroupCommand(plan);
  return command ? "made" : command.error().ToString();
}

TEST(GroupCommandTest, NodesDifferInNumberAndAddress) {
  const Plan plan = GroupPlan({{0, {}, Vllm(0)}, {1, {}, Vllm(1)}, {2, {}, Vllm(2)}});
  const auto command = MakeGroupCommand(plan);
  ASSERT_TRUE(command.has_value()) << command.error().ToString();
  EXPECT_EQ(command->nodes, 3);
  for (const LaunchPlan& launch : plan.launch) {
    EXPECT_EQ(WordsOf(*command, launch.node, "<MASTER_ADDR>"), launch.argv);
  }
  const std::vector<std::string> first = WordsOf(*command, 0, "10.0.0.1");
  EXPECT_EQ(first[6], "10.0.0.1");
  EXPECT_EQ(first[7], "--served-model-name");
}

TEST(GroupCommandTest, DataParallelNodesCountTheirRanks) {
  std::vector<LaunchPlan> launch;
  for (int64_t node = 0; node < 3; ++node) {
    launch.push_back({node,
                      {},
                      {"vllm", "serve", "/m", "--data-parallel-start-rank",
                       std::to_string(4 * node), "--data-parallel-address", "<MASTER_ADDR>"}});
    if (node > 0) launch.back().argv.push_back("--headless");
  }
  const auto command = MakeGroupCommand(GroupPlan(launch));
  ASSERT_TRUE(command.has_value()) << command.error().ToString();
  EXPECT_EQ(WordsOf(*command, 2, "a")[4], "8");
  EXPECT_EQ(WordsOf(*command, 2, "a")[6], "a");
}

TEST(GroupCommandTest, SglangsAddressHasAPort) {
  std::vector<LaunchPlan> launch;
  for (int64_t node = 0; node < 2; ++node) {
    launch.push_back({node,
                      {},
                      {"python3", "-m", "sglang.launch_server", "--node-rank", std::to_string(node),
                       "--dist-init-addr", "<MASTER_ADDR>:5000"}});
  }
  const auto command = MakeGroupCommand(GroupPlan(launch));
  ASSERT_TRUE(command.has_value()) << command.error().ToString();
  EXPECT_EQ(WordsOf(*command, 1, "a")[6], "a:5000");
}

TEST(GroupCommandTest, OneNodeRunsWhatIsThere) {
  const Plan plan = GroupPlan({{0, {{"A", "b"}}, {"vllm", "serve", "--headless"}}});
  const auto command = MakeGroupCommand(plan);
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(WordsOf(*command, 0, ""), plan.launch[0].argv);
  EXPECT_EQ(command->env.size(), 1u);
}

TEST(GroupCommandTest, AnAddressThatIsFilledInStaysAnAddress) {
  std::vector<LaunchPlan> launch = {{0, {}, Vllm(0)}, {1, {}, Vllm(1)}};
  for (LaunchPlan& node : launch) node.argv[6] = "10.1.2.3";
  const auto command = MakeGroupCommand(GroupPlan(launch));
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(WordsOf(*command, 1, "other")[6], "other");
}

TEST(GroupCommandTest, RefusesNodesThatDifferInMore) {
  EXPECT_EQ(ErrorOf(GroupPlan({{0, {}, Vllm(0)}, {1, {}, Vllm(1, "y")}})),
            "m: expected commands that differ in the node's number alone, found node 0 to differ "
            "in more; use `shardplan launch commands`");
  EXPECT_NE(ErrorOf(GroupPlan({{0, {{"A", "1"}}, Vllm(0)}, {1, {{"A", "2"}}, Vllm(1)}})), "made");
  EXPECT_NE(ErrorOf(GroupPlan({})), "made");
}

TEST(GroupCommandTest, RefusesPlaceholders) {
  EXPECT_EQ(ErrorOf(GroupPlan({{0, {}, {"vllm", "serve", "/m", "--flag", "<PATH_2>"}}})),
            "--flag: expected a value, found the placeholder <PATH_2>; give the value where the "
            "deployment is described");
  EXPECT_NE(ErrorOf(GroupPlan({{0, {{"GLOO_SOCKET_IFNAME", "<INTERFACE>"}}, {"vllm"}}})), "made");
  EXPECT_NE(ErrorOf(GroupPlan({{0, {}, {"python3", "--dist-init-addr", "<MASTER_ADDR>:5000"}}})),
            "made");
  EXPECT_EQ(ErrorOf(GroupPlan({{0, {}, {"vllm", "<b>", "<>", "<A>b", "x<A>"}}})), "made");
}

}  // namespace
}  // namespace shardplan
