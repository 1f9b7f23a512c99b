#include "shardplan/plan/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "shardplan/base/units.h"
#include "support/checkpoint_builder.h"
#include "support/plan_world.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::ExampleFromConfig;
using testing_support::TempDir;
using testing_support::TinyDeepseek;
using testing_support::TinyKimiK3;
using testing_support::TinyQwen3Moe;
using testing_support::WriteTiny;

Inspection InspectionOf(const Model& model, const StageRequest& stages = {}) {
  Result<Inspection> inspection = Inspect(model, stages);
  EXPECT_TRUE(inspection.has_value()) << (inspection ? "" : inspection.error().ToString());
  return inspection ? std::move(*inspection) : Inspection();
}

Model Load(const std::string& path) {
  Result<Model> model = LoadModel(path);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().ToString());
  return model ? std::move(*model) : Model();
}

std::vector<std::string> Ids(const Inspection& inspection) {
  std::vector<std::string> ids;
  for (const Finding& finding : inspection.findings) ids.push_back(finding.id);
  return ids;
}

Bytes Sum(const std::vector<RoleAmount>& roles) {
  Bytes sum;
  for (const RoleAmount& role : roles) {
    Bytes parts;
    for (const DTypeAmount& dtype : role.by_dtype) parts += dtype.amount.bytes;
    EXPECT_EQ(parts, role.amount.bytes) << role.role;
    sum += role.amount.bytes;
  }
  return sum;
}

TEST(InspectTest, EveryBreakdownSumsToThePayload) {
  for (const nlohmann::json& config : {TinyKimiK3(), TinyDeepseek(), TinyQwen3Moe()}) {
    TempDir dir;
    WriteTiny(config, dir.Path("m"));
    const Model model = Load(dir.Path("m"));
    const Inspection i = InspectionOf(model);
    EXPECT_EQ(i.basis, Basis::kExact);
    EXPECT_EQ(i.totals.bytes, model.inventory.payload_bytes);
    EXPECT_EQ(*i.file_bytes, *i.header_bytes + i.totals.bytes);
    EXPECT_EQ(Sum(i.by_role), i.totals.bytes);
    Bytes by_dtype, layers, shards;
    for (const DTypeAmount& dtype : i.by_dtype) by_dtype += dtype.amount.bytes;
    for (const LayerProfile& layer : i.layers) layers += layer.amount.bytes;
    for (const ShardInfo& shard : i.shards) shards += shard.payload_bytes;
    EXPECT_EQ(by_dtype, i.totals.bytes);
    EXPECT_EQ(layers + Sum(i.outside), i.totals.bytes);
    EXPECT_EQ(shards, i.totals.bytes);
  }
}

