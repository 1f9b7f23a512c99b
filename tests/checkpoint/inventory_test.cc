#include "shardplan/checkpoint/inventory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/checkpoint_builder.h"

namespace shardplan {
namespace {

using testing_support::CheckpointBuilder;
using testing_support::TempDir;
using testing_support::TwoShardModel;

std::string InventoryError(const std::string& path, const OpenOptions& options = {}) {
  const auto inventory = OpenCheckpoint(path, options);
  return inventory ? "no error" : inventory.error().ToString();
}

std::vector<std::string> Names(const Inventory& inventory) {
  std::vector<std::string> names;
  for (const TensorRecord& tensor : inventory.tensors) names.push_back(inventory.NameOf(tensor));
  return names;
}

std::string FindingsOf(const Inventory& inventory) {
  std::string out;
  for (const Finding& finding : inventory.findings) {
    out += std::string(ToString(finding.severity)) + " " + finding.id + ": " + finding.subject +
           ": " + finding.message + "\n";
  }
  return out;
}

TEST(InventoryTest, ReadsADirectory) {
  const TempDir dir;
  const auto model = TwoShardModel(dir.Path("a model"));  // with a space
  const auto inventory = OpenCheckpoint(model.directory());
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(inventory->kind, SourceKind::kDirectory);
  EXPECT_EQ(inventory->path, model.directory());
  EXPECT_EQ(inventory->config_path, model.Path("config.json"));
  EXPECT_TRUE(inventory->has_headers && inventory->has_index);
  EXPECT_EQ(inventory->index_total_size, model.payload());
  EXPECT_EQ(inventory->payload_bytes, Bytes(model.payload()));
  EXPECT_EQ(FindingsOf(*inventory), "");
  ASSERT_EQ(inventory->shards.size(), 2u);
  EXPECT_EQ(inventory->shards[1].name, "model-00002-of-00002.safetensors");
  EXPECT_EQ(inventory->shards[1].tensors, 4);
  EXPECT_EQ(inventory->patterns.size(), 3u);
  EXPECT_EQ(
      Names(*inventory),
      (std::vector<std::string>{
          "model.layers.0.input_layernorm.weight", "model.layers.0.mlp.experts.0.w1.weight",
          "model.layers.0.mlp.experts.1.w1.weight", "model.layers.0.self_attn.q_proj.weight",
          "model.layers.1.input_layernorm.weight", "model.layers.1.mlp.experts.0.w1.weight",
          "model.layers.1.mlp.experts.1.w1.weight", "model.layers.1.self_attn.q_proj.weight"}));
}

TEST(InventoryTest, TheSameForAnyNumberOfThreads) {
  const TempDir dir;
  CheckpointBuilder model(dir.path());
  for (int shard = 1; shard <= 24; ++shard) {
    std::vector<testing_support::TestTensor> tensors;
    for (int i = 0; i < 40; ++i) {
      tensors.push_back({"s" + std::to_string(shard % 5) + "." + std::to_string(shard) + ".t" +
                             std::to_string(i % 7) + "." + std::to_string(i),
                         "BF16",
                         {shard % 3 + 1, i % 4 + 1}});
    }
    model.Shard(CheckpointBuilder::ShardName(shard, 24), tensors);
  }
  model.Index();
  const auto one = OpenCheckpoint(dir.path(), {.threads = 1});
  ASSERT_TRUE(one) << one.error().ToString();
  for (int round = 0; round < 8; ++round) {
    const auto many = OpenCheckpoint(dir.path(), {.threads = 2 + round});
    ASSERT_TRUE(many);
    EXPECT_EQ(many->patterns, one->patterns);
    EXPECT_EQ(many->shapes, one->shapes);
    EXPECT_EQ(many->tensors, one->tensors);
  }
}

TEST(InventoryTest, ReadsAnIndexAShardAConfig) {
  const TempDir dir;
  const auto model = TwoShardModel(dir.path());
  auto inventory = OpenCheckpoint(dir.Path("model.safetensors.index.json"));
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(inventory->kind, SourceKind::kIndex);
  EXPECT_EQ(inventory->tensors.size(), 8u);

  inventory = OpenCheckpoint(dir.Path(CheckpointBuilder::ShardName(2, 2)));
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(inventory->kind, SourceKind::kSingleShard);
  EXPECT_EQ(inventory->tensors.size(), 4u);
  EXPECT_FALSE(inventory->has_index);
  EXPECT_EQ(inventory->config_path, dir.Path("config.json"));
  EXPECT_EQ(FindingsOf(*inventory), "");

  inventory = OpenCheckpoint(dir.Path("config.json"));
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(inventory->kind, SourceKind::kConfig);
  EXPECT_FALSE(inventory->has_headers);
}

TEST(InventoryTest, AConfigAlone) {
  const TempDir dir;
  dir.Write("config.json", "{}");
  const auto inventory = OpenCheckpoint(dir.path());
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(inventory->kind, SourceKind::kConfig);
  EXPECT_FALSE(inventory->has_headers);
  EXPECT_FALSE(inventory->has_index);
  EXPECT_EQ(inventory->config_path, dir.Path("config.json"));
}

TEST(InventoryTest, AHuggingFaceCache) {
  const TempDir dir;
  const auto model = TwoShardModel(dir.Path("blobs"));
  const std::string snapshot = dir.MakeDir("snapshots/0123abc");
  int blob = 0;
  for (const char* name :
       {"config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors"}) {
    const std::string hash = "blob" + std::to_string(blob++);
    std::filesystem::rename(model.Path(name), model.Path(hash));
    std::filesystem::create_symlink("../../blobs/" + hash, snapshot + "/" + name);
  }
  for (const std::string& path : {snapshot, snapshot + "/model.safetensors.index.json"}) {
    const auto inventory = OpenCheckpoint(path);
    ASSERT_TRUE(inventory) << inventory.error().ToString();
    EXPECT_EQ(inventory->tensors.size(), 8u);
    EXPECT_EQ(inventory->config_path, snapshot + "/config.json");
  }
  // A link whose blob is not there yet is a shard that is missing.
  std::filesystem::remove(model.Path("blob3"));
  EXPECT_EQ(InventoryError(snapshot),
            snapshot +
                "/model.safetensors.index.json: expected 2 shards, 1 of them missing: "
                "model-00002-of-00002.safetensors; fetch the missing ones");
}

TEST(InventoryTest, MissingShards) {
  const TempDir dir;
  TwoShardModel(dir.path());
  std::filesystem::remove(dir.Path(CheckpointBuilder::ShardName(1, 2)));
  EXPECT_EQ(InventoryError(dir.path()),
            dir.Path("model.safetensors.index.json") +
                ": expected 2 shards, 1 of them missing: model-00001-of-00002.safetensors; fetch "
                "the missing ones");
  std::filesystem::remove(dir.Path(CheckpointBuilder::ShardName(2, 2)));
  const auto inventory = OpenCheckpoint(dir.path());
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_FALSE(inventory->has_headers);
  EXPECT_TRUE(inventory->has_index);
  EXPECT_TRUE(inventory->tensors.empty());
  ASSERT_EQ(inventory->index_names.size(), 8u);
  EXPECT_EQ(inventory->NameOf(inventory->index_names[5]), "model.layers.1.mlp.experts.0.w1.weight");
  EXPECT_EQ(FindingsOf(*inventory),
            "note checkpoint.headers_absent: " + dir.path() +
                ": none of the 2 shards that the index names is here; sizes come from the "
                "config\n");
}

TEST(InventoryTest, NamesAloneWhateverIsThere) {
  const TempDir dir;
  auto model = TwoShardModel(dir.path());
  model.File(CheckpointBuilder::ShardName(1, 2), "no safetensors file");
  std::filesystem::remove(dir.Path(CheckpointBuilder::ShardName(2, 2)));
  OpenOptions options;
  options.index_only = true;
  const auto inventory = OpenCheckpoint(dir.path(), options);
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_FALSE(inventory->has_headers);
  EXPECT_EQ(inventory->index_names.size(), 8u);
  EXPECT_EQ(FindingsOf(*inventory), "");
  std::filesystem::remove(dir.Path("model.safetensors.index.json"));
  EXPECT_FALSE(OpenCheckpoint(dir.path(), options)) << "without an index there are headers alone";
}

TEST(InventoryTest, ExtraShardsAreLeftOut) {
  const TempDir dir;
  auto model = TwoShardModel(dir.path());
  model.File("consolidated.safetensors", "not even a safetensors file");
  auto inventory = OpenCheckpoint(dir.path());
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(inventory->shards.size(), 2u);
  EXPECT_EQ(FindingsOf(*inventory),
            "warning checkpoint.extra_shard: " + dir.Path("consolidated.safetensors") +
                ": the index does not name this file; it is left out\n");
  model.File("other.safetensors", "");
  inventory = OpenCheckpoint(dir.path());
  ASSERT_TRUE(inventory);
  EXPECT_EQ(FindingsOf(*inventory),
            "warning checkpoint.extra_shard: " + dir.Path("consolidated.safetensors") +
                ": the index does not name this file and 1 more; they are left out\n");
}

TEST(InventoryTest, WithoutAnIndex) {
  const TempDir dir;
  CheckpointBuilder model(dir.path());
  model.Shard("b.safetensors", {{"y"}});
  auto inventory = OpenCheckpoint(dir.path());
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(FindingsOf(*inventory), "");
  EXPECT_EQ(inventory->config_path, "");

  model.Shard("a.safetensors", {{"x"}});
  inventory = OpenCheckpoint(dir.path());
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(Names(*inventory), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(FindingsOf(*inventory),
            "note checkpoint.no_index: " + dir.path() +
                ": 2 .safetensors files and no index; all of them are taken as one model\n");

  model.Shard("c.safetensors", {{"x"}});
  EXPECT_EQ(InventoryError(dir.path()),
            dir.path() +
                ": tensor x: expected in one shard, found in a.safetensors and in c.safetensors (1 "
                "tensor like this); keep one set of weights in the directory");
}

TEST(InventoryTest, IndexAndShardsMustAgree) {
  const TempDir dir;
  auto model = TwoShardModel(dir.path());
  const std::string index = dir.Path("model.safetensors.index.json");
  model.List("lm_head.weight", CheckpointBuilder::ShardName(2, 2)).Index();
  EXPECT_EQ(
      InventoryError(dir.path()),
      index +
          ": tensor lm_head.weight: expected in model-00002-of-00002.safetensors, found in no "
          "shard (1 tensor like this); index and shards are not of one checkpoint; fetch "
          "both again from one revision");
  model.Unlist("lm_head.weight").Unlist("model.layers.0.input_layernorm.weight").Index();
  EXPECT_EQ(InventoryError(dir.path()),
            dir.Path("model-00001-of-00002.safetensors") +
                ": tensor model.layers.0.input_layernorm.weight: expected in the index, which does "
                "not list it (1 tensor like this); index and shards are not of one checkpoint; "
                "fetch both again from one revision");
}

TEST(InventoryTest, AWrongTotalSizeIsAFinding) {
  const TempDir dir;
  auto model = TwoShardModel(dir.path());
  model.Index(R"({"total_size":5})");
  const auto inventory = OpenCheckpoint(dir.path());
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(inventory->index_total_size, 5);
  EXPECT_EQ(FindingsOf(*inventory),
            "warning checkpoint.total_size: " + dir.Path("model.safetensors.index.json") +
                ": metadata.total_size says 5 B, the shards hold " +
                std::to_string(model.payload()) + " B\n");
}

TEST(InventoryTest, AnIndexMayNameFilesOtherwise) {
  const TempDir dir;
  CheckpointBuilder model(dir.path());
  model.Shard("weights part", {{"x"}}).Shard("z.safetensors", {{"y"}}).Index();
  const auto inventory = OpenCheckpoint(dir.path());
  ASSERT_TRUE(inventory) << inventory.error().ToString();
  EXPECT_EQ(Names(*inventory), (std::vector<std::string>{"x", "y"}));
}

TEST(InventoryTest, AFaultyShardIsNamed) {
  const TempDir dir;
  auto model = TwoShardModel(dir.path());
  const std::string shard = dir.Path(CheckpointBuilder::ShardName(2, 2));
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 1);
  EXPECT_EQ(InventoryError(dir.path()).substr(0, shard.size() + 10), shard + ": expected");
}

TEST(InventoryTest, LfsPointers) {
  const TempDir dir;
  constexpr std::string_view kPointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
  auto model = TwoShardModel(dir.path());
  const std::string shard = dir.Write(CheckpointBuilder::ShardName(1, 2), kPointer);
  constexpr std::string_view kAdvice =
      ": expected the file itself, found a Git LFS pointer: the directory holds LFS pointers, not "
      "weights; run `git lfs pull` in it";
  EXPECT_EQ(InventoryError(dir.path()), shard + std::string(kAdvice));
  const std::string index = dir.Write("model.safetensors.index.json", kPointer);
  EXPECT_EQ(InventoryError(dir.path()), index + std::string(kAdvice));
}

TEST(InventoryTest, Limits) {
  const TempDir dir;
  TwoShardModel(dir.path());
  const auto size = std::filesystem::file_size(dir.Path("model.safetensors.index.json"));
  EXPECT_EQ(InventoryError(dir.path(), {.max_index = Bytes(100)}),
            dir.Path("model.safetensors.index.json") +
                ": expected an index of at most 100 B, the file has " + std::to_string(size) +
                " B");
  EXPECT_NE(InventoryError(dir.path(), {.max_header = Bytes(100)})
                .find("expected a header of at most 100 bytes, the file claims"),
            std::string::npos);
}

TEST(InventoryTest, ALoopOfLinksEnds) {
  const TempDir dir;
  auto model = TwoShardModel(dir.path());
  const std::string shard = CheckpointBuilder::ShardName(1, 2);
  std::filesystem::remove(dir.Path(shard));
  std::filesystem::create_symlink(shard, dir.Path(shard));
  EXPECT_EQ(InventoryError(dir.path()),
            dir.Path(shard) + ": cannot open: Too many levels of symbolic links");
}

TEST(InventoryTest, HostileIndexNamesDoNotReachTheDisk) {
  const TempDir dir;
  testing_support::WriteShard(dir.Path("outside.safetensors"), testing_support::HeaderJson({{"x"}}),
                              12);
  const std::string model = dir.MakeDir("m");
  dir.Write("m/model.safetensors.index.json", R"({"weight_map":{"x":"../outside.safetensors"}})");
  EXPECT_EQ(InventoryError(model),
            model +
                "/model.safetensors.index.json: tensor x: expected the plain name of a file in the "
                "same directory, found '../outside.safetensors'; an index must not point outside "
                "of its directory; do not trust this one");
}

}  // namespace
}  // namespace shardplan
