// How fast a large checkpoint opens. The stand-in made here has the size and the make-up of a model
// of half a million tensors: 92 layers of 896 experts, a shard each.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "shardplan/checkpoint/inventory.h"
#include "shardplan/checkpoint/standin.h"
#include "shardplan/checkpoint/tensor_name.h"

namespace shardplan {
namespace {

constexpr int kLayers = 92;
constexpr int kExperts = 896;

StandInShard LayerShard(size_t number) {
  StandInShard shard;
  char name[64];
  std::snprintf(name, sizeof(name), "model-%05zu-of-%06d.safetensors", number + 1, kLayers);
  shard.file_name = name;
  const std::string layer = "language_model.model.layers." + std::to_string(number) + ".";
  shard.tensors.push_back({layer + "input_layernorm.weight", DType::kBF16, Shape({7168})});
  shard.tensors.push_back({layer + "self_attn.o_proj.weight", DType::kBF16, Shape({7168, 8192})});
  for (int expert = 0; expert < kExperts; ++expert) {
    const std::string prefix = layer + "block_sparse_moe.experts." + std::to_string(expert) + ".";
    for (const char* matrix : {"w1", "w2", "w3"}) {
      shard.tensors.push_back(
          {prefix + matrix + ".weight_packed", DType::kU8, Shape({3072, 1792})});
      shard.tensors.push_back({prefix + matrix + ".weight_scale", DType::kU8, Shape({3072, 112})});
    }
  }
  return shard;
}

StandInPlan LargePlan() {
  StandInPlan plan;
  plan.shard_count = kLayers;
  plan.shard = [](size_t number) -> Result<StandInShard> { return LayerShard(number); };
  return plan;
}

// A scratch directory for the whole run.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "shardplan-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string& LargeCheckpoint() {
  static const Scratch scratch;
  static const std::string path = [] {
    const std::string out = scratch.path() + "/model";
    if (!WriteStandIn(LargePlan(), out)) std::abort();
    return out;
  }();
  return path;
}

void BM_OpenLargeCheckpoint(benchmark::State& state) {
  const std::string& path = LargeCheckpoint();
  const OpenOptions options = {.threads = static_cast<int>(state.range(0))};
  int64_t tensors = 0;
  int64_t bytes = 0;
  for ([[maybe_unused]] const auto _ : state) {
    const auto inventory = OpenCheckpoint(path, options);
    if (!inventory) {
      state.SkipWithError(inventory.error().ToString().c_str());
      return;
    }
    tensors = static_cast<int64_t>(inventory->tensors.size());
    bytes = inventory->header_bytes.count();
  }
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  state.counters["tensors"] = static_cast<double>(tensors);
  state.counters["header_MB"] = static_cast<double>(bytes) / 1e6;
  state.counters["peak_rss_MB"] = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}
BENCHMARK(BM_OpenLargeCheckpoint)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_WriteStandIn(benchmark::State& state) {
  const Scratch scratch;
  const std::string path = scratch.path() + "/model";
  for ([[maybe_unused]] const auto _ : state) {
    if (!WriteStandIn(LargePlan(), path)) {
      state.SkipWithError("cannot write");
      return;
    }
    state.PauseTiming();
    std::filesystem::remove_all(path);
    state.ResumeTiming();
  }
}
BENCHMARK(BM_WriteStandIn)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_SplitTensorName(benchmark::State& state) {
  const std::string name =
      "language_model.model.layers.41.block_sparse_moe.experts.817.w2.weight_packed";
  std::string pattern;
  NameIndices indices;
  for ([[maybe_unused]] const auto _ : state) {
    SplitTensorName(name, &pattern, &indices);
    benchmark::DoNotOptimize(indices);
  }
}
BENCHMARK(BM_SplitTensorName);

}  // namespace
}  // namespace shardplan

BENCHMARK_MAIN();