TEST(InspectTest, AConfigHasNoFiles) {
  const Inspection i = InspectionOf(ExampleFromConfig("deepseek-v3"));
  EXPECT_EQ(i.basis, Basis::kDerived);
  EXPECT_EQ(i.file_bytes, std::nullopt);
  EXPECT_EQ(i.header_bytes, std::nullopt);
  EXPECT_TRUE(i.shards.empty());
  EXPECT_EQ(i.totals.tensors, 91'991);
  EXPECT_EQ(i.totals.bytes, Bytes(688'574'839'360));
  EXPECT_EQ(i.quantization, "fp8");
  EXPECT_THAT(Ids(i), ElementsAre("model.shapes_derived"));
}

TEST(InspectTest, LayersTellTheirKind) {
  const Inspection i = InspectionOf(ExampleFromConfig("deepseek-v3"));
  ASSERT_EQ(i.layers.size(), 62u);
  EXPECT_EQ(i.layers[0].mlp, "dense");
  EXPECT_EQ(i.layers[3].mlp, "moe");
  EXPECT_EQ(i.layers[3].attention, "mla");
  EXPECT_EQ(i.layers[61].attention, "draft");
  EXPECT_TRUE(i.layers[3].IsLike(i.layers[60]));
  EXPECT_FALSE(i.layers[2].IsLike(i.layers[3]));
  const Inspection k3 = InspectionOf(ExampleFromConfig("kimi-k3"));
  EXPECT_EQ(k3.layers[0].attention, "kda");
  EXPECT_EQ(k3.layers[3].attention, "mla");
}

// Each byte that some stage loads is on the stage of its layer, or at an end.
TEST(InspectTest, StagesDivideTheLayers) {
  const Model& model = ExampleFromConfig("kimi-k3");
  const Inspection i = InspectionOf(model, {std::nullopt, std::vector<int64_t>{48, 45}});
  ASSERT_EQ(i.stages.size(), 2u);
  EXPECT_EQ(i.stages[0].range, (StageRange{0, 48}));
  EXPECT_EQ(i.stages[1].range, (StageRange{48, 45}));
  Bytes layers;
  for (const LayerProfile& layer : i.layers) layers += layer.amount.bytes;
  EXPECT_EQ(i.stages[0].layers + i.stages[1].layers, layers);
  EXPECT_EQ(i.stages[0].ends, Bytes(163'840LL * 7168 * 2));
  EXPECT_EQ(i.stages[1].ends, Bytes(163'840LL * 7168 * 2 + 3 * 7168 * 2));  // and norms
  EXPECT_EQ(i.stages[0].every_stage, i.stages[1].every_stage);              // the tower
  EXPECT_EQ(i.stages[0].every_stage + layers + i.stages[0].ends + i.stages[1].ends, i.totals.bytes);
  // vLLM's own split when none is given.
  EXPECT_EQ(InspectionOf(model, {4, std::nullopt}).stages[0].range, (StageRange{0, 23}));
  EXPECT_EQ(InspectionOf(model).stages.size(), 1u);
}

TEST(InspectTest, TheLastStageNeedsATiedEmbedding) {
  TempDir dir;
  nlohmann::json config = testing_support::TinyDense();
  config["tie_word_embeddings"] = true;
  dir.Write("config.json", config.dump());
  const Inspection i = InspectionOf(Load(dir.path()), {2, std::nullopt});
  EXPECT_EQ(i.stages[1].ends, i.stages[0].ends + Bytes(32 * 2));  // and the final norm
}

TEST(InspectTest, ImpossibleStagesAreRefused) {
  const Model& model = ExampleFromConfig("deepseek-v3");
  const std::pair<StageRequest, const char*> cases[] = {
      {{62, std::nullopt}, "--pp 62: expected at most 61 stages, as many as there are layers"},
      {{std::nullopt, std::vector<int64_t>{30, 30}},
       "--pp-partition 30,30: expected layers that sum to 61, found 60"},
      {{3, std::vector<int64_t>{31, 30}},
       "--pp-partition 31,30: expected 3 stages as --pp says, found 2"},
  };
  for (const auto& [request, message] : cases) {
    const Result<Inspection> inspection = Inspect(model, request);
    ASSERT_FALSE(inspection.has_value()) << message;
    EXPECT_EQ(inspection.error().code, ErrorCode::kUsage);
    EXPECT_EQ(inspection.error().ToString(), message);
  }
}

TEST(InspectTest, LargestTensorsAreFolded) {
  const Inspection i = InspectionOf(ExampleFromConfig("deepseek-v3"));
  ASSERT_EQ(i.largest.size(), Inspection::kLargest);
  EXPECT_THAT(i.largest[0].names, ElementsAre("model.embed_tokens.weight"));
  for (size_t k = 1; k < i.largest.size(); ++k) {
    EXPECT_GE(i.largest[k - 1].each, i.largest[k].each);
  }
  const auto dense = std::find_if(i.largest.begin(), i.largest.end(),
                                  [](const LargeTensors& t) { return t.role == "dense_mlp"; });
  ASSERT_NE(dense, i.largest.end());
  EXPECT_THAT(dense->names, ElementsAre("model.layers.{L}.mlp.gate_proj.weight",
                                        "model.layers.{L}.mlp.up_proj.weight"));
  EXPECT_EQ(dense->count, 6);
  EXPECT_EQ(dense->each, Bytes(18'432 * 7168));
  EXPECT_EQ(dense->shape, (Shape{18'432, 7168}));
}

// Tensors that no row explains have a role of their own.
TEST(InspectTest, UnknownTensors) {
  TempDir dir;
  WriteTiny(TinyQwen3Moe(), dir.Path("m"));
  testing_support::WriteShard(
      dir.Path("m/extra.safetensors"),
      testing_support::HeaderJson(
          {{"surprise.3.w", "I64", {8}}, {"surprise.4.w", "I64", {8}}, {"empty", "F32", {0, 4}}}),
      128);
  std::filesystem::remove(dir.Path("m/model.safetensors.index.json"));
  const Inspection i = InspectionOf(Load(dir.Path("m")));
  EXPECT_EQ(i.by_role.back().role, "unknown");
  EXPECT_EQ(i.by_role.back().amount, (Amount{3, 16, 16, Bytes(128)}));
  EXPECT_EQ(i.by_dtype.back().dtype, DType::kI64);
  EXPECT_EQ(i.outside.back().role, "unknown");
  EXPECT_THAT(Ids(i), ElementsAre("model.unknown_tensors", "checkpoint.empty_tensors",
                                  "checkpoint.no_index"));
}

TEST(InspectTest, LayersThatDifferAreNoted) {
  Model model = ExampleFromConfig("deepseek-v3");
  model.contents.layers[7].amount.bytes += Bytes(1000);
  const Inspection i = InspectionOf(model);
  ASSERT_THAT(Ids(i), ElementsAre("model.layers_differ", "model.shapes_derived"));
  EXPECT_EQ(i.findings[0].subject, "mla + moe");
  EXPECT_EQ(i.findings[0].message, "layers of this kind store 2 different amounts: layer 3 has " +
                                       FormatBytes(i.layers[3].amount.bytes) + ", layer 7 has " +
                                       FormatBytes(i.layers[3].amount.bytes + Bytes(1000)));
}

TEST(InspectTest, OneShardOfSeveralIsAPart) {
  TempDir dir;
  WriteTiny(TinyKimiK3(), dir.Path("m"));
  const Model whole = Load(dir.Path("m"));
  ASSERT_GT(whole.inventory.shards.size(), 1u);
  const Model model = Load(dir.Path("m/" + whole.inventory.shards[0].name));
  const Inspection i = InspectionOf(model);
  EXPECT_FALSE(i.complete);
  EXPECT_EQ(i.basis, Basis::kExact);
  EXPECT_EQ(i.active_parameters, std::nullopt);
  EXPECT_EQ(*i.file_bytes, *i.header_bytes + i.totals.bytes);
  EXPECT_EQ(i.totals.tensors, i.shards[0].tensors);
  ASSERT_THAT(Ids(i), ElementsAre("model.single_shard"));
  EXPECT_THAT(i.findings[0].message, HasSubstr("every figure here is of this file alone"));
}

}  // namespace
}  // namespace shardplan
