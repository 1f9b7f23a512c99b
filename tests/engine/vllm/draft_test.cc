#include "engine/vllm/draft.h"

#include <gtest/gtest.h>

#include "engine/vllm/speculative_config.h"
#include "support/tiny_models.h"

namespace shardplan::vllm {
namespace {

using testing_support::Build;

// MTP layers count from 0 in the drafter and keep their names; nothing of the model's own is there.
TEST(MakeDraft, TakesTheMtpRowsOutOfTheTable) {
  const ModelSpec spec = Build(testing_support::TinyDeepseek());
  std::vector<Finding> findings;
  const auto draft = MakeDraft(*ParseSpeculation(R"({"method": "mtp"})"),
                               {&spec.arch, &spec.arch, &spec.table, false, false}, {}, &findings);
  ASSERT_TRUE(draft.has_value() && draft->has_value());
  const Draft& d = **draft;
  EXPECT_TRUE(d.in_checkpoint);
  EXPECT_FALSE(d.of_its_own);
  EXPECT_EQ(d.first_layer, 5);
  EXPECT_EQ(d.arch.layers(), 1);
  EXPECT_TRUE(d.arch.is_moe(0));
  EXPECT_EQ(d.arch.quantization, "fp8");
  EXPECT_EQ(d.NameOf("enorm.weight", 0), "model.layers.5.enorm.weight");
  size_t stored = 0;
  for (const ModuleRow& row : spec.table.rows) stored += row.role == Role::kDraft;
  EXPECT_EQ(d.table.rows.size(), stored - 2);  // without the copies of embedding and head
  for (const ModuleRow& row : d.table.rows) {
    EXPECT_EQ(row.placement, Placement::kLayers) << row.name;
    EXPECT_EQ(row.layers.layers(), std::vector<int64_t>{0}) << row.name;
  }
}

// One attention in the draft, where the model's layers have two.
TEST(MakeDraft, MtpOfLongcatFlash) {
  const ModelSpec spec = Build(testing_support::TinyLongcatFlash());
  std::vector<Finding> findings;
  const auto draft = MakeDraft(*ParseSpeculation(R"({"method": "mtp"})"),
                               {&spec.arch, &spec.arch, &spec.table, false, false}, {}, &findings);
  ASSERT_TRUE(draft.has_value() && draft->has_value());
  const Architecture& a = (*draft)->arch;
  EXPECT_EQ(a.attention, std::vector<AttentionKind>{AttentionKind::kMla});
  EXPECT_EQ(a.attentions_per_layer, 1);
  EXPECT_FALSE(a.is_moe(0));
  EXPECT_EQ((*draft)->NameOf("enorm.weight", 0), "model.mtp.layers.0.enorm.weight");
}

// From other files than the model's, whose shards the stages then need not keep for it.
TEST(MakeDraft, MtpOfAnotherCheckpoint) {
  const ModelSpec spec = Build(testing_support::TinyDeepseek());
  std::vector<Finding> findings;
  const auto draft = MakeDraft(*ParseSpeculation(R"({"method": "mtp", "model": "x"})"),
                               {&spec.arch, &spec.arch, &spec.table, false, true}, {}, &findings);
  ASSERT_TRUE(draft.has_value() && draft->has_value());
  EXPECT_FALSE((*draft)->in_checkpoint);
  EXPECT_FALSE((*draft)->of_its_own);
}

TEST(MakeDraft, AnArchitectureMadeUpFromHeaders) {
  const ModelSpec spec = Build(testing_support::TinyDeepseek());
  std::vector<Finding> findings;
  const auto draft = MakeDraft(*ParseSpeculation(R"({"method": "mtp"})"),
                               {&spec.arch, &spec.arch, &spec.table, true, false}, {}, &findings);
  ASSERT_FALSE(draft.has_value());
  EXPECT_EQ(draft.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(draft.error().ToString(),
            "--speculative-config: the MTP layers of DeepseekV3ForCausalLM are not modelled; plan "
            "without speculation, and measure what it adds");
}

}  // namespace
}  // namespace shardplan::vllm
