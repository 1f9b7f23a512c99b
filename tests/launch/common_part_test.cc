#include "launch/common_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GroupArgumentsTest, CutsBeforeFlags) {
  EXPECT_THAT(GroupArguments({"vllm", "serve", "/m", "--a", "1", "-2", "--b", "-c", "x"}),
              ElementsAre(ElementsAre("vllm", "serve", "/m"), ElementsAre("--a", "1", "-2"),
                          ElementsAre("--b"), ElementsAre("-c", "x")));
  EXPECT_THAT(
      GroupArguments({"python3", "-m", "sglang.launch_server", "--x"}),
      ElementsAre(ElementsAre("python3", "-m", "sglang.launch_server"), ElementsAre("--x")));
  EXPECT_THAT(GroupArguments({}), IsEmpty());
}

TEST(FactorTest, KeepsWhatAllHave) {
  const auto arguments = FactorArguments({{{"p"}, {"--rank", "0"}, {"--tp", "8"}},
                                          {{"p"}, {"--rank", "1"}, {"--tp", "8"}, {"--headless"}}});
  EXPECT_THAT(arguments.common, ElementsAre(ElementsAre("p"), ElementsAre("--tp", "8")));
  EXPECT_THAT(arguments.rest,
              ElementsAre(ElementsAre(ElementsAre("--rank", "0")),
                          ElementsAre(ElementsAre("--rank", "1"), ElementsAre("--headless"))));
  const auto env = FactorEnvironment({{{"A", "1"}, {"B", "2"}}, {{"A", "1"}, {"B", "3"}}});
  EXPECT_THAT(env.common, ElementsAre(testing::Pair("A", "1")));
  EXPECT_THAT(env.rest[1], ElementsAre(testing::Pair("B", "3")));
}

}  // namespace
}  // namespace shardplan
