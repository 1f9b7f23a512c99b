#include "shardplan/sharding/created_params.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace shardplan {
namespace {

int64_t BytesOf(const CreatedPart& part) { return SizeOf(part.dtype, part.shape)->count(); }

// Bytes of weights and of everything else.
struct Sum {
  int64_t weights = 0;
  int64_t rest = 0;
};

Sum SumOf(const std::vector<CreatedPart>& parts) {
  Sum sum;
  for (const CreatedPart& part : parts)
    (part.rule.empty() ? sum.weights : sum.rest) += BytesOf(part);
  return sum;
}

// Every scheme with the bits of a weight and the bytes of the rest for [64, 256], counted by hand.
struct Case {
  QuantFormat format;
  int bits;
  int64_t rest;
};

QuantFormat With(QuantFormat format, bool zero_points, bool act_order, bool input_scale) {
  format.zero_points = zero_points;
  format.act_order = act_order;
  format.input_scale = input_scale;
  return format;
}

std::vector<Case> Cases() {
  return {
      {{QuantScheme::kPlain}, 16, 0},
      {{QuantScheme::kFp8Block, 32, 64}, 8, 2 * 4 * 4},
      {With({QuantScheme::kFp8Tensor}, false, false, true), 8, 4 + 4},
      {{QuantScheme::kFp8Channel}, 8, 64 * 4},
      {{QuantScheme::kInt8}, 8, 64 * 4},
      {{QuantScheme::kMxfp8, 1, 32}, 8, 64 * 8},
      {{QuantScheme::kMxfp4, 1, 32}, 4, 64 * 8},
      {With({QuantScheme::kNvfp4, 1, 16}, false, false, true), 4, 64 * 16 + 4 + 4},
      {{QuantScheme::kAwq, 1, 64}, 4, 4 * 8 * 4 + 4 * 64 * 2},
      {{QuantScheme::kGptq, 1, 64}, 4, 4 * 8 * 4 + 4 * 64 * 2},
      {With({QuantScheme::kGptq, 1, 64}, false, true, false), 4, 4 * 8 * 4 + 4 * 64 * 2 + 256 * 4},
      {{QuantScheme::kGptq, 1, 0}, 4, 8 * 4 + 64 * 2},
      {{QuantScheme::kIntPacked, 1, 64}, 4, 64 * 4 * 2},
      {With({QuantScheme::kIntPacked, 1, 64}, true, false, false), 4, 64 * 4 * 2 + 8 * 4 * 4},
      {{QuantScheme::kBnb4}, 4, 64 * 256 / 64 * 4},
  };
}

// Block scales become F32, but for DeepSeek-V4's.
TEST(CreatedLinear, BlockScalesOnTheCard) {
  QuantFormat format = {QuantScheme::kFp8Block, 32, 64};
  LocalLinear linear;
  linear.members = {64};
  linear.rows = 64;
  linear.in = linear.whole_in = 256;
  for (const bool v4 : {false, true}) {
    format.short_names = v4;
    format.scale_dtype = v4 ? DType::kF8E8M0 : DType::kBF16;
    const DType kept = v4 ? DType::kF8E8M0 : DType::kF32;
    EXPECT_EQ(CreatedLinear(format, linear).back().dtype, kept);
    EXPECT_EQ(CreatedLinear(format, linear).back().suffix, ".weight_scale_inv");
    LocalExperts experts;
    experts.experts = 2;
    experts.intermediate = 64;
    experts.width = 64;
    EXPECT_EQ(CreatedExperts(format, experts).back().dtype, kept);
  }
}

TEST(CreatedLinear, BitsOfWeightsAndBytesOfScales) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(std::string(ToString(c.format.scheme)));
    const Sum sum = SumOf(CreatedLinear(c.format, {{64}, 64, 256, 256}));
    EXPECT_EQ(sum.weights, 64 * 256 * c.bits / 8);
    EXPECT_EQ(sum.rest, c.rest);
  }
}

// Ranks hold the whole between them: weights always, scales where none is shared.
TEST(CreatedLinear, SlicesAddUp) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(std::string(ToString(c.format.scheme)));
    const Sum whole = SumOf(CreatedLinear(c.format, {{64}, 64, 256, 256}));
    const Sum column = SumOf(CreatedLinear(c.format, {{32}, 32, 256, 256}));
    const Sum row = SumOf(CreatedLinear(c.format, {{64}, 64, 128, 256}));
    EXPECT_EQ(2 * column.weights, whole.weights);
    EXPECT_EQ(2 * row.weights, whole.weights);
  }
}

TEST(CreatedLinear, PermutedRowSlicesKeepEveryGroup) {
  const QuantFormat ordered = With({QuantScheme::kGptq, 1, 64}, false, true, false);
  for (const CreatedPart& part : CreatedLinear(ordered, {{64}, 64, 128, 256})) {
    if (part.suffix == ".scales") {
      EXPECT_EQ(part.shape, (Shape{4, 64}));
    }
    if (part.suffix == ".g_idx") {
      EXPECT_EQ(part.shape, (Shape{128}));
    }
  }
}

TEST(CreatedLinear, FusedProjectionsHaveTheirOwnScales) {
  const QuantFormat block = {QuantScheme::kFp8Block, 128, 128};
  // 1536 + 576 rows: 12 + 5 blocks, not 17 of 2112.
  EXPECT_EQ(CreatedLinear(block, {{1536, 576}, 2112, 7168, 7168})[1].shape, (Shape{17, 56}));
  const QuantFormat tensor = With({QuantScheme::kFp8Tensor}, false, false, true);
  EXPECT_EQ(CreatedLinear(tensor, {{64, 8, 8}, 80, 64, 64})[2].shape, (Shape{3}));
}

TEST(CreatedExperts, BitsOfWeights) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(std::string(ToString(c.format.scheme)));
    LocalExperts gated;
    gated.experts = gated.input_scales = 3;
    gated.intermediate = 128;
    gated.width = 256;
    EXPECT_EQ(SumOf(CreatedExperts(c.format, gated)).weights, 3 * 3 * 128 * 256 * c.bits / 8);
    LocalExperts single = gated;
    single.projections = 1;
    EXPECT_EQ(SumOf(CreatedExperts(c.format, single)).weights, 3 * 2 * 128 * 256 * c.bits / 8);
  }
}

TEST(CreatedExperts, Nvfp4MayKeepTheInputScalesOfAllRanks) {
  LocalExperts experts;
  experts.experts = 2;
  experts.input_scales = 8;
  experts.intermediate = 32;
  experts.width = 32;
  for (const CreatedPart& part :
       CreatedExperts(With({QuantScheme::kNvfp4, 1, 16}, false, false, true), experts)) {
    const bool input = part.suffix.find("input_scale") != std::string::npos;
    EXPECT_EQ(part.shape.dims[0], input ? 8 : 2) << part.suffix;
  }
}

TEST(CreatedExperts, BiasesComeLast) {
  LocalExperts experts;
  experts.experts = 2;
  experts.intermediate = 8;
  experts.width = 16;
  experts.bias = true;
  const auto parts = CreatedExperts({}, experts);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[2].shape, (Shape{2, 16}));
  EXPECT_EQ(parts[3].shape, (Shape{2, 16}));
}

}  // namespace
}  // namespace shardplan
