#include "shardplan/base/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CloseNamesTest, FindsTyposBestFirst) {
  EXPECT_THAT(CloseNames("--max-model-lne", {"--max-num-seqs", "--max-model-len", "--tp"}),
              ElementsAre("--max-model-len"));
  EXPECT_THAT(CloseNames("h200-14", {"h20-141", "h200-141", "l4-24"}),
              ElementsAre("h200-141", "h20-141"));
}

TEST(CloseNamesTest, ASwapIsOneEdit) {
  EXPECT_THAT(CloseNames("nmae", {"name", "vendor"}), ElementsAre("name"));
  EXPECT_THAT(CloseNames("ba", {"ab"}), ElementsAre("ab"));
}

TEST(CloseNamesTest, FindsWhatContainsTheWord) {
  EXPECT_THAT(CloseNames("partition", {"pp-partition", "tensor-parallel-size"}),
              ElementsAre("pp-partition"));
}

TEST(CloseNamesTest, TiesGoByNameAndTheLimitHolds) {
  EXPECT_THAT(CloseNames("ab", {"ad", "ac", "aa", "ae"}), ElementsAre("aa", "ac", "ad"));
  EXPECT_THAT(CloseNames("ab", {"ad", "ac", "aa"}, 1), ElementsAre("aa"));
}

TEST(CloseNamesTest, StaysSilentWhenNothingIsClose) {
  EXPECT_THAT(CloseNames("zzzzzz", {"h20-96", "l4-24"}), IsEmpty());
  EXPECT_THAT(CloseNames("x", {}), IsEmpty());
  EXPECT_THAT(CloseNames("x", {"context"}), IsEmpty()) << "one letter is in everything";
  EXPECT_THAT(CloseNames("", {"h20-96"}), IsEmpty());
}

TEST(CloseNamesTest, AHugeWordCostsLittle) {
  EXPECT_THAT(CloseNames(std::string(10'000'000, 'x'), {"h20-96", std::string(5'000'000, 'y')}),
              IsEmpty());
}

TEST(JoinWithOrTest, Joins) {
  EXPECT_EQ(JoinWithOr({}), "");
  EXPECT_EQ(JoinWithOr({"a"}), "a");
  EXPECT_EQ(JoinWithOr({"a", "b"}), "a or b");
  EXPECT_EQ(JoinWithOr({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace shardplan
