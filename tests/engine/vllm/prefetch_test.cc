#include "engine/vllm/prefetch.h"

#include <gtest/gtest.h>

#include <map>

#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::Optional;
using testing_support::ReadRows;
using testing_support::VllmContext;
using vllm::OffloadBackend;

EngineSettings SettingsOf(const nlohmann::json& row) {
  EngineSettings s;
  s.offload_group_size = row["group"];
  s.offload_num_in_group = row["num"];
  s.offload_prefetch_step = row["step"];
  s.offload_params = row["params"].get<std::vector<std::string>>();
  return s;
}

// Bytes and parameters of each layer that moves, in order.
nlohmann::json ModulesOf(const DeviceWeights& weights, const vllm::Offload& offload) {
  std::map<int64_t, std::pair<int64_t, int64_t>> layers;
  for (const vllm::OffloadedParam& moved : offload.params) {
    layers[moved.layer].first += weights.layer(moved.layer).params[moved.param].bytes.count();
    ++layers[moved.layer].second;
  }
  nlohmann::json modules = nlohmann::json::array();
  for (const auto& [layer, sums] : layers) modules.push_back({layer, sums.first, sums.second});
  return modules;
}

// Every row of vLLM's own offloader (d29f7f5c): layers, their bytes and parameters, the pool, what
// stays, the log line, refusals.
TEST(VllmPrefetch, EqualsVllmsOffloader) {
  int checked = 0;
  int refused = 0;
  for (const nlohmann::json& row : ReadRows("vllm/prefetch.jsonl")) {
    SCOPED_TRACE(row.dump().substr(0, 200));
    const EngineSettings s = SettingsOf(row);
    const std::optional<std::string> refusal = vllm::PrefetchRefusal(s);
    if (row.contains("error")) {
      EXPECT_EQ(refusal, row["error"].get<std::string>());
      ++refused;
      continue;
    }
    EXPECT_EQ(refusal, std::nullopt);
    VllmContext c(row["model"].get<std::string>(), "0.28.0");
    c.context.sizes.tp = row["tp"];
    c.context.sizes.pp = row["pp"];
    c.context.settings.language_model_only = true;
    c.Resolve(Optional<std::string>(row, "partition"));
    const DeviceWeights weights = c.Weights();
    const int64_t stage = row["stage"];
    const StageRange range = c.context.stages[static_cast<size_t>(stage)];
    const vllm::Offload offload = vllm::WalkOffload(weights, range, s);
    EXPECT_EQ(ModulesOf(weights, offload), row["modules"]);
    EXPECT_EQ(offload.layers, static_cast<int64_t>(row["modules"].size()));
    EXPECT_EQ(offload.bytes.count(), row["bytes"]);
    EXPECT_EQ(offload.pool.count(), row["pool"]);
    const bool last = stage + 1 == c.context.sizes.pp;
    const Bytes whole = weights.StageBytes(range, stage == 0, last);
    EXPECT_EQ((whole - offload.bytes + offload.pool).count(), row["resident"]);
    if (row.contains("log")) {
      EXPECT_EQ(vllm::PrefetchLog(offload, s), row["log"].get<std::string>());
    }
    ++checked;
  }
  EXPECT_EQ(checked, 56);
  EXPECT_EQ(refused, 13);
}

TEST(VllmPrefetch, BackendsAreChosenByWhatIsGiven) {
  EngineSettings s;
  EXPECT_EQ(vllm::ChosenOffload(s), OffloadBackend::kNone);
  EXPECT_EQ(vllm::OffloadConflict(s), std::nullopt);
  s.cpu_offload_gb = 4;
  EXPECT_EQ(vllm::ChosenOffload(s), OffloadBackend::kUva);
  s.offload_group_size = 8;
  EXPECT_EQ(vllm::ChosenOffload(s), OffloadBackend::kPrefetch);
  EXPECT_EQ(*vllm::OffloadConflict(s),
            "Both UVA and prefetch offload fields are set with offload_backend='auto'. Prefetch "
            "backend will be selected. Set offload_backend explicitly to suppress this warning.");
  s.offload_backend = "uva";
  EXPECT_EQ(vllm::ChosenOffload(s), OffloadBackend::kUva);
  EXPECT_EQ(*vllm::OffloadConflict(s),
            "Prefetch offload fields are set but offload_backend='uva'. Prefetch settings will be "
            "ignored.");
  s.offload_backend = "prefetch";
  EXPECT_EQ(*vllm::OffloadConflict(s),
            "UVA offload fields are set but offload_backend='prefetch'. UVA settings will be "
            "ignored.");
  s.offload_group_size = 0;
  EXPECT_EQ(*vllm::PrefetchRefusal(s),
            "offload_num_in_group (1) must be <= offload_group_size (0)");
}

// The host pins a power of two for every tensor.
TEST(VllmPrefetch, PinsAsTheAllocatorDoes) {
  VllmContext c("kimi-k3", "0.28.0");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.context.settings.language_model_only = true;
  c.Resolve("48,45");
  EngineSettings s;
  s.offload_group_size = 8;
  s.offload_params = {"w13_weight", "w2_weight"};
  const vllm::Offload offload = vllm::WalkPrefetch(c.Weights(), c.context.stages[0], s);
  EXPECT_EQ(offload.layers, 6);
  EXPECT_EQ(offload.pinned, Bytes(6 * 3 * kGiB));
}

}  // namespace
}  // namespace shardplan
