#include "shardplan/model/stand_in.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "shardplan/checkpoint/inventory.h"
#include "support/example_model.h"
#include "support/sha256.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::ExampleConfig;
using testing_support::Sha256Hex;
using testing_support::TempDir;
using testing_support::WriteTiny;

std::string HeaderOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  uint64_t length = 0;
  in.read(reinterpret_cast<char*>(&length), sizeof length);
  std::string header(length, '\0');
  in.read(header.data(), static_cast<std::streamsize>(length));
  EXPECT_TRUE(in.good()) << path;
  return header;
}

// The whole published checkpoint from its config: 96 file sizes and 96 header hashes. A matching
// hash fixes every name, dtype, shape and offset of a shard.
TEST(StandIn, KimiK3EqualsThePublishedShards) {
  TempDir dir;
  const StandInReport report = WriteTiny(ExampleConfig("kimi-k3"), dir.Path("k3"));
  EXPECT_EQ(report.shards, 96);
  EXPECT_EQ(report.tensors, 497'220);
  EXPECT_EQ(report.payload_bytes, Bytes(1'560'860'324'864));
  EXPECT_EQ(report.file_bytes, Bytes(1'560'936'091'448));
  std::ifstream in(std::string(SHARDPLAN_TEST_DATA) + "/kimi-k3/published_shards.tsv");
  int checked = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    int shard;
    uint64_t bytes;
    std::string hash;
    fields >> shard >> bytes >> hash;
    char name[64];
    std::snprintf(name, sizeof name, "k3/model-%05d-of-000096.safetensors", shard);
    EXPECT_EQ(std::filesystem::file_size(dir.Path(name)), bytes) << name;
    EXPECT_EQ(Sha256Hex(HeaderOf(dir.Path(name))).substr(0, 16), hash) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 96);
}

// What the family derives from the config is what the written headers hold, name by name.
TEST(StandIn, HeadersHoldTheTable) {
  for (const nlohmann::json& config :
       {testing_support::TinyKimiK3(), testing_support::TinyDeepseek(),
        testing_support::TinyDense()}) {
    TempDir dir;
    WriteTiny(config, dir.Path("m"));
    const auto inventory = OpenCheckpoint(dir.Path("m"));
    ASSERT_TRUE(inventory.has_value()) << inventory.error().ToString();
    std::map<std::string, std::pair<DType, Shape>> stored, derived;
    for (const TensorRecord& record : inventory->tensors) {
      stored[inventory->NameOf(record)] = {record.dtype, inventory->shapes[record.shape]};
    }
    for (const ModuleRow& row : testing_support::Build(config).table.rows) {
      const std::vector<int64_t> layers =
          row.layers.empty() ? std::vector<int64_t>{-1} : row.layers.layers();
      for (const int64_t layer : layers) {
        ForEachTensor(row, layer, [&](const std::string& name, const StoredTensor& tensor) {
          derived[name] = {tensor.dtype, tensor.shape};
        });
      }
    }
    EXPECT_EQ(stored, derived);
  }
}

TEST(StandIn, CutsAtFiveGigabytes) {
  const auto plan = PlanStandIn(testing_support::Build(ExampleConfig("dense-70b")), "{}");
  ASSERT_TRUE(plan.has_value());
  int64_t tensors = 0;
  for (size_t i = 0; i < plan->shard_count; ++i) {
    const auto shard = plan->shard(i);
    ASSERT_TRUE(shard.has_value());
    Bytes payload;
    for (const StandInTensor& tensor : shard->tensors) {
      payload += *SizeOf(tensor.dtype, tensor.shape);
    }
    EXPECT_LE(payload, Bytes(5'000'000'000));
    tensors += static_cast<int64_t>(shard->tensors.size());
  }
  EXPECT_EQ(tensors, 723);
  EXPECT_EQ(plan->shard(0)->file_name, "model-00001-of-00030.safetensors");
}

}  // namespace
}  // namespace shardplan
