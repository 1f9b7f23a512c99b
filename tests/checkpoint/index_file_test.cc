#include "checkpoint/index_file.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing_support::TempDir;

TEST(IndexFileTest, KeepsTheOrderOfTheSource) {
  const PaddedText text(R"({"metadata":{"total_size":9,"more":1},"weight_map":{
      "z.2.w":"b \"x\".safetensors","a":"a.safetensors","z.1.w":"b \"x\".safetensors"}})");
  const Result<ParsedIndex> index = ParseIndex("i", text);
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(RenderIndex(*index, {true, false, true}, Bytes(6)),
            "{\n"
            "  \"metadata\": {\n"
            "    \"total_size\": 6\n"
            "  },\n"
            "  \"weight_map\": {\n"
            "    \"z.2.w\": \"b \\\"x\\\".safetensors\",\n"
            "    \"z.1.w\": \"b \\\"x\\\".safetensors\"\n"
            "  }\n"
            "}\n");
  const std::string all = RenderIndex(*index, {true, true, true}, Bytes(9));
  const Result<ParsedIndex> again = ParseIndex("j", PaddedText(all));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->entries.size(), 3U);
  EXPECT_EQ(again->total_size, 9);
}

TEST(IndexFileTest, WhatIsNoIndex) {
  const TempDir dir;
  const std::string path = dir.Write("i", "0123456789");
  EXPECT_EQ(ReadIndexText(path, Bytes(10))->view(), "0123456789");
  EXPECT_EQ(ReadIndexText(path, Bytes(9)).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(ReadIndexText(dir.Path("gone"), Bytes(9)).error().code, ErrorCode::kIo);
  dir.Write("i", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  EXPECT_EQ(ReadIndexText(path, Bytes(100)).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace shardplan
