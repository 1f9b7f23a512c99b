#include "model/match.h"

#include <gtest/gtest.h>

#include "support/tiny_families.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::TinyDeepseek;
using testing_support::TinyKimiK3;
using testing_support::TinyMistral3;

// The table's own tensors as an inventory of one shard, with room for mischief.
class Checkpoint {
 public:
  explicit Checkpoint(const TensorTable& table) {
    inventory.path = "dir";
    inventory.has_headers = true;
    inventory.shards.push_back({"model.safetensors", {}, {}, {}, 0});
    for (const ModuleRow& row : table.rows) {
      const std::vector<int64_t> layers =
          row.layers.empty() ? std::vector<int64_t>{-1} : row.layers.layers();
      for (const int64_t layer : layers) {
        ForEachTensor(row, layer, [&](const std::string& name, const StoredTensor& stored) {
          Add(name, stored.dtype, stored.shape);
        });
      }
    }
  }

  void Add(const std::string& name, DType dtype, const Shape& shape) {
    TensorRecord record;
    std::string pattern;
    SplitTensorName(name, &pattern, &record.indices);
    record.pattern = Intern(&inventory.patterns, pattern);
    record.shape = Intern(&inventory.shapes, shape);
    record.dtype = dtype;
    record.end = SizeOf(dtype, shape)->count();
    inventory.tensors.push_back(record);
  }

  void Remove(const std::string& name) {
    std::erase_if(inventory.tensors,
                  [&](const TensorRecord& r) { return inventory.NameOf(r) == name; });
  }

  Inventory inventory;

 private:
  template <typename T>
  static uint32_t Intern(std::vector<T>* values, const T& value) {
    const auto it = std::find(values->begin(), values->end(), value);
    if (it != values->end()) return static_cast<uint32_t>(it - values->begin());
    values->push_back(value);
    return static_cast<uint32_t>(values->size() - 1);
  }
};

TEST(MatchHeaders, TheTableExplainsItsOwnTensors) {
  for (const nlohmann::json& config :
       {TinyKimiK3(), TinyDeepseek(), testing_support::TinyPhi3(), testing_support::TinyGemma3(),
        testing_support::TinyGemma4(), testing_support::TinyGraniteMoe(),
        testing_support::TinyJamba(), testing_support::TinyLlama4(), TinyMistral3(),
        testing_support::TinyNemotronH(), testing_support::TinyNemotronNas()}) {
    SCOPED_TRACE(config["architectures"].dump());
    const TensorTable table = Build(config).table;
    const Checkpoint checkpoint(table);
    const auto report = MatchHeaders(table, checkpoint.inventory, "config.json");
    ASSERT_TRUE(report.has_value()) << report.error().ToString();
    const TensorTotals totals = Totals(table);
    EXPECT_EQ(report->totals.tensors, totals.tensors);
    EXPECT_EQ(report->totals.payload, totals.payload);
    EXPECT_EQ(report->totals.parameters, totals.parameters);
    EXPECT_EQ(report->totals.elements, totals.elements);
    EXPECT_TRUE(report->findings.empty());
    EXPECT_TRUE(report->complete);
  }
}

// transformers renamed the towers: both spellings are the same tensors.
TEST(MatchHeaders, NamesMayHaveAnotherSpelling) {
  const TensorTable table = Build(TinyMistral3()).table;
  TensorTable renamed = table;
  for (ModuleRow& row : renamed.rows) {
    for (const NameAlias& alias : table.aliases) {
      if (!row.name.starts_with(alias.name)) continue;
      row.name = alias.stored + row.name.substr(alias.name.size());
      break;
    }
  }
  EXPECT_EQ(renamed.rows.back().name, "lm_head.weight");
  Checkpoint checkpoint(renamed);
  const auto report = MatchHeaders(table, checkpoint.inventory, "config.json");
  ASSERT_TRUE(report.has_value()) << report.error().ToString();
  EXPECT_TRUE(report->findings.empty());
  EXPECT_EQ(report->totals.tensors, Totals(table).tensors);
  checkpoint.Add("model.language_model.model.stray", DType::kBF16, Shape{1});
  EXPECT_FALSE(MatchHeaders(table, checkpoint.inventory, "config.json")->findings.empty());
}

TEST(MatchHeaders, MissingTensorsAreNamed) {
  const TensorTable table = Build(TinyKimiK3()).table;
  Checkpoint checkpoint(table);
  checkpoint.Remove("language_model.model.layers.4.block_sparse_moe.experts.3.w2.weight_scale");
  const auto report = MatchHeaders(table, checkpoint.inventory, "config.json");
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().ToString(),
            "dir: config.json implies a tensor that the checkpoint does not have, first "
            "'language_model.model.layers.4.block_sparse_moe.experts.3.w2.weight_scale'; config "
            "and weights are of different models, or the download is incomplete");
  const auto part = MatchHeaders(table, checkpoint.inventory, "config.json", true);
  ASSERT_TRUE(part.has_value());
  EXPECT_FALSE(part->complete);
}

TEST(MatchHeaders, OtherShapesAreRefused) {
  const TensorTable table = Build(TinyDeepseek()).table;
  Checkpoint checkpoint(table);
  checkpoint.Remove("model.norm.weight");
  checkpoint.Add("model.norm.weight", DType::kBF16, Shape{33});
  const auto report = MatchHeaders(table, checkpoint.inventory, "config.json");
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().ToString(),
            "model.norm.weight: config.json implies shape [32], the header says [33]; config and "
            "weights are of different models");
}

