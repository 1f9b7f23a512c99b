#include "report/shard_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Shard(int number) {
  char name[64];
  std::snprintf(name, sizeof(name), "model-%05d-of-000096.safetensors", number);
  return name;
}

TEST(FoldNamesTest, FoldsRunsOfOnePattern) {
  std::vector<std::string> names;
  for (int i = 1; i <= 48; ++i) names.push_back(Shard(i));
  names.push_back(Shard(94));
  EXPECT_THAT(FoldNames(names), ElementsAre("model-{00001…00048, 00094}-of-000096.safetensors"));
  EXPECT_THAT(FoldNames({Shard(1), Shard(2)}),
              ElementsAre("model-{00001, 00002}-of-000096.safetensors"));
}

TEST(FoldNamesTest, OthersStandForThemselves) {
  EXPECT_THAT(FoldNames({}), IsEmpty());
  EXPECT_THAT(FoldNames({"model.safetensors"}), ElementsAre("model.safetensors"));
  EXPECT_THAT(FoldNames({Shard(7)}), ElementsAre(Shard(7)));
  EXPECT_THAT(FoldNames({"a", "a1", "a2", "b2", "a12"}), ElementsAre("a", "a{1, 2}", "b2", "a12"));
  EXPECT_THAT(FoldNames({"x1234567890123456789012", "x1234567890123456789013"}),
              ElementsAre("x1234567890123456789012", "x1234567890123456789013"));
}

TEST(FoldNamesTest, IsSafeToPrint) {
  EXPECT_THAT(FoldNames({"\x1b[2J1.safetensors"}), ElementsAre("\\x1b[2J1.safetensors"));
}

}  // namespace
}  // namespace shardplan
