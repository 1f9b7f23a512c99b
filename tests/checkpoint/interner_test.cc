#include "checkpoint/interner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shardplan {
namespace {

TEST(InternerTest, NumbersByFirstAppearance) {
  Interner interner;
  EXPECT_EQ(interner.Intern("w1"), 0u);
  EXPECT_EQ(interner.Intern("w2"), 1u);
  EXPECT_EQ(interner.Intern("w1"), 0u);
  EXPECT_EQ(interner.Intern(""), 2u);
  EXPECT_EQ(interner.Intern("w2"), 1u);
  EXPECT_EQ(interner.Intern("w2"), 1u);
  EXPECT_EQ(interner.Intern(""), 2u);
  EXPECT_EQ(interner[1], "w2");
  EXPECT_EQ(interner.Take(), (std::vector<std::string>{"w1", "w2", ""}));
  EXPECT_EQ(interner.size(), 0u);
  EXPECT_EQ(interner.Intern("new"), 0u);
}

TEST(InternerTest, ManyTexts) {
  Interner interner;
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 5000; ++i) EXPECT_EQ(interner.Intern(std::to_string(i)), i);
  }
  EXPECT_EQ(interner.size(), 5000u);
}

TEST(InternerTest, BytesAreBytes) {
  Interner interner;
  EXPECT_EQ(interner.Intern(std::string_view("\0", 1)), 0u);
  EXPECT_EQ(interner.Intern(std::string_view("\0\0", 2)), 1u);
}

}  // namespace
}  // namespace shardplan
