#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_drafts.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::RowNamed;
using testing_support::TinyMedusa;
using testing_support::With;

// Three heads of two residual layers and a word table each.
TEST(Medusa, EveryHeadHasATable) {
  const ModelSpec spec = Build(TinyMedusa());
  EXPECT_EQ(spec.arch.family, "medusa");
  EXPECT_EQ(Totals(spec.table).parameters, 3 * (2 * 32 * 32 + 130 * 32));
  EXPECT_EQ(RowNamed(spec, "blocks.{B}.layers.1")->blocks, 3);
  EXPECT_EQ(RowNamed(spec, "lm_heads.{B}.weight")->blocks, 3);
}

TEST(Medusa, OrOneForAll) {
  const ModelSpec spec = Build(
      With(TinyMedusa(),
           {{"original_lm_head", true}, {"truncated_vocab_size", 100}, {"medusa_fc_bias", true}}));
  EXPECT_EQ(Totals(spec.table).parameters, 3 * 2 * (32 * 32 + 32) + 100 * 32);
  EXPECT_EQ(RowNamed(spec, "lm_head.weight")->blocks, 0);
}

// Configs of the first Medusa heads name no class, no width and no words.
TEST(Medusa, DefaultsOfTheConfig) {
  Assumptions head;
  head.draft_method = "medusa";
  const ModelSpec spec = Build({{"medusa_num_heads", 4}, {"medusa_num_layers", 1}}, head);
  EXPECT_EQ(spec.arch.hidden, 4096);
  EXPECT_EQ(spec.arch.vocabulary, 32001);
  EXPECT_EQ(RowNamed(spec, "blocks.{B}.layers.0")->blocks, 4);
}

}  // namespace
}  // namespace shardplan
