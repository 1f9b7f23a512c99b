#include "plan/node_loading.h"

#include <gtest/gtest.h>

#include "support/plan_world.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::TempDir;
using testing_support::TinyKimiK3;
using testing_support::WriteTiny;

Deployment SmallNode(int64_t tp, int64_t pp) {
  Deployment d;
  d.gpu = "h20-96";
  d.sizes.tp = tp;
  d.sizes.pp = pp;
  d.gpus_per_node = tp;
  d.settings.max_num_seqs = 1;
  d.settings.max_num_batched_tokens = 64;
  return d;
}

// Shards 1 to 6 are layers, 7 embedding and head, 8 projector, 9 tower.
class NodeLoadingTest : public ::testing::Test {
 protected:
  NodeLoadingTest() {
    WriteTiny(TinyKimiK3(), dir_.Path("m"));
    Result<Model> model = LoadModel(dir_.Path("m"));
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().ToString());
    model_ = std::move(*model);
  }
  Bytes PayloadOf(std::initializer_list<size_t> shards) const {
    Bytes sum;
    for (const size_t shard : shards) sum += model_.inventory.shards[shard - 1].payload_bytes;
    return sum;
  }
  Bytes SizeOf(std::initializer_list<size_t> shards) const {
    Bytes sum;
    for (const size_t shard : shards) sum += model_.inventory.shards[shard - 1].file_bytes;
    return sum;
  }
  TempDir dir_;
  Model model_;
};

TEST_F(NodeLoadingTest, ANodeReadsItsStages) {
  Deployment d = SmallNode(2, 2);
  d.partition = std::vector<int64_t>{4, 2};
  d.links.disk_gb_per_s = 2;
  d.links.shared_fs_gb_per_s = 4;
  const Plan plan = Evaluate(model_, d);
  ASSERT_TRUE(plan.loading.has_value());
  ASSERT_EQ(plan.loading->nodes.size(), 2u);
  const NodeLoading& first = plan.loading->nodes[0];
  const NodeLoading& last = plan.loading->nodes[1];
  // The file with both ends is needed by both, of whose tensors each has its own.
  EXPECT_EQ(first.tensors + last.tensors, PayloadOf({1, 2, 3, 4, 5, 6, 7}) + PayloadOf({8, 9}) * 2);
  EXPECT_GT(first.tensors, PayloadOf({1, 2, 3, 4, 8, 9}));
  EXPECT_EQ(*first.needed, SizeOf({1, 2, 3, 4, 7, 8, 9}));
  EXPECT_EQ(*last.needed, SizeOf({5, 6, 7, 8, 9}));
  EXPECT_EQ(*first.opened, model_.inventory.file_bytes);
  EXPECT_EQ(*first.saved, SizeOf({5, 6}));
  EXPECT_EQ(*last.saved, SizeOf({1, 2, 3, 4}));
  EXPECT_EQ(first.needed_files, 7);
  EXPECT_EQ(first.opened_files, 9);
  EXPECT_EQ(first.shared_files, 7);  // both ranks of the stage
  EXPECT_DOUBLE_EQ(first.disk.seconds, static_cast<double>(first.tensors.count()) / 2e9);
  EXPECT_EQ(first.disk.fastest, first.disk.slowest);
  EXPECT_EQ(plan.loading->from_shared_fs, first.tensors + last.tensors);
  EXPECT_DOUBLE_EQ(plan.loading->shared_fs.seconds,
                   static_cast<double>(plan.loading->from_shared_fs.count()) / 4e9);
}

TEST_F(NodeLoadingTest, TowersAreLeftOutWithTheVision) {
  Deployment d = SmallNode(2, 2);
  d.settings.language_model_only = true;
  const Plan text = Evaluate(model_, d);
  d.settings.language_model_only = false;
  const Plan both = Evaluate(model_, d);
  EXPECT_EQ(both.loading->from_shared_fs - text.loading->from_shared_fs, PayloadOf({8, 9}) * 2);
}

TEST_F(NodeLoadingTest, OneRankSharesNothing) {
  const Plan plan = Evaluate(model_, SmallNode(1, 1));
  ASSERT_EQ(plan.loading->nodes.size(), 1u);
  EXPECT_EQ(plan.loading->nodes[0].shared_files, 0);
  EXPECT_EQ(plan.loading->nodes[0].tensors, model_.inventory.payload_bytes);
  EXPECT_EQ(*plan.loading->nodes[0].saved, Bytes());
  EXPECT_EQ(plan.loading->to_card, plan.ranks[0].weights);
}

TEST_F(NodeLoadingTest, StagingIsOnTheCardWhereTheLoaderPutsIt) {
  Deployment d = SmallNode(1, 1);
  const Plan plain = Evaluate(model_, d);
  EXPECT_FALSE(plain.loading->staging_on_card);
  Bytes largest;
  for (const ShardInfo& shard : model_.inventory.shards) {
    largest = std::max(largest, shard.file_bytes);
  }
  EXPECT_EQ(plain.loading->staging, largest);
  d.settings.load_format = "fastsafetensors";
  EXPECT_TRUE(Evaluate(model_, d).loading->staging_on_card);
}

TEST(NodeLoading, WithoutHeadersFilesAreNotKnown) {
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), testing_support::PublishedKimiK3());
  ASSERT_TRUE(plan.loading.has_value());
  ASSERT_EQ(plan.loading->nodes.size(), 2u);
  const NodeLoading& first = plan.loading->nodes[0];
  EXPECT_FALSE(first.needed || first.opened || first.saved || first.all_from_disk);
  // 48 layers and the embedding: one dense, 12 MLA and 35 KDA mixtures.
  EXPECT_EQ(first.tensors,
            Bytes(2'341'213'184 + 12 * 16'566'684'160 + 35 * 16'990'092'800 + 2'348'810'240));
  EXPECT_LT(first.disk.fastest, first.disk.seconds);
  EXPECT_GT(first.disk.slowest, first.disk.seconds);
}

}  // namespace
}  // namespace shardplan
