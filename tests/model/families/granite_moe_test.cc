#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::TinyGraniteMoe;
using testing_support::With;

const ModuleRow* Find(const ModelSpec& spec, const std::string& suffix) {
  for (const ModuleRow& row : spec.table.rows) {
    if (row.name.ends_with(suffix)) return &row;
  }
  return nullptr;
}

TEST(GraniteMoe, ExpertsAreStacked) {
  const ModelSpec spec = Build(TinyGraniteMoe());
  EXPECT_EQ(spec.arch.family, "granite-moe");
  EXPECT_EQ(StoredTensors(*Find(spec, "input_linear.weight")).front().shape, (Shape{12, 48, 32}));
  EXPECT_EQ(StoredTensors(*Find(spec, "output_linear.weight")).front().shape, (Shape{12, 32, 24}));
  EXPECT_EQ(Find(spec, "router.layer")->param, "block_sparse_moe.gate");
  EXPECT_EQ(Find(spec, "lm_head.weight"), nullptr);
  EXPECT_NE(Find(Build(With(TinyGraniteMoe(), {{"tie_word_embeddings", false}})), "lm_head.weight"),
            nullptr);
}

TEST(GraniteMoe, Refusals) {
  EXPECT_EQ(BuildError(With(TinyGraniteMoe(), {{"attention_bias", true}})),
            "config.json: attention_bias: expected false: no bias is modelled");
}

}  // namespace
}  // namespace shardplan
