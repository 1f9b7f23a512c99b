#include "preflight/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/checkpoint_builder.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::CheckpointBuilder;
using testing_support::ReadText;
using testing_support::TempDir;
using testing_support::TwoShardModel;

class LookAtShardsTest : public ::testing::Test {
 protected:
  ShardsSeen Look(std::vector<std::string> wanted = {First(), Second()}) {
    const std::string path = dir_.Path("m/model.safetensors.index.json");
    const Result<ParsedIndex> index = ParseIndex(path, PaddedText(ReadText(path)));
    EXPECT_TRUE(index.has_value());
    return LookAtShards(dir_.Path("m"), wanted, &*index, path, {});
  }
  static std::string First() { return CheckpointBuilder::ShardName(1, 2); }
  static std::string Second() { return CheckpointBuilder::ShardName(2, 2); }

  TempDir dir_;
  CheckpointBuilder model_ = TwoShardModel(dir_.Path("m"));
};

TEST_F(LookAtShardsTest, Sound) {
  const ShardsSeen seen = Look();
  EXPECT_THAT(seen.findings, IsEmpty());
  EXPECT_TRUE(seen.sound);
  EXPECT_EQ(seen.shards, 2);
  EXPECT_EQ(seen.tensors, 8);
  EXPECT_GT(seen.file_bytes.count(), model_.payload());
}

TEST_F(LookAtShardsTest, APartIsHeldAgainstItsOwnEntries) {
  std::filesystem::remove(model_.Path(Second()));
  const ShardsSeen seen = Look({First()});
  EXPECT_THAT(seen.findings, IsEmpty());
  EXPECT_TRUE(seen.sound);
  EXPECT_EQ(seen.tensors, 4);
}

TEST_F(LookAtShardsTest, Missing) {
  std::filesystem::remove(model_.Path(Second()));
  const ShardsSeen seen = Look();
  ASSERT_THAT(seen.findings, SizeIs(1));
  EXPECT_EQ(seen.findings[0].id, "model.shard_missing");
  EXPECT_EQ(seen.findings[0].message, "1 of 2 shards is not there: " + Second());
  EXPECT_FALSE(seen.sound);
}

TEST_F(LookAtShardsTest, Truncated) {
  std::filesystem::resize_file(model_.Path(First()),
                               std::filesystem::file_size(model_.Path(First())) - 1);
  std::filesystem::resize_file(model_.Path(Second()), 0);
  const ShardsSeen seen = Look();
  ASSERT_THAT(seen.findings, SizeIs(2));
  EXPECT_EQ(seen.findings[0].id, "model.shard_truncated");
  EXPECT_THAT(seen.findings[0].message, HasSubstr(" of payload, found "));
  EXPECT_EQ(seen.findings[1].id, "model.shard_truncated");
  EXPECT_FALSE(seen.sound);
}

TEST_F(LookAtShardsTest, BrokenHeaders) {
  testing_support::WriteShard(model_.Path(First()), "{\"a\":", 4);
  model_.File(Second(), "this is not a safetensors file");
  const ShardsSeen seen = Look();
  ASSERT_THAT(seen.findings, SizeIs(2));
  EXPECT_EQ(seen.findings[0].id, "model.header_broken");
  EXPECT_EQ(seen.findings[1].id, "model.header_broken");
}

TEST_F(LookAtShardsTest, ManyBrokenOnesAreCounted) {
  std::vector<std::string> names;
  for (int i = 1; i <= 12; ++i) {
    names.push_back(CheckpointBuilder::ShardName(i, 12));
    model_.File(names.back(), "no");
  }
  const ShardsSeen seen = LookAtShards(dir_.Path("m"), names, nullptr, "", {});
  ASSERT_THAT(seen.findings, SizeIs(9));
  EXPECT_EQ(seen.findings.back().message,
            "4 more: model-00009-of-00012.safetensors, model-00010-of-00012.safetensors, "
            "model-00011-of-00012.safetensors, model-00012-of-00012.safetensors");
}

TEST_F(LookAtShardsTest, DuplicatesAndContradictions) {
  model_.Unlist("model.layers.0.self_attn.q_proj.weight").Index();
  ShardsSeen seen = Look();
  ASSERT_THAT(seen.findings, SizeIs(1));
  EXPECT_EQ(seen.findings[0].id, "model.index_contradicts");

  model_.Shard(Second(), {{"model.layers.0.mlp.experts.0.w1.weight"}});
  seen = Look();
  ASSERT_THAT(seen.findings, SizeIs(1));
  EXPECT_EQ(seen.findings[0].id, "model.duplicate_tensors");
  EXPECT_THAT(seen.findings[0].message, HasSubstr("expected in one shard, found in "));
}

TEST_F(LookAtShardsTest, PointersAreToldElsewhere) {
  model_.File(First(), "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  const ShardsSeen seen = Look();
  EXPECT_THAT(seen.findings, IsEmpty());
  EXPECT_FALSE(seen.sound);
}

TEST(NameRunsTest, NeighboursAreARun) {
  const std::vector<std::string> all = {"a", "b", "c", "d", "e", "f"};
  EXPECT_EQ(NameRuns(all, {"b"}), "b");
  EXPECT_EQ(NameRuns(all, {"a", "b"}), "a, b");
  EXPECT_EQ(NameRuns(all, {"a", "b", "c", "e"}), "a to c, e");
  EXPECT_EQ(NameRuns(all, {"a", "c", "e", "f"}, 2), "a, c and 2 more");
  EXPECT_EQ(NameRuns(all, all), "a to f");
}

}  // namespace
}  // namespace shardplan
