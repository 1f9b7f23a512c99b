#include "launch/stage_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "launch/stage_world.h"
#include "support/sha256.h"

namespace shardplan {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing_support::ReadText;
using testing_support::Sha256Hex;
using testing_support::WriteText;

constexpr const char* kIndex = "model.safetensors.index.json";

class StageIndexTest : public testing_support::StageWorld {
 protected:
  Result<Bundle> Make() const { return MakeStageIndex({MakePlan(), model_, site_}); }

  std::string Refusal() const {
    const Result<Bundle> bundle = Make();
    return bundle ? "" : bundle.error().ToString();
  }
};

// The layer in a name of this model; -1 outside the stack.
int LayerOf(const std::string& name) {
  const std::string prefix = "model.layers.";
  const size_t at = name.find(prefix);
  if (at == std::string::npos || name.find("vision") != std::string::npos) return -1;
  return std::stoi(name.substr(at + prefix.size()));
}

TEST_F(StageIndexTest, KeepsTheLayersOfTheStageAndEverythingOutside) {
  const std::string source = ReadText(dir_.Path("m/") + kIndex);
  const Result<Bundle> bundle = Make();
  ASSERT_TRUE(bundle.has_value()) << bundle.error().ToString();
  EXPECT_EQ(ReadText(dir_.Path("m/") + kIndex), source) << "the original is not modified";

  const Json all = Json::parse(source)["weight_map"];
  const int first_layer[] = {0, 4, 6};
  for (int stage = 0; stage < 2; ++stage) {
    const Json index =
        Json::parse(TextOf(*bundle, "stage-" + std::to_string(stage) + "/" + kIndex));
    Json expected = Json::object();
    int outside = 0;
    for (const auto& [name, shard] : all.items()) {
      const int layer = LayerOf(name);
      outside += layer < 0 ? 1 : 0;
      if (layer < 0 || (layer >= first_layer[stage] && layer < first_layer[stage + 1])) {
        expected[name] = shard;
      }
    }
    EXPECT_GT(outside, 5);
    EXPECT_EQ(index["weight_map"].dump(), expected.dump()) << "in the source's order";
  }
}

TEST_F(StageIndexTest, TheManifestTellsWhereItComesFromAndWhatItNeeds) {
  const Result<Bundle> bundle = Make();
  ASSERT_TRUE(bundle.has_value()) << bundle.error().ToString();
  const std::string source = ReadText(dir_.Path("m/") + kIndex);
  const std::string text = TextOf(*bundle, std::string("stage-1/") + kIndex);
  const Json index = Json::parse(text);
  const Json manifest = Json::parse(TextOf(*bundle, "stage-1/manifest.json"));
  EXPECT_EQ(manifest["schema_version"], 1);
  EXPECT_EQ(manifest["kind"], "stage_index");
  EXPECT_EQ(manifest["nodes"].dump(), "[1]");
  EXPECT_EQ(manifest["stages"].dump(), R"([{"stage":1,"first_layer":4,"layer_count":2}])");
  EXPECT_EQ(manifest["source"]["sha256"], Sha256Hex(source));
  EXPECT_EQ(manifest["source"]["bytes"], source.size());
  EXPECT_EQ(manifest["source"]["files"], 9);
  EXPECT_EQ(manifest["source"]["tensors"], model_.totals.tensors);
  EXPECT_EQ(manifest["index"]["sha256"], Sha256Hex(text));
  EXPECT_EQ(manifest["index"]["bytes"], text.size());
  EXPECT_EQ(manifest["tensors"], index["weight_map"].size());

  // The files are those that the index names, at their sizes.
  std::set<std::string> named;
  for (const auto& [name, shard] : index["weight_map"].items()) named.insert(shard);
  std::set<std::string> listed;
  uintmax_t bytes = 0;
  for (const Json& file : manifest["files"]) {
    listed.insert(file["name"]);
    EXPECT_EQ(file["bytes"],
              std::filesystem::file_size(dir_.Path("m/") + file["name"].get<std::string>()));
    bytes += file["bytes"].get<uintmax_t>();
  }
  EXPECT_EQ(listed, named);
  EXPECT_EQ(listed, (std::set<std::string>{Shard(5), Shard(6), Shard(7), Shard(8), Shard(9)}));
  EXPECT_EQ(manifest["bytes"], bytes);

  // One layer a shard and nothing of others in them: the payload of the kept shards.
  Bytes payload;
  for (const ShardInfo& shard : model_.inventory.shards) {
    if (listed.contains(shard.name)) payload += shard.payload_bytes;
  }
  EXPECT_EQ(manifest["total_size"], payload.count());
  EXPECT_EQ(index["metadata"]["total_size"], payload.count());
}

TEST_F(StageIndexTest, TheSameInputMakesTheSameBytes) {
  const Result<Bundle> one = Make();
  const Result<Bundle> two = Make();
  ASSERT_TRUE(one.has_value() && two.has_value());
  EXPECT_EQ(RenderBundle(*one), RenderBundle(*two));
}

TEST_F(StageIndexTest, WritesWhatWillBeMounted) {
  site_.model_path = "/models/it's K3";
  const Result<Bundle> bundle = Make();
  ASSERT_TRUE(bundle.has_value());
  EXPECT_THAT(TextOf(*bundle, "FILES.md"),
              HasSubstr("-v \"$PWD\"/stage-0/model.safetensors.index.json:'/models/it'\\''s "
                        "K3/model.safetensors.index.json':ro\n"));
  EXPECT_THAT(TextOf(*bundle, "FILES.md"),
              HasSubstr("shardplan check model '/models/it'\\''s K3' --stage-index stage-1\n"));
  site_.model_path = "/models/a:b";  // a colon would end the path
  EXPECT_THAT(
      TextOf(*Make(), "FILES.md"),
      HasSubstr("--mount type=bind,readonly,source=\"$PWD\"/stage-0/model.safetensors.index."
                "json,target=/models/a:b/model.safetensors.index.json\n"));
}

TEST_F(StageIndexTest, RefusesASingleShard) {
  std::filesystem::remove_all(dir_.Path("m"));
  testing_support::WriteTiny(testing_support::TinyDense(), dir_.Path("m"));
  Reload();
  ASSERT_EQ(model_.inventory.shards.size(), 1U);
  deployment_.partition.reset();
  EXPECT_THAT(Refusal(), HasSubstr("expected several shards, found one"));
}

TEST_F(StageIndexTest, RefusesWhatNeedNotBeCut) {
  deployment_.gpus_per_node = 8;
  EXPECT_THAT(Refusal(), HasSubstr("every node runs every stage and needs every file"));
  deployment_.sizes.pp = 1;
  deployment_.partition.reset();
  EXPECT_THAT(Refusal(), HasSubstr("--pp 1: expected two pipeline stages or more"));
}

TEST_F(StageIndexTest, RefusesWithoutHeadersOrIndex) {
  for (int shard = 1; shard <= 9; ++shard) {
    std::filesystem::rename(dir_.Path("m/" + Shard(shard)), dir_.Path(Shard(shard)));
  }
  Reload();
  EXPECT_THAT(Refusal(), HasSubstr("whose headers say which tensor is where, found none"));
  for (int shard = 1; shard <= 9; ++shard) {
    std::filesystem::rename(dir_.Path(Shard(shard)), dir_.Path("m/" + Shard(shard)));
  }
  std::filesystem::remove(dir_.Path("m/") + kIndex);
  Reload();
  EXPECT_THAT(Refusal(), HasSubstr("expected a model.safetensors.index.json, found none"));
}

TEST_F(StageIndexTest, RefusesAFamilyThatNobodyKnows) {
  model_.guesses = Guesses();
  EXPECT_THAT(Refusal(), HasSubstr("no family covers this architecture"));
}

TEST_F(StageIndexTest, NoticesThatTheDirectoryChanged) {
  const Plan plan = MakePlan();
  std::string text = ReadText(dir_.Path("m/") + kIndex);
  std::filesystem::remove(dir_.Path("m/" + Shard(9)));
  EXPECT_FALSE(MakeStageIndex({plan, model_, site_}).has_value());
  WriteText(dir_.Path("m/") + kIndex, "{\"weight_map\":{\"x\":\"../../etc/passwd\"}}");
  const Result<Bundle> hostile = MakeStageIndex({plan, model_, site_});
  ASSERT_FALSE(hostile.has_value());
  EXPECT_THAT(hostile.error().ToString(), HasSubstr("plain name of a file"));
}

// One file of layers 0 to 2, one of 3 to 5: with a stage boundary inside the second, both nodes
// keep it, and each index has its own half of it.
TEST_F(StageIndexTest, ABoundaryInsideAShard) {
  const std::string from = dir_.Path("m");
  Result<StandInPlan> plan = PlanStandInFrom(*OpenCheckpoint(from));
  ASSERT_TRUE(plan.has_value());
  std::vector<StandInShard> merged(3);
  for (size_t i = 0; i < plan->shard_count; ++i) {
    StandInShard shard = *plan->shard(i);
    StandInShard& target = merged[i < 3 ? 0 : i < 6 ? 1 : 2];
    for (StandInTensor& tensor : shard.tensors) target.tensors.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < merged.size(); ++i) {
    merged[i].file_name = "part-" + std::to_string(i) + ".safetensors";
  }
  plan->shard_count = merged.size();
  plan->shard = [merged](size_t i) -> Result<StandInShard> { return merged[i]; };
  ASSERT_TRUE(WriteStandIn(*plan, dir_.Path("merged")).has_value());
  const Result<Model> model = LoadModel(dir_.Path("merged"));
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  const Plan deployed = testing_support::Evaluate(*model, deployment_);
  const Result<Bundle> bundle = MakeStageIndex({deployed, *model, site_});
  ASSERT_TRUE(bundle.has_value()) << bundle.error().ToString();
  const Json first = Json::parse(TextOf(*bundle, "stage-0/manifest.json"));
  const Json second = Json::parse(TextOf(*bundle, "stage-1/manifest.json"));
  EXPECT_EQ(first["files"].size(), 3U);
  EXPECT_EQ(second["files"].size(), 2U);
  EXPECT_EQ(first["tensors"].get<int64_t>() + second["tensors"].get<int64_t>(),
            model->totals.tensors + static_cast<int64_t>(merged[2].tensors.size()));
  EXPECT_LT(second["total_size"].get<int64_t>(), second["bytes"].get<int64_t>());
}

}  // namespace
}  // namespace shardplan
