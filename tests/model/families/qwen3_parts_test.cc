#include "model/families/qwen3_parts.h"

#include <gtest/gtest.h>

#include "support/tiny_models.h"

namespace shardplan {
namespace {

using families::ExpertForm;
using testing_support::TinyQwen3Moe;

Architecture ReadQwen3(const nlohmann::json& changes, std::string* error = nullptr) {
  nlohmann::json config = TinyQwen3Moe();
  config.update(changes);
  ConfigReader reader(config, "config.json");
  Architecture arch;
  const int64_t layers = families::ReadDecoder(reader, &arch);
  families::ReadGqa(reader, layers, &arch);
  families::ReadExperts(reader, "num_experts", "moe_intermediate_size", layers, &arch);
  families::ReadSparseStep(reader, layers, &arch);
  if (error) *error = reader.ok() ? "" : reader.error().ToString();
  return arch;
}

TEST(Qwen3Parts, WhichLayersAreMixtures) {
  EXPECT_TRUE(ReadQwen3(nlohmann::json::object()).moe.layer_is_moe.empty());  // all of them
  EXPECT_EQ(families::MoeLayers(ReadQwen3(nlohmann::json::object()), true).size(), 5);
  const Architecture step = ReadQwen3({{"decoder_sparse_step", 2}});
  EXPECT_EQ(families::MoeLayers(step, true).layers(), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(families::MoeLayers(step, false).layers(), (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(step.dense_intermediate, 64);
  const Architecture listed = ReadQwen3({{"mlp_only_layers", {0, 3}}});
  EXPECT_EQ(families::MoeLayers(listed, false).layers(), (std::vector<int64_t>{0, 3}));
}

TEST(Qwen3Parts, Contradictions) {
  std::string error;
  ReadQwen3({{"decoder_sparse_step", 6}}, &error);
  EXPECT_EQ(error, "config.json: decoder_sparse_step: no layer is left that is a mixture");
  ReadQwen3({{"mlp_only_layers", {5}}}, &error);
  EXPECT_EQ(error,
            "config.json: mlp_only_layers: expected a list of integers from 0 to 4, found 5");
  ReadQwen3({{"decoder_sparse_step", 2}, {"intermediate_size", nullptr}}, &error);
  EXPECT_EQ(error,
            "config.json: intermediate_size: expected an integer from 1 to 16,777,216, found "
            "nothing");
}

TEST(Qwen3Parts, FormOfTheExperts) {
  Assumptions assumptions;
  EXPECT_EQ(families::ExpertFormOf(assumptions, ExpertForm::kStackedTransposed),
            ExpertForm::kStackedTransposed);
  assumptions.stacked_experts = false;
  EXPECT_EQ(families::ExpertFormOf(assumptions, ExpertForm::kStacked), ExpertForm::kEach);
  assumptions.stacked_experts = true;
  EXPECT_EQ(families::ExpertFormOf(assumptions, ExpertForm::kStacked), ExpertForm::kStacked);
}

TEST(Qwen3Parts, StacksHoldTheSameWeights) {
  const Architecture arch = ReadQwen3(nlohmann::json::object());
  for (const ExpertForm form :
       {ExpertForm::kEach, ExpertForm::kStacked, ExpertForm::kStackedTransposed}) {
    TensorTable table;
    families::TableBuilder t(&table, DType::kBF16);
    families::AddQwenExperts(t, "", arch, form);
    EXPECT_EQ(Totals(table).parameters, 12 * 3 * 24 * 32);
    EXPECT_EQ(Totals(table).tensors, form == ExpertForm::kEach ? 36 : 2);
    for (const ModuleRow& row : table.rows) EXPECT_EQ(row.param, "mlp.experts.routed_experts");
    if (form == ExpertForm::kEach) continue;
    const bool transposed = form == ExpertForm::kStackedTransposed;
    EXPECT_EQ(StoredTensors(table.rows[0]).front().shape,
              transposed ? (Shape{12, 32, 48}) : (Shape{12, 48, 32}));
    EXPECT_EQ(StoredTensors(table.rows[1]).front().shape,
              transposed ? (Shape{12, 24, 32}) : (Shape{12, 32, 24}));
  }
}

}  // namespace
}  // namespace shardplan
