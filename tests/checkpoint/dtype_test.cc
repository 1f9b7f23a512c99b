#include "shardplan/checkpoint/dtype.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace shardplan {
namespace {

TEST(DTypeTest, KnowsNamesAndBits) {
  const std::pair<std::string_view, int> all[] = {
      {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
      {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
      {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
  };
  int number = 0;
  for (const auto& [name, bits] : all) {
    const auto dtype = ParseDType(name);
    ASSERT_TRUE(dtype) << name;
    EXPECT_EQ(static_cast<int>(*dtype), number++) << name;
    EXPECT_EQ(NameOf(*dtype), name);
    EXPECT_EQ(BitsOf(*dtype), bits) << name;
  }
}

TEST(DTypeTest, KnowsNoOtherNames) {
  for (const std::string_view name :
       {"", "bf16", "BF16 ", " BF16", "F7", "F8", "FP8", "BFLOAT16"}) {
    EXPECT_FALSE(ParseDType(name)) << name;
  }
}

}  // namespace
}  // namespace shardplan
