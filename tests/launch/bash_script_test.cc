#include "launch/bash_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/launch_example.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::FillSite;
using testing_support::LaunchExample;
using testing_support::TwoNodes;

PreparedLaunch Prepared(const LaunchExample& example) {
  auto launch = PrepareLaunch(example.input());
  EXPECT_TRUE(launch);
  return *launch;
}

TEST(BashScriptTest, WordsAreQuotedAndVariablesExpand) {
  const PreparedLaunch launch = Prepared(TwoNodes());
  EXPECT_EQ(BashWord(launch, "a b"), "'a b'");
  EXPECT_EQ(BashWord(launch, "<MASTER_ADDR>:5000"), "\"$MASTER_HOST:5000\"");
  EXPECT_EQ(BashWord(launch, "<MASTER_ADDR>$(id)"), "'<MASTER_ADDR>$(id)'");
  EXPECT_EQ(BashWords(launch, {{"a", "$b"}, {"--c"}}, 2), "  a '$b'\n  --c\n");
  EXPECT_EQ(BashElement("48,45"), "'48,45'");
  EXPECT_EQ(BashElement("48"), "48");
  EXPECT_EQ(OwnArguments({{}, {{}, {{"--x"}}}}), "    \"$@\"\n");
  EXPECT_EQ(OwnArguments({{}, {{}}}), "");
  EXPECT_EQ(BashExports({{"A", "b c"}}), "export A='b c'\n");
}

TEST(BashScriptTest, AsksForWhatIsNotKnown) {
  LaunchExample example = TwoNodes();
  const std::string open = SiteSection(Prepared(example));
  EXPECT_THAT(open, HasSubstr("MODEL_PATH=/models/Kimi-K3\n"));
  EXPECT_THAT(open, HasSubstr("need MASTER_ADDR 'address of node 0 "));
  EXPECT_THAT(open, HasSubstr("\nexport VLLM_HOST_IP NCCL_SOCKET_IFNAME GLOO_SOCKET_IFNAME "
                              "NCCL_IB_HCA NCCL_IB_GID_INDEX\n"));
  FillSite(&example.site);
  const std::string known = SiteSection(Prepared(example));
  EXPECT_THAT(known, Not(HasSubstr("need ")));
  EXPECT_THAT(known, HasSubstr("NCCL_IB_GID_INDEX=3\n"));
  EXPECT_THAT(NodeHead(Prepared(example), 1, {}), HasSubstr("export VLLM_HOST_IP=10.0.0.2\n"));
}

// ZMQ binds no names.
TEST(BashScriptTest, ResolvesTheMasterWhereItIsBound) {
  LaunchExample example = TwoNodes();
  EXPECT_THAT(SiteSection(Prepared(example)), Not(HasSubstr("address_of")));
  for (LaunchPlan& launch : example.plan.launch) {
    launch.argv.insert(launch.argv.end(), {"--data-parallel-address", "<MASTER_ADDR>"});
  }
  EXPECT_THAT(SiteSection(Prepared(example)),
              HasSubstr("address=$(address_of \"$MASTER_ADDR\" \"$VLLM_HOST_IP\")\n"));
  FillSite(&example.site);
  EXPECT_THAT(SiteSection(Prepared(example)), Not(HasSubstr("address_of")));
}

TEST(BashScriptTest, DescribesANode) {
  EXPECT_EQ(DescribeNode(Prepared(TwoNodes()), 1), "Node 1 of 2, ranks 8 to 15, stage 1");
}

TEST(BashScriptTest, ChecksWhatTheNodesNeed) {
  const std::string check = CheckFunction(Prepared(TwoNodes()), {{"vl lm", "it's"}}, {"true"});
  EXPECT_THAT(check, HasSubstr("command -v 'vl lm' > /dev/null || fail 'vl lm: not found; it'"));
  EXPECT_THAT(check, HasSubstr("-ge 8 ]]"));
  EXPECT_THAT(check, HasSubstr("GLOO_SOCKET_IFNAME"));
  EXPECT_THAT(check, HasSubstr("\n  true\n}\n"));
  EXPECT_EQ(ShownNames(Prepared(testing_support::OneNode())),
            "\nSHOWN=(VLLM_PP_LAYER_PARTITION)\n");
}

}  // namespace
}  // namespace shardplan
