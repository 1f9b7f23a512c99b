#include "engine/visible_cards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using ::testing::ElementsAre;

TEST(VisibleCardsTest, ThoseInFrontOfTheFirstThatIsNone) {
  EXPECT_THAT(ShownCards("4,5"), ElementsAre("4", "5"));
  EXPECT_THAT(ShownCards("GPU-1a,MIG-2b"), ElementsAre("GPU-1a", "MIG-2b"));
  EXPECT_THAT(ShownCards("0,1,-1,2"), ElementsAre("0", "1"));
  EXPECT_THAT(ShownCards("0,,1"), ElementsAre("0"));
  EXPECT_THAT(ShownCards("0,1,"), ElementsAre("0", "1"));
  EXPECT_THAT(ShownCards(""), ElementsAre());
}

TEST(VisibleCardsTest, TheVariable) {
  EngineSettings settings;
  EXPECT_EQ(VisibleDevices(settings), std::nullopt);
  settings.env = {{"A", "1"}, {"CUDA_VISIBLE_DEVICES", ""}};
  EXPECT_EQ(VisibleDevices(settings), "");
}

}  // namespace
}  // namespace shardplan
