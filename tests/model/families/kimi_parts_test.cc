#include "model/families/kimi_parts.h"

#include <gtest/gtest.h>

#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::TinyKimiLinear;

Architecture ReadKimi(const nlohmann::json& config) {
  ConfigReader reader(config, "config.json");
  ConfigReader linear = reader.Object("linear_attn_config");
  Architecture arch;
  families::ReadKimiText(reader, linear, &arch);
  EXPECT_TRUE(reader.ok() && linear.ok());
  return arch;
}

TEST(KimiParts, LayersOfAKind) {
  const Architecture arch = ReadKimi(TinyKimiLinear());
  EXPECT_EQ(families::LayersOf(arch, AttentionKind::kMla).layers(), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(families::LayersOf(arch, AttentionKind::kKda).layers(),
            (std::vector<int64_t>{0, 1, 3}));
}

// The widest gate is part of the fused input projection, the narrow one is not.
TEST(KimiParts, GatesOfDeltaAttention) {
  const Architecture arch = ReadKimi(TinyKimiLinear());
  for (const bool full : {false, true}) {
    TensorTable table;
    families::TableBuilder t(&table, DType::kBF16);
    families::AddKda(t.In(LayerSet::Range(0, 1)), "l.", arch,
                     {full, Shape{8}, DType::kF32, full ? 16 : 1});
    int fused = 0;
    int low_rank = 0;
    for (const ModuleRow& row : table.rows) {
      fused += row.param == "self_attn.in_proj_qkvgfab" ? 1 : 0;
      low_rank += row.name.ends_with("g_a_proj") || row.name.ends_with("g_b_proj") ? 1 : 0;
    }
    EXPECT_EQ(fused, full ? 6 : 5);
    EXPECT_EQ(low_rank, full ? 0 : 2);
  }
}

TEST(KimiParts, LatentProjectionsOnlyWhereExpertsSeeAnotherWidth) {
  Architecture arch = ReadKimi(TinyKimiLinear());
  for (const int64_t latent : {0, 16}) {
    arch.moe.latent = latent;
    TensorTable table;
    families::TableBuilder t(&table, DType::kBF16);
    families::AddKimiMoe(t.In(LayerSet::Range(0, 1)), "l.", arch);
    int64_t projections = 0;
    for (const ModuleRow& row : table.rows) {
      projections += row.role == Role::kLatentProjection ? 1 : 0;
      if (row.split == Split::kExpertGate) {
        EXPECT_EQ(row.shape.dims[1], latent > 0 ? latent : arch.hidden);
      }
    }
    EXPECT_EQ(projections, latent > 0 ? 3 : 0);
  }
}

TEST(KimiParts, TowersWithBiasesAndWithout) {
  nlohmann::json config = {{"vt_hidden_size", 16},
                           {"vt_intermediate_size", 32},
                           {"vt_num_attention_heads", 4},
                           {"vt_num_hidden_layers", 2},
                           {"patch_size", 2},
                           {"mm_hidden_size", 16},
                           {"text_hidden_size", 64},
                           {"init_pos_emb_height", 4},
                           {"init_pos_emb_width", 4}};
  for (const bool biases : {false, true}) {
    ConfigReader vision(config, "config.json");
    Architecture arch;
    families::ReadKimiVision(vision, &arch);
    EXPECT_EQ(arch.vision.patches_per_token, 4);
    TensorTable table;
    families::TableBuilder t(&table, DType::kBF16);
    families::AddKimiVision(t, vision, arch, {16, biases, !biases});
    ASSERT_TRUE(vision.ok());
    int64_t stored = 0;
    for (const ModuleRow& row : table.rows) {
      EXPECT_TRUE(row.is_tower()) << row.name;
      for (const StoredTensor& tensor : StoredTensors(row)) {
        stored += tensor.suffix == ".bias" || row.name.ends_with(".bias") ? row.Count() : 0;
      }
    }
    // patch, final norm, norm of the projector and two linears; six a block.
    EXPECT_EQ(stored, biases ? 5 + 2 * 6 : 0);
  }
}

}  // namespace
}  // namespace shardplan
