#include "checkpoint/cross_check.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/checkpoint_builder.h"

namespace shardplan {
namespace {

using testing_support::TestTensor;

ShardFile MakeShard(const std::string& name, const std::vector<TestTensor>& tensors) {
  const PaddedText text(testing_support::HeaderJson(tensors));
  const Bytes payload(testing_support::PayloadOf(tensors));
  ShardFile shard;
  shard.header = *ParseHeader(name, text, payload);
  shard.info.name = name;
  shard.info.header_bytes = Bytes(8 + static_cast<int64_t>(text.view().size()));
  shard.info.payload_bytes = payload;
  shard.info.file_bytes = shard.info.header_bytes + payload;
  return shard;
}

class CrossCheckTest : public testing::Test {
 protected:
  CrossCheckTest() {
    std::vector<ShardFile> shards;
    shards.push_back(MakeShard("a", {{"x.0"}, {"x.1", "F32", {4}}}));
    shards.push_back(MakeShard("b", {{"n", "F32", {4}}, {"x.2"}}));
    Join(std::move(shards));
  }

  void Join(std::vector<ShardFile> shards) {
    inventory_ = Inventory();
    inventory_.directory = "dir";
    patterns_ = Interner();
    JoinShards(std::move(shards), &patterns_, &inventory_);
  }

  std::string Check(std::string_view weight_map) {
    const auto index =
        ParseIndex("i.json", PaddedText(R"({"weight_map":)" + std::string(weight_map) + "}"));
    EXPECT_TRUE(index) << index.error().ToString();
    const Status status = CrossCheck(inventory_, &*index, "i.json", &patterns_);
    return status ? "" : status.error().ToString();
  }

  Inventory inventory_;
  Interner patterns_;
};

constexpr std::string_view kMixed =
    "; index and shards are not of one checkpoint; fetch both again from one revision";

TEST_F(CrossCheckTest, JoinsInOrder) {
  EXPECT_EQ(patterns_.Take(), (std::vector<std::string>{"x.{}", "n"}));
  EXPECT_EQ(inventory_.shapes, (std::vector<Shape>{Shape({2, 3}), Shape({4})}));
  ASSERT_EQ(inventory_.tensors.size(), 4u);
  EXPECT_EQ(inventory_.tensors[1],
            (TensorRecord{
                .indices = {1, -1, -1}, .shape = 1, .dtype = DType::kF32, .begin = 12, .end = 28}));
  EXPECT_EQ(
      inventory_.tensors[3],
      (TensorRecord{
          .indices = {2, -1, -1}, .shard = 1, .dtype = DType::kBF16, .begin = 16, .end = 28}));
  EXPECT_EQ(inventory_.payload_bytes, Bytes(56));
  EXPECT_EQ(inventory_.header_bytes + inventory_.payload_bytes, inventory_.file_bytes);
}

TEST_F(CrossCheckTest, AgreesInAnyOrder) {
  EXPECT_EQ(Check(R"({"x.0":"a","x.1":"a","x.2":"b","n":"b"})"), "");
  EXPECT_EQ(Check(R"({"n":"b","x.2":"b","x.1":"a","x.0":"a"})"), "");
}

TEST_F(CrossCheckTest, ATensorThatNoShardHolds) {
  EXPECT_EQ(Check(R"({"x.0":"a","y.9":"b","x.1":"a","x.3":"b","x.2":"b","n":"b"})"),
            "i.json: tensor y.9: expected in b, found in no shard (2 tensors like this)" +
                std::string(kMixed));
}

TEST_F(CrossCheckTest, ATensorInAnotherShard) {
  EXPECT_EQ(
      Check(R"({"x.0":"a","x.1":"b","x.2":"b","n":"b"})"),
      "i.json: tensor x.1: expected in b, found in a (1 tensor like this)" + std::string(kMixed));
}

TEST_F(CrossCheckTest, ATensorThatTheIndexOmits) {
  EXPECT_EQ(Check(R"({"x.0":"a","n":"b"})"),
            "dir/a: tensor x.1: expected in the index, which does not list it (2 tensors like "
            "this)" +
                std::string(kMixed));
}

TEST_F(CrossCheckTest, ATensorInTwoShards) {
  std::vector<ShardFile> shards;
  shards.push_back(MakeShard("a", {{"x.0"}, {"n"}}));
  shards.push_back(MakeShard("b", {{"x.1"}, {"x.0"}, {"n"}}));
  Join(std::move(shards));
  const Status status = CrossCheck(inventory_, nullptr, "", &patterns_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().ToString(),
            "dir: tensor x.0: expected in one shard, found in a and in b (2 tensors like this); "
            "keep one set of weights in the directory");
  EXPECT_EQ(Check(R"({"x.0":"a","x.1":"b","n":"b"})").substr(0, 53),
            "dir: tensor x.0: expected in one shard, found in a an");
}

TEST_F(CrossCheckTest, TotalSize) {
  const auto finding = [&](std::string_view metadata) -> std::string {
    inventory_.findings.clear();
    const auto index = ParseIndex("i.json", PaddedText(R"({"weight_map":{"a":"b"},"metadata":)" +
                                                       std::string(metadata) + "}"));
    CheckTotalSize(*index, "i.json", &inventory_);
    if (inventory_.findings.empty()) return "";
    const Finding& found = inventory_.findings[0];
    EXPECT_EQ(found.id, "checkpoint.total_size");
    EXPECT_EQ(found.subject, "i.json");
    return std::string(ToString(found.severity)) + ": " + found.message;
  };
  EXPECT_EQ(finding(R"({"total_size":56})"), "");
  EXPECT_EQ(finding(R"({"total_size":57})"),
            "warning: metadata.total_size says 57 B, the shards hold 56 B");
  EXPECT_EQ(finding(R"({})"), "note: metadata.total_size is missing; the shards hold 56 B");
  EXPECT_EQ(finding(R"({"total_size":"56"})"),
            "warning: metadata.total_size is not a whole number but \"56\"; the shards hold 56 B");
}

TEST_F(CrossCheckTest, SizesThatOverflowThrow) {
  std::vector<ShardFile> shards;
  for (const char* name : {"a", "b"}) {
    shards.push_back(MakeShard(name, {}));
    shards.back().info.payload_bytes = Bytes(INT64_MAX - 100);
  }
  EXPECT_THROW(Join(std::move(shards)), SizeOverflow);
}

}  // namespace
}  // namespace shardplan
