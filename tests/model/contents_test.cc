#include "shardplan/model/contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/model/model.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using testing_support::Build;
using testing_support::ExampleConfig;
using testing_support::TempDir;
using testing_support::TinyDeepseek;
using testing_support::TinyDense;
using testing_support::TinyKimiK3;
using testing_support::TinyQwen3Moe;
using testing_support::WriteTiny;

std::vector<nlohmann::json> TinyConfigs() {
  return {TinyDense(), TinyDeepseek(), TinyQwen3Moe(), TinyKimiK3()};
}

// Every tensor by itself: what a token meets, expert by expert.
int64_t CountActive(const Architecture& arch, const TensorTable& table) {
  int64_t active = 0;
  for (const ModuleRow& row : table.rows) {
    if (row.is_tower() || row.role == Role::kDraft || row.role == Role::kLeftover) continue;
    for (int64_t layer = 0; layer < std::max<int64_t>(row.layers.size(), 1); ++layer) {
      for (int64_t expert = 0; expert < std::max<int64_t>(row.experts, 1); ++expert) {
        if (expert > 0 && expert >= arch.moe.top_k) break;
        for (const StoredTensor& tensor : StoredTensors(row)) active += tensor.parameters;
      }
    }
  }
  return active;
}

TEST(ContentsOf, SumsToTheTotals) {
  for (const nlohmann::json& config : TinyConfigs()) {
    const TensorTable table = Build(config).table;
    const Contents contents = ContentsOf(table);
    const TensorTotals totals = Totals(table);
    EXPECT_EQ(contents.basis, Basis::kDerived);
    EXPECT_TRUE(contents.complete);
    EXPECT_EQ(contents.Totals(),
              (Amount{totals.tensors, totals.parameters, totals.elements, totals.payload}));
  }
}

TEST(ContentsOf, LayersAndTheRestAreAll) {
  for (const nlohmann::json& config : TinyConfigs()) {
    const Contents contents = ContentsOf(Build(config).table);
    Amount sum;
    for (const LayerContents& layer : contents.layers) sum += layer.amount;
    for (const TensorGroup& group : contents.groups) {
      if (group.name.find("{L}") == std::string::npos) sum += group.amount;
    }
    EXPECT_EQ(sum, contents.Totals());
  }
}

TEST(ContentsOf, KnowsTheRolesOfALayer) {
  const Contents contents = ContentsOf(Build(TinyDeepseek()).table);
  ASSERT_EQ(contents.layers.size(), 6u);  // five and a draft layer
  EXPECT_THAT(contents.layers[0].roles,
              ElementsAre(Role::kNorm, Role::kAttention, Role::kDenseMlp));
  EXPECT_TRUE(contents.layers[2].Has(Role::kRoutedExpert));
  EXPECT_FALSE(contents.layers[2].Has(Role::kDenseMlp));
  EXPECT_EQ(contents.layers[5].layer, 5);
  EXPECT_THAT(contents.layers[5].roles, ElementsAre(Role::kDraft));
  EXPECT_EQ(contents.layers[3].amount, contents.layers[4].amount);
}

// The headers say the same as the table, tensor for tensor.
TEST(ContentsOf, HeadersAgree) {
  for (const nlohmann::json& config : TinyConfigs()) {
    TempDir dir;
    WriteTiny(config, dir.Path("m"));
    const auto model = LoadModel(dir.Path("m"));
    ASSERT_TRUE(model.has_value()) << model.error().ToString();
    const Contents derived = ContentsOf(Build(config).table);
    const Contents& exact = model->contents;
    EXPECT_EQ(exact.basis, Basis::kExact);
    ASSERT_EQ(exact.groups.size(), derived.groups.size());
    for (size_t i = 0; i < exact.groups.size(); ++i) {
      EXPECT_EQ(exact.groups[i].name, derived.groups[i].name);
      EXPECT_EQ(exact.groups[i].dtype, derived.groups[i].dtype);
      EXPECT_EQ(exact.groups[i].amount, derived.groups[i].amount) << exact.groups[i].name;
    }
    ASSERT_EQ(exact.layers.size(), derived.layers.size());
    for (size_t i = 0; i < exact.layers.size(); ++i) {
      EXPECT_EQ(exact.layers[i].amount, derived.layers[i].amount) << i;
      EXPECT_EQ(exact.layers[i].roles, derived.layers[i].roles) << i;
    }
  }
}

TEST(ActiveParameters, AreThoseThatATokenMeets) {
  for (const nlohmann::json& config : TinyConfigs()) {
    const ModelSpec spec = Build(config);
    EXPECT_EQ(ActiveParameters(spec.arch, ContentsOf(spec.table)),
              CountActive(spec.arch, spec.table));
  }
}

// DeepSeek-V3's paper says 671B in all and 37B a token.
TEST(ActiveParameters, OfPublishedModels) {
  const ModelSpec v3 = Build(ExampleConfig("deepseek-v3"));
  EXPECT_EQ(ActiveParameters(v3.arch, ContentsOf(v3.table)), 37'552'297'472);
  const ModelSpec k3 = Build(ExampleConfig("kimi-k3"));
  EXPECT_EQ(ActiveParameters(k3.arch, ContentsOf(k3.table)), 105'364'019'968);
}

TEST(ActiveParameters, OfAPartNobodyKnows) {
  const ModelSpec spec = Build(TinyDense());
  Contents contents = ContentsOf(spec.table);
  contents.complete = false;
  EXPECT_EQ(ActiveParameters(spec.arch, contents), std::nullopt);
}

TEST(ToStringTest, AttentionKinds) {
  EXPECT_EQ(ToString(AttentionKind::kMla), "mla");
  EXPECT_EQ(ToString(AttentionKind::kFull), "full");
  EXPECT_EQ(ToString(AttentionKind::kNone), "none");
}

}  // namespace
}  // namespace shardplan
