#include "model/families/unknown_rules.h"

#include <gtest/gtest.h>

namespace shardplan::families {
namespace {

Architecture RuleNumbers() {
  Architecture a;
  a.hidden = 64;
  a.heads = 8;
  a.kv_heads = 2;
  a.head_dim = a.v_head_dim = 8;
  a.vocabulary = 100;
  a.moe.experts = 4;
  return a;
}

TensorRule Rule(const std::string& pattern, Shape shape, DType dtype = DType::kBF16,
                const Architecture& arch = RuleNumbers()) {
  return RuleFor(*ReadName(pattern), dtype, shape, arch);
}

void Expect(const TensorRule& rule, Role role, Split split, int dim, bool guessed,
            const char* what) {
  EXPECT_EQ(rule.role, role) << what;
  EXPECT_EQ(rule.split, split) << what;
  EXPECT_EQ(rule.slice.dim, dim) << what;
  EXPECT_EQ(rule.slice.guessed, guessed) << what;
}

TEST(RuleFor, EndsOfTheStack) {
  const TensorRule table = Rule("model.embed_tokens.weight", {100, 64});
  Expect(table, Role::kEmbedding, Split::kVocabulary, 0, false, "embedding");
  EXPECT_EQ(table.placement, Placement::kFirstStage);
  EXPECT_TRUE(table.slice.on_every_stage);
  const TensorRule head = Rule("lm_head.weight", {100, 64});
  Expect(head, Role::kHead, Split::kVocabulary, 0, false, "head");
  EXPECT_EQ(head.placement, Placement::kLastStage);
  EXPECT_EQ(Rule("transformer.ln_f.weight", {64}).placement, Placement::kLastStage);
  const TensorRule other = Rule("model.mixing.weight", {64, 32});
  EXPECT_TRUE(other.slice.guessed);
  EXPECT_EQ(other.placement, Placement::kEveryStage);
}

TEST(RuleFor, AttentionByNameAndShape) {
  constexpr Role kRole = Role::kAttention;
  const std::string p = "model.layers.{}.self_attn.";
  Expect(Rule(p + "q_proj.weight", {64, 64}), kRole, Split::kColumn, 0, false, "q");
  Expect(Rule(p + "k_proj.weight", {16, 64}), kRole, Split::kKvHeads, 0, false, "k");
  Expect(Rule(p + "v_proj.bias", {16}), kRole, Split::kKvHeads, 0, false, "v bias");
  Expect(Rule(p + "k_proj.weight", {24, 64}), kRole, Split::kKvHeads, 0, true, "odd k");
  Expect(Rule(p + "o_proj.weight", {64, 64}), kRole, Split::kRow, 1, false, "o");
  Expect(Rule(p + "o_proj.bias", {64}), kRole, Split::kRow, -1, false, "o bias");
  Expect(Rule(p + "q_norm.weight", {8}), kRole, Split::kReplicated, -1, false, "head norm");
  const TensorRule qkv = Rule("transformer.h.{}.attn.c_attn.weight", {64, 96});
  Expect(qkv, kRole, Split::kColumn, 1, false, "Conv1D stores the input first");
  ASSERT_EQ(qkv.slice.parts.size(), 3u);
  EXPECT_EQ(qkv.slice.parts[1].rows, 16);
  Expect(Rule(p + "strange.weight", {40, 64}), kRole, Split::kColumn, 0, true, "by shape");
}

TEST(RuleFor, LatentAttention) {
  Architecture a = RuleNumbers();
  a.mla = {12, 16, 8, 4, 8, false};
  const std::string p = "model.layers.{}.self_attn.";
  const auto rule = [&](const char* name, Shape shape) {
    return Rule(p + name, std::move(shape), DType::kBF16, a);
  };
  Expect(rule("kv_a_proj_with_mqa.weight", {20, 64}), Role::kAttention, Split::kReplicated, -1,
         false, "kv_a");
  Expect(rule("kv_b_proj.weight", {128, 16}), Role::kAttention, Split::kColumn, 0, false, "kv_b");
  Expect(rule("q_b_proj.weight", {96, 16}), Role::kAttention, Split::kColumn, 0, true, "odd rank");
}

TEST(RuleFor, MixturesAndMlps) {
  const std::string p = "model.layers.{}.mlp.";
  Expect(Rule(p + "gate_proj.weight", {128, 64}), Role::kDenseMlp, Split::kColumn, 0, false, "up");
  Expect(Rule(p + "down_proj.weight", {64, 128}), Role::kDenseMlp, Split::kRow, 1, false, "down");
  Expect(Rule(p + "w2.weight", {128, 64}), Role::kDenseMlp, Split::kColumn, 0, false,
         "the shape outweighs the name");
  Expect(Rule(p + "gate.weight", {4, 64}), Role::kRouter, Split::kReplicated, -1, false, "router");
  Expect(Rule(p + "experts.{}.w1.weight", {32, 64}), Role::kRoutedExpert, Split::kExpertGate, 0,
         false, "expert");
  const TensorRule stack = Rule(p + "experts.gate_up_proj", {4, 64, 48});
  Expect(stack, Role::kRoutedExpert, Split::kExpertGate, 2, false, "transposed stack");
  EXPECT_TRUE(stack.slice.stacked);
  Expect(Rule(p + "experts.down_proj", {4, 64, 24}), Role::kRoutedExpert, Split::kExpertDown, 2,
         false, "stack");
  Expect(Rule(p + "shared_expert.up_proj.weight", {32, 64}), Role::kSharedExpert,
         Split::kSharedColumn, 0, false, "shared");
  Expect(Rule(p + "adapter.weight", {64, 12}), Role::kDenseMlp, Split::kRow, 1, true, "by shape");
}

TEST(RuleFor, CompanionsFollowTheirWeight) {
  const std::string p = "model.layers.{}.mlp.";
  const TensorRule scale = Rule(p + "down_proj.weight_scale_inv", {1, 2}, DType::kF32);
  Expect(scale, Role::kDenseMlp, Split::kRow, 1, false, "block scales");
  EXPECT_EQ(scale.slice.values, 0);
  EXPECT_FALSE(scale.slice.rounds_up);  // a block is never cut
  EXPECT_TRUE(Rule(p + "down_proj.weight_scale", {64, 4}, DType::kU8).slice.rounds_up);
  const TensorRule packed = Rule(p + "up_proj.qweight", {64, 16}, DType::kI32);
  Expect(packed, Role::kDenseMlp, Split::kColumn, 1, false, "AWQ keeps the input first");
  EXPECT_EQ(packed.slice.values, 8);
  Expect(Rule(p + "down_proj.g_idx", {128}, DType::kI32), Role::kDenseMlp, Split::kRow, 0, false,
         "one index an input");
  Expect(Rule(p + "up_proj.g_idx", {64}, DType::kI32), Role::kDenseMlp, Split::kColumn, -1, false,
         "whole");
}

TEST(RuleFor, TheRest) {
  EXPECT_EQ(Rule("model.layers.{}.self_attn.rotary_emb.inv_freq", {4}).placement,
            Placement::kNotLoaded);
  EXPECT_EQ(Rule("mtp.fc.weight", {64, 128}).role, Role::kDraft);
  Expect(Rule("model.layers.{}.mamba.in_proj.weight", {200, 64}), Role::kLinearAttention,
         Split::kColumn, 0, true, "in_proj");
  Expect(Rule("model.layers.{}.mamba.out_proj.weight", {64, 128}), Role::kLinearAttention,
         Split::kRow, 1, true, "out_proj");
  Expect(Rule("vision_tower.layers.{}.mlp.fc2.weight", {16, 32}), Role::kVision, Split::kVisionRow,
         1, true, "tower");
  EXPECT_EQ(Rule("visual.merger.mlp.weight", {64, 64}).role, Role::kProjector);
  // Nothing, one element and many dimensions.
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{1, 2, 3, 4, 5}, Shape{0, 0}}) {
    Rule("model.layers.{}.x", shape);
    Rule("model.layers.{}.mlp.experts.x.weight", shape);
    Rule("x", shape);
  }
}

}  // namespace
}  // namespace shardplan::families
