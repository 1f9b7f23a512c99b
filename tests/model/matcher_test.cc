#include "model/matcher.h"

#include <gtest/gtest.h>

#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::TinyDeepseek;

TEST(MatcherTest, NumbersDecideWhichRowItIs) {
  const ModelSpec spec = Build(TinyDeepseek());
  const Matcher matcher(spec.table);
  const std::vector<size_t>& norms = matcher.ForPattern("model.layers.{}.input_layernorm.weight");
  const RowCandidate* const in_stack = matcher.Find(norms, {4, -1, -1});
  ASSERT_NE(in_stack, nullptr);
  EXPECT_EQ(matcher.RowOf(*in_stack).placement, Placement::kLayers);
  EXPECT_EQ(matcher.LayerOf(*in_stack, {4, -1, -1}), 4);
  // Layer 5 is the draft's.
  const RowCandidate* const draft = matcher.Find(norms, {5, -1, -1});
  ASSERT_NE(draft, nullptr);
  EXPECT_EQ(matcher.RowOf(*draft).role, Role::kDraft);
  EXPECT_EQ(matcher.Find(norms, {6, -1, -1}), nullptr);
  EXPECT_EQ(matcher.Find(norms, {-1, -1, -1}), nullptr);
}

TEST(MatcherTest, ExpertsAreBounded) {
  const ModelSpec spec = Build(TinyDeepseek());
  const Matcher matcher(spec.table);
  const std::vector<size_t>& experts =
      matcher.ForPattern("model.layers.{}.mlp.experts.{}.up_proj.weight");
  EXPECT_NE(matcher.Find(experts, {2, 9, -1}), nullptr);
  EXPECT_EQ(matcher.Find(experts, {2, 10, -1}), nullptr);
  EXPECT_EQ(matcher.Find(experts, {0, 0, -1}), nullptr) << "a dense layer";
}

TEST(MatcherTest, WhatNobodyKnows) {
  TensorTable table = Build(TinyDeepseek()).table;
  table.aliases.push_back({"language_model.", "model."});
  const Matcher matcher(table);
  EXPECT_TRUE(matcher.ForPattern("model.something").empty());
  EXPECT_FALSE(matcher.ForPattern("language_model.norm.weight").empty());
}

}  // namespace
}  // namespace shardplan
