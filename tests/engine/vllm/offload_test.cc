#include "engine/vllm/offload.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::Optional;
using testing_support::ReadRows;
using testing_support::VllmContext;

// Every walk of vLLM's own offloader (d29f7f5c): bytes, count, order.
TEST(VllmOffload, EqualsVllmsWalk) {
  int checked = 0;
  for (const nlohmann::json& row : ReadRows("vllm/uva.jsonl")) {
    SCOPED_TRACE(row.dump().substr(0, 200));
    VllmContext c(row["model"].get<std::string>(), "0.28.0");
    c.context.sizes.tp = row["tp"];
    c.context.sizes.pp = row["pp"];
    c.context.sizes.expert_parallel = row["ep"];
    c.context.settings.language_model_only = row["text_only"];
    c.Resolve(Optional<std::string>(row, "partition"));
    const DeviceWeights weights = c.Weights();
    const int64_t stage = row["stage"];
    const StageRange range = c.context.stages[static_cast<size_t>(stage)];
    const vllm::Offload offload =
        vllm::WalkUva(weights, range, Gibibytes(row["gb"].get<double>()).ToBytes(),
                      row["params"].get<std::vector<std::string>>());
    EXPECT_EQ(offload.bytes.count(), row["bytes"]);
    EXPECT_EQ(offload.params.size(), row["count"]);
    const bool last = stage + 1 == c.context.sizes.pp;
    EXPECT_EQ((weights.StageBytes(range, stage == 0, last) - offload.bytes).count(),
              row["resident"]);
    for (size_t i = 0; i < row["first"].size() && i < offload.params.size(); ++i) {
      const DeviceParam& param =
          weights.layer(offload.params[i].layer).params[offload.params[i].param];
      const std::string name =
          ExpandName(c.spec().table.layer_prefix, offload.params[i].layer, 0, 0) + param.name;
      EXPECT_EQ(name, row["first"][i][0]);
      EXPECT_EQ(param.bytes.count(), row["first"][i][1]);
    }
    ++checked;
  }
  EXPECT_EQ(checked, 82);
}

// 32 GiB of Kimi-K3's experts: 19 w13 and 18 w2 a card, and what pinning them takes.
TEST(VllmOffload, PublishedKimiK3Offload) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.context.settings.language_model_only = true;
  c.Resolve("48,45");
  for (const StageRange& stage : c.context.stages) {
    const vllm::Offload offload =
        vllm::WalkUva(c.Weights(), stage, Bytes(32 * kGiB), {"w13_weight", "w2_weight"});
    EXPECT_DOUBLE_EQ(InGiB(offload.bytes).value(), 32.15625);
    EXPECT_EQ(offload.params.size(), 37u);
    EXPECT_EQ(offload.pinned, Bytes(56 * kGiB));
  }
}

TEST(VllmOffload, MatchesWholeSegmentsOnly) {
  const std::string name = "mlp.experts.routed_experts.w13_weight";
  EXPECT_TRUE(vllm::MatchesSegment(name, "w13_weight"));
  EXPECT_TRUE(vllm::MatchesSegment(name, "experts"));
  EXPECT_TRUE(vllm::MatchesSegment(name, "experts.routed_experts"));
  EXPECT_FALSE(vllm::MatchesSegment(name, "w13"));
  EXPECT_FALSE(vllm::MatchesSegment(name, "expert"));
  EXPECT_FALSE(vllm::MatchesSegment(name, ""));
}

}  // namespace
}  // namespace shardplan