TEST(MatchHeaders, OddTensorsAreCountedAndToldOf) {
  const TensorTable table = Build(TinyDeepseek()).table;
  Checkpoint checkpoint(table);
  checkpoint.Add("model.layers.1.self_attn.rotary_emb.inv_freq", DType::kF32, Shape{4});
  checkpoint.Add("model.layers.99.mlp.gate.weight", DType::kBF16, Shape{10, 32});
  checkpoint.Add("surprise", DType::kBF16, Shape{8});
  checkpoint.Remove("model.norm.weight");
  checkpoint.Add("model.norm.weight", DType::kF32, Shape{32});
  const auto report = MatchHeaders(table, checkpoint.inventory, "config.json");
  ASSERT_TRUE(report.has_value()) << report.error().ToString();
  ASSERT_EQ(report->findings.size(), 3u);
  EXPECT_EQ(report->findings[0].id, "model.unknown_tensors");
  EXPECT_EQ(report->findings[0].subject, "model.layers.99.mlp.gate.weight");
  EXPECT_EQ(report->findings[0].message,
            "2 tensors (656 B) are not part of this architecture; counted in the files and loaded "
            "on no card");
  EXPECT_EQ(report->findings[1].id, "model.leftover_tensors");
  EXPECT_EQ(report->findings[2].id, "model.dtype_differs");
}

// The file's dtypes and bytes count, whatever the table says.
TEST(MatchHeaders, ContentsAreTheFiles) {
  const TensorTable table = Build(TinyDeepseek()).table;
  Checkpoint checkpoint(table);
  checkpoint.Add("surprise", DType::kBF16, Shape{8});
  checkpoint.Remove("model.norm.weight");
  checkpoint.Add("model.norm.weight", DType::kF32, Shape{32});
  const auto report = MatchHeaders(table, checkpoint.inventory, "config.json");
  ASSERT_TRUE(report.has_value()) << report.error().ToString();
  const Contents& contents = report->contents;
  const Amount sum = contents.Totals();
  EXPECT_EQ(sum.tensors, report->totals.tensors);
  EXPECT_EQ(sum.bytes, report->totals.payload);
  EXPECT_EQ(sum.parameters, report->totals.parameters);
  EXPECT_EQ(sum.elements, report->totals.elements);
  EXPECT_EQ(sum.bytes, ContentsOf(table).Totals().bytes + Bytes(16 + 64));
  const auto norm =
      std::find_if(contents.groups.begin(), contents.groups.end(),
                   [](const TensorGroup& group) { return group.name == "model.norm.weight"; });
  ASSERT_NE(norm, contents.groups.end());
  EXPECT_EQ(norm->dtype, DType::kF32);
  EXPECT_EQ(norm->amount.bytes, Bytes(128));
  EXPECT_EQ(contents.groups.back().name, "surprise");
  EXPECT_EQ(contents.groups.back().role, std::nullopt);
}

TEST(MatchHeaders, AbsentDraftLayersAreAProperty) {
  const TensorTable table = Build(TinyDeepseek()).table;
  Assumptions none;
  none.mtp = false;
  const Checkpoint without(Build(TinyDeepseek(), none).table);
  const auto report = MatchHeaders(table, without.inventory, "config.json");
  ASSERT_TRUE(report.has_value()) << report.error().ToString();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    EXPECT_EQ(report->row_present[i], table.rows[i].role != Role::kDraft) << table.rows[i].name;
  }
}

// Some but not all of the draft layer is damage.
TEST(MatchHeaders, HalfADraftLayerIsDamage) {
  const TensorTable table = Build(TinyDeepseek()).table;
  Checkpoint checkpoint(table);
  checkpoint.Remove("model.layers.5.mlp.experts.3.up_proj.weight");
  EXPECT_FALSE(MatchHeaders(table, checkpoint.inventory, "config.json").has_value());
}

TEST(MatchHeaders, ShardsKnowTheirLayersAndPlaces) {
  const TensorTable table = Build(TinyKimiK3()).table;
  Checkpoint checkpoint(table);
  checkpoint.inventory.shards.assign(3, {});
  for (TensorRecord& record : checkpoint.inventory.tensors) {
    const std::string name = checkpoint.inventory.NameOf(record);
    record.shard = name.find("layers.") != std::string::npos  ? 0
                   : name.find("vision") != std::string::npos ? 2
                                                              : 1;
  }
  const auto report = MatchHeaders(table, checkpoint.inventory, "config.json");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->shard_use[0].layers, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_FALSE(report->shard_use[0].outside_stack);
  EXPECT_TRUE(report->shard_use[1].first_stage);
  EXPECT_TRUE(report->shard_use[1].last_stage);
  EXPECT_TRUE(report->shard_use[1].outside_stack);
  EXPECT_TRUE(report->shard_use[2].tower);
  EXPECT_FALSE(report->shard_use[2].every_stage);
  EXPECT_FALSE(report->shard_use[2].first_stage);
}

TEST(MatchIndex, NamesAlone) {
  const TensorTable table = Build(TinyDeepseek()).table;
  Checkpoint checkpoint(table);
  checkpoint.inventory.index_names = checkpoint.inventory.tensors;
  EXPECT_TRUE(MatchIndex(table, checkpoint.inventory, "config.json").has_value());
  checkpoint.Add("surprise", DType::kBF16, Shape{8});
  checkpoint.inventory.index_names = checkpoint.inventory.tensors;
  const auto status = MatchIndex(table, checkpoint.inventory, "config.json");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().ToString(),
            "surprise: listed in the index, but config.json implies no such tensor; config and "
            "index are of different models");
}

}  // namespace
}  // namespace shardplan
