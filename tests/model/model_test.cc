#include "shardplan/model/model.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::TempDir;
using testing_support::TinyDeepseek;
using testing_support::TinyDense;
using testing_support::TinyKimiK3;
using testing_support::TinyQwen35;
using testing_support::TinyQwen35Moe;
using testing_support::TinyQwen3Next;
using testing_support::TinyQwen3VlMoe;
using testing_support::WriteTiny;

bool HasFinding(const Model& model, const std::string& id) {
  for (const Finding& finding : model.findings) {
    if (finding.id == id) return true;
  }
  return false;
}

TEST(LoadModel, DirectoryIndexAndConfigAgree) {
  for (const nlohmann::json& config : {TinyKimiK3(), TinyDeepseek(), TinyDense(), TinyQwen35(),
                                       TinyQwen35Moe(), TinyQwen3Next(), TinyQwen3VlMoe()}) {
    TempDir dir;
    const std::string path = dir.Path("a model");
    WriteTiny(config, path);
    const auto full = LoadModel(path);
    ASSERT_TRUE(full.has_value()) << full.error().ToString();
    EXPECT_EQ(full->shape_basis, Basis::kExact);
    EXPECT_TRUE(full->inventory.tensors.empty());  // served their purpose
    const auto derived = LoadModel(path + "/config.json");
    ASSERT_TRUE(derived.has_value()) << derived.error().ToString();
    EXPECT_EQ(derived->shape_basis, Basis::kDerived);
    EXPECT_TRUE(HasFinding(*derived, "model.shapes_derived"));
    EXPECT_EQ(full->totals.tensors, derived->totals.tensors);
    EXPECT_EQ(full->totals.payload, derived->totals.payload);
    EXPECT_EQ(full->totals.parameters, derived->totals.parameters);
    EXPECT_EQ(full->totals.elements, derived->totals.elements);
    const std::string index = path + "/model.safetensors.index.json";
    if (std::filesystem::exists(index)) {
      const auto by_index = LoadModel(index);
      ASSERT_TRUE(by_index.has_value()) << by_index.error().ToString();
      EXPECT_EQ(by_index->totals.tensors, full->totals.tensors);
    }
  }
}

TEST(LoadModel, AnIndexWithoutItsShardsIsDerived) {
  TempDir dir;
  const std::string path = dir.Path("m");
  WriteTiny(TinyKimiK3(), path);
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".safetensors") std::filesystem::remove(entry);
  }
  const auto model = LoadModel(path);
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  EXPECT_EQ(model->shape_basis, Basis::kDerived);
  EXPECT_TRUE(model->shard_use.empty());
}

TEST(LoadModel, AnIndexTellsWhatIsNotStored) {
  TempDir dir;
  const std::string path = dir.Path("m");
  Assumptions as_stored;
  as_stored.mtp = false;
  as_stored.stacked_experts = false;
  WriteTiny(TinyQwen35Moe(), path, as_stored);
  const TensorTotals stored = Totals(Build(TinyQwen35Moe(), as_stored).table);
  // A single shard has no index of its own.
  std::string map;
  for (const ModuleRow& row : Build(TinyQwen35Moe(), as_stored).table.rows) {
    for (const int64_t layer :
         row.layers.empty() ? std::vector<int64_t>{-1} : row.layers.layers()) {
      ForEachTensor(row, layer, [&](const std::string& name, const StoredTensor&) {
        map += (map.empty() ? "\"" : ", \"") + name + "\": \"model-00001-of-00001.safetensors\"";
      });
    }
  }
  std::filesystem::remove(path + "/model.safetensors");
  dir.Write("m/model.safetensors.index.json", "{\"metadata\": {}, \"weight_map\": {" + map + "}}");
  const auto model = LoadModel(path);
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  EXPECT_EQ(model->totals.tensors, stored.tensors);
  EXPECT_EQ(model->totals.payload, stored.payload);
  EXPECT_TRUE(HasFinding(*model, "model.mtp_absent"));
}

TEST(LoadModel, OneShardOfSeveralConfirmsItsPart) {
  TempDir dir;
  const std::string path = dir.Path("m");
  WriteTiny(TinyKimiK3(), path);
  const auto model = LoadModel(path + "/model-00002-of-000009.safetensors");
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  EXPECT_EQ(model->shape_basis, Basis::kDerived);
  EXPECT_TRUE(HasFinding(*model, "model.single_shard"));
  EXPECT_EQ(model->totals.tensors, Totals(model->table).tensors);
}

TEST(LoadModel, AnnouncedDraftLayersThatAreNotStored) {
  TempDir dir;
  Assumptions none;
  none.mtp = false;
  WriteTiny(TinyDeepseek(), dir.Path("m"), none);
  const auto model = LoadModel(dir.Path("m"));
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  EXPECT_TRUE(HasFinding(*model, "model.mtp_absent"));
  for (const ModuleRow& row : model->table.rows) EXPECT_NE(row.role, Role::kDraft);
}

// A config does not say whether experts are stacked; the names do.
TEST(LoadModel, NamesTellHowExpertsAreStored) {
  for (const nlohmann::json& config :
       {TinyQwen35Moe(), TinyQwen3VlMoe(), testing_support::TinyQwen3Moe()}) {
    for (const bool stacked : {false, true}) {
      TempDir dir;
      Assumptions as_stored;
      as_stored.stacked_experts = stacked;
      WriteTiny(config, dir.Path("m"), as_stored);
      const auto model = LoadModel(dir.Path("m"));
      ASSERT_TRUE(model.has_value()) << model.error().ToString();
      EXPECT_EQ(model->shape_basis, Basis::kExact);
      EXPECT_FALSE(HasFinding(*model, "model.unknown_tensors"));
      int64_t stacks = 0;
      for (const ModuleRow& row : model->table.rows) stacks += row.form == Form::kStacked ? 1 : 0;
      EXPECT_EQ(stacks > 0, stacked) << config["architectures"];
    }
  }
}

