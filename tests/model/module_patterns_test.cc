#include "model/module_patterns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shardplan {
namespace {

bool Matches(const std::string& pattern, const std::string& module) {
  ModulePatterns patterns;
  EXPECT_TRUE(patterns.Add(pattern, "config.json").has_value());
  return patterns.Match(module);
}

TEST(ModulePatterns, NamesAreRunsOfWholeComponents) {
  EXPECT_TRUE(Matches("lm_head", "lm_head"));
  EXPECT_TRUE(Matches("gate", "model.layers.0.mlp.gate"));
  EXPECT_FALSE(Matches("gate", "model.layers.0.mlp.gate_proj"));
  EXPECT_TRUE(Matches("model.layers.1", "model.layers.1.mlp.up_proj"));
  EXPECT_FALSE(Matches("model.layers.1", "model.layers.11.mlp.up_proj"));
  EXPECT_TRUE(Matches("self_attn.q_proj", "model.layers.1.self_attn.q_proj"));
}

TEST(ModulePatterns, WildcardsSpanDotsAndCoverWhatIsBelow) {
  EXPECT_TRUE(Matches("model.layers.0*", "model.layers.0.self_attn.q_proj"));
  EXPECT_FALSE(Matches("model.layers.0*", "model.layers.1.self_attn.q_proj"));
  EXPECT_TRUE(Matches("model.layers.*.self_attn", "model.layers.7.self_attn.o_proj"));
  EXPECT_FALSE(Matches("model.layers.*.self_attn", "model.layers.7.mlp.up_proj"));
  EXPECT_TRUE(Matches("*.mlp.shared_expert.*", "a.layers.3.mlp.shared_expert.up_proj"));
  EXPECT_FALSE(Matches("*.mlp.shared_expert.*", "a.layers.3.mlp.shared_expert_gate"));
  EXPECT_TRUE(Matches("*", "anything"));
}

TEST(ModulePatterns, RegularExpressionsStartAtTheFirstCharacter) {
  EXPECT_TRUE(Matches("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.0.mlp.up_proj"));
  EXPECT_FALSE(
      Matches("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.1.mlp.experts.3.up_proj"));
  EXPECT_FALSE(Matches("re:layers", "model.layers.0"));
  EXPECT_TRUE(Matches("re:model", "model.layers.0"));
}

TEST(ModulePatterns, HostileExpressions) {
  ModulePatterns patterns;
  const Status broken = patterns.Add("re:(", "config.json: ignore");
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().ToString(),
            "config.json: ignore: the regular expression '(' cannot be read: missing ): (");
  EXPECT_FALSE(patterns.Add("re:((a{1000}){1000}){1000}", "x").has_value());
  // Exponential for a matcher that backtracks.
  ASSERT_TRUE(patterns.Add("re:(a*)*b", "x").has_value());
  EXPECT_FALSE(patterns.Match(std::string(10'000, 'a')));
  ASSERT_TRUE(patterns.Add(std::string(200, '*') + "z", "x").has_value());
  EXPECT_FALSE(patterns.Match(std::string(10'000, 'a')));
  Status full;
  for (int i = 0; i < 2100 && full; ++i) full = patterns.Add("*" + std::to_string(i), "x: ignore");
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().ToString(), "x: ignore: expected at most 2,000 patterns, found more");
  EXPECT_TRUE(patterns.Add("a.plain.name", "x").has_value());
}

TEST(ModulePatterns, NothingMatchesNothing) {
  ModulePatterns patterns;
  EXPECT_TRUE(patterns.empty());
  EXPECT_TRUE(patterns.Add("", "x").has_value());
  EXPECT_TRUE(patterns.empty());
  EXPECT_FALSE(patterns.Match("a"));
}

}  // namespace
}  // namespace shardplan
