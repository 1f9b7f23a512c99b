#include "shardplan/model/quantization.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "shardplan/checkpoint/dtype.h"

namespace shardplan {
namespace {

// "suffix dtype shape" of every part, in order.
std::vector<std::string> Listed(const QuantFormat& format, int64_t out, int64_t in) {
  std::vector<std::string> lines;
  for (const StoredPart& part : StoredParts(format, out, in, DType::kBF16)) {
    lines.push_back(part.suffix + " " + std::string(NameOf(part.dtype)) + " " +
                    part.shape.ToString() + (part.holds_weights ? " *" : ""));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(StoredParts, Fp8) {
  EXPECT_EQ(Listed({QuantScheme::kFp8Block, 128, 128}, 576, 7168),
            (Lines{".weight F8_E4M3 [576, 7168] *", ".weight_scale_inv F32 [5, 56]"}));
  QuantFormat tensor = {QuantScheme::kFp8Tensor};
  tensor.input_scale = true;
  EXPECT_EQ(Listed(tensor, 8, 16),
            (Lines{".weight F8_E4M3 [8, 16] *", ".weight_scale F32 []", ".input_scale F32 []"}));
  QuantFormat channel = {QuantScheme::kFp8Channel};
  channel.scale_dtype = DType::kBF16;
  EXPECT_EQ(Listed(channel, 8, 16),
            (Lines{".weight F8_E4M3 [8, 16] *", ".weight_scale BF16 [8, 1]"}));
  EXPECT_EQ(Listed({QuantScheme::kMxfp8, 1, 32}, 8, 64),
            (Lines{".weight F8_E4M3 [8, 64] *", ".weight_scale U8 [8, 2]"}));
}

TEST(StoredParts, FourBitFloats) {
  EXPECT_EQ(Listed({QuantScheme::kMxfp4, 1, 32}, 8, 64),
            (Lines{".weight_packed U8 [8, 32] *", ".weight_scale U8 [8, 2]"}));
  QuantFormat nvfp4 = {QuantScheme::kNvfp4, 1, 16};
  nvfp4.input_scale = true;
  EXPECT_EQ(Listed(nvfp4, 8, 64), (Lines{".weight U8 [8, 32] *", ".weight_scale F8_E4M3 [8, 4]",
                                         ".weight_scale_2 F32 []", ".input_scale F32 []"}));
  nvfp4.compressed_names = true;
  EXPECT_EQ(Listed(nvfp4, 8, 64),
            (Lines{".weight_packed U8 [8, 32] *", ".weight_scale F8_E4M3 [8, 4]",
                   ".weight_global_scale F32 [1]", ".input_global_scale F32 [1]"}));
}

TEST(StoredParts, DeepseekV4sOwnNames) {
  QuantFormat fp8 = {QuantScheme::kFp8Block, 128, 128};
  fp8.short_names = true;
  fp8.scale_dtype = DType::kF8E8M0;
  EXPECT_EQ(Listed(fp8, 1024, 4096),
            (Lines{".weight F8_E4M3 [1024, 4096] *", ".scale F8_E8M0 [8, 32]"}));
  QuantFormat fp4 = {QuantScheme::kMxfp4, 1, 32};
  fp4.short_names = true;
  EXPECT_EQ(Listed(fp4, 8, 64), (Lines{".weight I8 [8, 32] *", ".scale F8_E8M0 [8, 2]"}));
}

TEST(StoredParts, Integers) {
  QuantFormat awq = {QuantScheme::kAwq, 1, 64};
  awq.zero_points = true;
  awq.scale_dtype = DType::kF16;
  EXPECT_EQ(Listed(awq, 256, 128),
            (Lines{".qweight I32 [128, 32] *", ".qzeros I32 [2, 32]", ".scales F16 [2, 256]"}));
  QuantFormat gptq = awq;
  gptq.scheme = QuantScheme::kGptq;
  EXPECT_EQ(Listed(gptq, 256, 128), (Lines{".qweight I32 [16, 256] *", ".qzeros I32 [2, 32]",
                                           ".scales F16 [2, 256]", ".g_idx I32 [128]"}));
  gptq.block_in = 0;  // group size -1
  gptq.bits = 8;
  EXPECT_EQ(Listed(gptq, 256, 128), (Lines{".qweight I32 [32, 256] *", ".qzeros I32 [1, 64]",
                                           ".scales F16 [1, 256]", ".g_idx I32 [128]"}));
  QuantFormat packed = {QuantScheme::kIntPacked, 1, 32};
  packed.scale_dtype = DType::kBF16;
  EXPECT_EQ(Listed(packed, 64, 128),
            (Lines{".weight_packed I32 [64, 16] *", ".weight_scale BF16 [64, 4]",
                   ".weight_shape I32 [2]"}));
  packed.zero_points = packed.act_order = true;
  EXPECT_EQ(Listed(packed, 64, 128).back(), ".weight_g_idx I32 [128]");
  EXPECT_EQ(Listed({QuantScheme::kInt8}, 8, 16),
            (Lines{".weight I8 [8, 16] *", ".weight_scale F32 [8, 1]"}));
}

TEST(StoredParts, BitsAndBytes) {
  EXPECT_EQ(
      Listed({QuantScheme::kBnb4}, 256, 128),
      (Lines{".weight U8 [16384, 1] *", ".weight.absmax U8 [512]", ".weight.nested_absmax F32 [2]",
             ".weight.nested_quant_map F32 [256]", ".weight.quant_map F32 [16]"}));
}

TEST(StoredParts, SizesBeyond64BitsAreAnError) {
  EXPECT_THROW(StoredParts({QuantScheme::kBnb4}, int64_t{1} << 40, int64_t{1} << 40, DType::kBF16),
               SizeOverflow);
}

}  // namespace
}  // namespace shardplan
