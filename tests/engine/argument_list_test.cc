#include "engine/argument_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using ::testing::ElementsAre;

TEST(ArgumentList, FlagsWithValuesAndWithout) {
  ArgumentList args;
  args.Flag("vllm");
  args.Flag("--tp-size", 16);
  args.Flag("--mem-fraction-static", 0.85);
  args.FlagList("--cuda-graph-bs", std::vector<int64_t>{1, 2, 4});
  EXPECT_THAT(args.Take(), ElementsAre("vllm", "--tp-size", "16", "--mem-fraction-static", "0.85",
                                       "--cuda-graph-bs", "1", "2", "4"));
}

TEST(ArgumentList, ExtrasComeLastAndNeverTwice) {
  ArgumentList args;
  args.Flag("--tp-size", 8);
  args.Extras({"--host", "0.0.0.0", "--tp-size=4", "--log-level", "warn", "--many", "a", "b"});
  EXPECT_THAT(args.Take(), ElementsAre("--tp-size", "8", "--host", "0.0.0.0", "--log-level", "warn",
                                       "--many", "a", "b"));
}

TEST(ArgumentList, AModelIsNoFlag) {
  EXPECT_EQ(ServedModel("-model"), "./-model");
  EXPECT_EQ(ServedModel("/models/a b"), "/models/a b");
}

}  // namespace
}  // namespace shardplan