TEST(LoadModel, DraftLayersStoreTheirExpertsTheirOwnWay) {
  for (const bool draft_stacked : {false, true}) {
    TempDir dir;
    Assumptions as_stored;
    as_stored.stacked_draft_experts = draft_stacked;
    WriteTiny(TinyQwen35Moe(), dir.Path("m"), as_stored);
    const auto model = LoadModel(dir.Path("m"));
    ASSERT_TRUE(model.has_value()) << model.error().ToString();
    EXPECT_FALSE(HasFinding(*model, "model.unknown_tensors"));
    EXPECT_FALSE(HasFinding(*model, "model.mtp_absent"));
    for (const ModuleRow& row : model->table.rows) {
      if (row.experts == 0) continue;
      const bool draft = row.role == Role::kDraft;
      EXPECT_EQ(row.form == Form::kStacked, draft ? draft_stacked : true) << row.name;
    }
  }
}

TEST(LoadModel, ADraftLayerThatNobodyAnnouncedIsNotMissed) {
  TempDir dir;
  Assumptions none;
  none.mtp = false;
  WriteTiny(TinyQwen3Next(), dir.Path("m"), none);
  const auto model = LoadModel(dir.Path("m"));
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  EXPECT_FALSE(HasFinding(*model, "model.mtp_absent"));
  for (const ModuleRow& row : model->table.rows) EXPECT_NE(row.role, Role::kDraft);
}

TEST(LoadModel, NeedsAConfig) {
  TempDir dir;
  WriteTiny(TinyDense(), dir.Path("m"));
  std::filesystem::remove(dir.Path("m/config.json"));
  const auto model = LoadModel(dir.Path("m"));
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().ToString(),
            dir.Path("m") +
                ": expected a config.json beside the weights, found none; the architecture cannot "
                "be told without it; copy the model's config.json here");
}

TEST(LoadModel, AQuantizationBesideTheConfigIsNotOverlooked) {
  TempDir dir;
  dir.Write("m/config.json", TinyDense().dump());
  dir.Write("m/hf_quant_config.json", R"({"quantization": {"quant_algo": "NVFP4"}})");
  auto model = LoadModel(dir.Path("m"));
  ASSERT_TRUE(model.has_value()) << model.error().ToString();
  EXPECT_EQ(model->arch.quantization, "nvfp4");
  EXPECT_EQ(model->quant_method, "modelopt");
  dir.Write("m/hf_quant_config.json", R"({"quantization": {"quant_algo": "W4A8_AWQ"}})");
  model = LoadModel(dir.Path("m"));
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(model.error().ToString(),
            dir.Path("m/hf_quant_config.json") +
                ": quantization 'W4A8_AWQ' is not known; plan the unquantized checkpoint, or one "
                "in FP8, NVFP4, MXFP4, AWQ, GPTQ or compressed-tensors");
  dir.Write("m/hf_quant_config.json", "{");
  model = LoadModel(dir.Path("m"));
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kInvalidInput);
  dir.Write("m/hf_quant_config.json", R"({"quantization": {"quant_algo": null}})");
  EXPECT_TRUE(LoadModel(dir.Path("m")).has_value());
}

TEST(LoadModel, ANameThatSaysMoreThanTheConfig) {
  TempDir dir;
  const std::string config = TinyDense().dump();
  for (const std::string name :
       {"a_NVFP4/config.json", "Model-7B_AWQ.json", "m-fp8-dynamic.json"}) {
    dir.Write(name, config);
    const auto model = LoadModel(dir.Path(name));
    ASSERT_TRUE(model.has_value()) << name;
    EXPECT_TRUE(HasFinding(*model, "model.quantization_unknown")) << name;
  }
  for (const std::string name : {"Model-BF16/config.json", "fp80.json", "a/config.json"}) {
    dir.Write(name, config);
    const auto model = LoadModel(dir.Path(name));
    ASSERT_TRUE(model.has_value()) << name;
    EXPECT_FALSE(HasFinding(*model, "model.quantization_unknown")) << name;
  }
  // The headers tell what a name can only claim.
  WriteTiny(TinyDense(), dir.Path("full-FP8"));
  EXPECT_FALSE(HasFinding(*LoadModel(dir.Path("full-FP8")), "model.quantization_unknown"));
  nlohmann::json fp8 = TinyDeepseek();
  dir.Write("deepseek-FP8.json", fp8.dump());
  EXPECT_FALSE(HasFinding(*LoadModel(dir.Path("deepseek-FP8.json")), "model.quantization_unknown"));
}

TEST(LoadModel, ConfigOfAnotherModel) {
  TempDir dir;
  WriteTiny(TinyDense(), dir.Path("m"));
  nlohmann::json other = TinyDense();
  other["num_hidden_layers"] = 6;
  dir.Write("m/config.json", other.dump());
  const auto model = LoadModel(dir.Path("m"));
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(model.error().message.find("first 'model.layers.5.self_attn.q_proj.weight'"),
            std::string::npos)
      << model.error().message;
}

}  // namespace
}  // namespace shardplan
