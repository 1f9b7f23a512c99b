// How long single steps of a plan take, from config.json alone:
//   build/default/bin/plan_benchmark --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "shardplan/plan/layout_search.h"
#include "shardplan/plan/plan.h"

namespace shardplan {
namespace {

const std::string kConfig = SHARDPLAN_EXAMPLES "/kimi-k3/config.json";

Deployment TwoNodes() {
  Deployment d;
  d.gpu = "h20-96";
  d.nodes = 2;
  d.sizes.tp = 8;
  d.sizes.pp = 2;
  d.partition = std::vector<int64_t>{48, 45};
  d.settings.max_model_len = 524'288;
  d.settings.max_num_seqs = 1;
  d.settings.language_model_only = true;
  return d;
}

// Aborts where the input is broken: a benchmark of a failure measures nothing.
template <typename T>
T Value(Result<T> result) {
  if (!result) std::abort();
  return std::move(*result);
}

void LoadModelFromConfig(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Value(LoadModel(kConfig)));
}
BENCHMARK(LoadModelFromConfig)->Unit(benchmark::kMillisecond);

void LoadCatalogue(benchmark::State& state) {
  const ConfigStore store = ConfigStore::BuiltIn();
  for (auto _ : state) benchmark::DoNotOptimize(Value(Catalog::Load(store)));
}
BENCHMARK(LoadCatalogue)->Unit(benchmark::kMillisecond);

// With offload it fits; without, the fixes are searched for as well.
void Evaluate(benchmark::State& state) {
  const ConfigStore store = ConfigStore::BuiltIn();
  const Catalog catalog = Value(Catalog::Load(store));
  const Model model = Value(LoadModel(kConfig));
  Deployment deployment = TwoNodes();
  deployment.settings.cpu_offload_gb = static_cast<double>(state.range(0));
  deployment.settings.cpu_offload_params = {"w13_weight", "w2_weight"};
  for (auto _ : state) {
    benchmark::DoNotOptimize(Value(EvaluatePlan(model, catalog, store, deployment)));
  }
}
BENCHMARK(Evaluate)->ArgName("offload_gib")->Arg(32)->Arg(0)->Unit(benchmark::kMicrosecond);

// One point of a search: figures and verdict alone, of an engine that was looked up before.
void Figures(benchmark::State& state) {
  const ConfigStore store = ConfigStore::BuiltIn();
  const Catalog catalog = Value(Catalog::Load(store));
  const Model model = Value(LoadModel(kConfig));
  Deployment deployment = TwoNodes();
  if (state.range(0) == 1) {
    deployment.engine = "sglang";
    deployment.gpu = "h20-141";
    deployment.sizes.tp = 16;
    deployment.sizes.pp = 1;
    deployment.partition.reset();
    deployment.sglang.ep_size = 16;
    deployment.sglang.moe_runner_backend = "marlin";
  }
  FigureEvaluator evaluator(model, catalog, store);
  int64_t window = 65'536;
  for (auto _ : state) {
    deployment.settings.max_model_len = window;
    deployment.sglang.context_length = window;
    window = window % 500'000 + 1'000;
    benchmark::DoNotOptimize(Value(evaluator.Evaluate(deployment)));
  }
}
BENCHMARK(Figures)->ArgName("sglang")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

// Every layout of Kimi-K3 on 32 cards, by both engines.
void Search(benchmark::State& state) {
  const ConfigStore store = ConfigStore::BuiltIn();
  const Catalog catalog = Value(Catalog::Load(store));
  const Model model = Value(LoadModel(kConfig));
  SearchRequest request;
  request.nodes = 4;
  request.threads = static_cast<int>(state.range(0));
  request.objectives = {Objective::kMaxConcurrency};
  for (const char* engine : {"vllm", "sglang"}) {
    request.variants.emplace_back();
    Deployment& d = request.variants.back().base;
    d.gpu = "h20-96";
    d.engine = engine;
    d.settings.max_model_len = 131'072;
    d.sglang.context_length = 131'072;
  }
  int64_t evaluated = 0;
  for (auto _ : state) {
    evaluated += Value(SearchLayouts(model, catalog, store, request)).evaluated;
  }
  state.counters["evaluations"] =
      benchmark::Counter(static_cast<double>(evaluated), benchmark::Counter::kIsRate);
}
BENCHMARK(Search)->ArgName("threads")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace shardplan

BENCHMARK_MAIN();
