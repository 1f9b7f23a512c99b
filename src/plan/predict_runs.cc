#include "plan/predict_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "engine/vllm/kv_cache.h"
#include "plan/classes.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// "0.31" of "v0.31.1rc1"; of nothing, the newest profile's.
std::string MinorOf(std::string version, const ConfigStore& store) {
  if (version.empty()) version = vllm::ProfileVersions(store).back();
  if (version.starts_with('v')) version.erase(0, 1);
  const size_t dot = version.find('.');
  return dot == std::string::npos ? version : version.substr(0, version.find('.', dot + 1));
}

// Why a run is of something else than the environment; empty where it isn't.
std::string Mismatch(const Environment& env, const ConfigStore& store, const Deployment& deployment,
                     const CalibrationRun& run) {
  const Deployment& d = run.deployment;
  if (d.gpu != env.gpu.id && d.gpu != env.gpu.name) {
    return fmt::format("it ran on {}, this is {}", Printable(d.gpu), env.gpu.id);
  }
  const std::string ran = d.engine + "@" + MinorOf(d.engine_version, store);
  const std::string planned = deployment.engine + "@" + MinorOf(deployment.engine_version, store);
  if (ran != planned) {
    return fmt::format("it ran on {}, this is {}", Printable(ran), Printable(planned));
  }
  const Architecture& arch = env.model->arch;
  if (run.model != arch.family && run.model != arch.name) {
    return fmt::format("it ran {}, this is {} ({})", Printable(run.model), Printable(arch.family),
                       Printable(arch.name));
  }
  return "";
}

std::optional<Range> Difference(const std::optional<Range>& measured, Bytes derived) {
  if (!measured) return std::nullopt;
  return *measured + Range(-derived);
}

Bytes CentralOf(const StageEvaluation& e, std::initializer_list<Account> accounts, bool in_budget) {
  Bytes sum;
  for (const Entry& entry : e.entries) {
    const bool is_one =
        std::find(accounts.begin(), accounts.end(), entry.account) != accounts.end();
    if (is_one && entry.in_budget == in_budget) sum += entry.bytes.central;
  }
  return sum;
}

// The stage with the fewest blocks: the one that printed figures are of.
size_t BindingStage(const std::vector<StageEvaluation>& stages, const vllm::KvLayout& layout) {
  size_t binding = 0;
  double fewest = 0;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const Bytes block = layout.bytes_per_block[stage];
    if (block <= Bytes()) continue;
    const double blocks = static_cast<double>(stages[stage].kv_available.central.count()) /
                          static_cast<double>(block.count());
    if (stage > 0 && blocks >= fewest) continue;
    binding = stage;
    fewest = blocks;
  }
  return binding;
}

// The blocks behind "GPU KV cache size: N tokens"; nothing where the card cannot hold them.
std::optional<int64_t> BlocksOfTokens(const Prepared& p, const vllm::KvLayout& layout,
                                      int64_t tokens) {
  const Bytes most = p.gpu.device_total.bytes.central;
  const auto tokens_of = [&](int64_t blocks) {
    std::vector<Bytes> available;
    for (const Bytes block : layout.bytes_per_block) available.push_back(block * blocks);
    return vllm::ComputeCapacity(layout, available, p.context.resolved.max_model_len,
                                 p.context.profile->tokens_printed)
        .tokens;
  };
  Bytes dearest(1);
  for (const Bytes block : layout.bytes_per_block) dearest = std::max(dearest, block);
  int64_t low = 0;
  int64_t high = FloorDiv(most, dearest) + 1;
  if (tokens_of(high) < tokens) return std::nullopt;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (tokens_of(middle) < tokens) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

tl::unexpected<Error> Unlikely(std::string message) {
  return Fail(ErrorCode::kInvalidInput, "", std::move(message),
              "is it this model, and are these its options?");
}

// What the run left for the cache, and the stage that it was left on.
Status ReadCache(const Prepared& p, const vllm::KvLayout& layout, PredictedRun* out,
                 std::optional<Range>* left, size_t* stage) {
  const CalibrationRun& run = *out->run;
  if (run.available_kv) {
    *left = run.available_kv;
    *stage = out->reference;
    return {};
  }
  if (!run.num_blocks && !run.kv_tokens) return {};
  *stage = BindingStage(out->stages, layout);
  std::optional<int64_t> blocks = run.num_blocks;
  if (!blocks) {
    blocks = BlocksOfTokens(p, layout, *run.kv_tokens);
  }
  const Bytes block = layout.bytes_per_block[*stage];
  if (!blocks || *blocks > FloorDiv(p.gpu.device_total.bytes.central, std::max(block, Bytes(1)))) {
    return Unlikely("it printed a larger cache than the card holds");
  }
  // Anything up to the next block: its middle.
  const Bytes least = block * *blocks;
  *left = Range(least, least + Bytes(block.count() / 2), least + block - Bytes(1));
  return {};
}

Status CheckPlausible(const PredictedRun& run, const StageEvaluation& derived,
                      const std::optional<Range>& total) {
  if (run.weights && std::abs(run.weights->central.count()) > derived.resident.count() / 20) {
    return Unlikely(fmt::format("it printed {} of weights where {} are derived",
                                FormatGiB(derived.resident + run.weights->central),
                                FormatGiB(derived.resident)));
  }
  if (!total) return {};
  const Bytes rest = derived.in_budget.central - derived.resident;
  const Bytes weights = run.weights ? run.weights->central : Bytes();
  const Bytes measured = rest + total->central - weights;
  if (measured < Bytes() || measured > 3 * rest + Bytes(4 * kGiB)) {
    return Unlikely(fmt::format("beside its weights it used {} where {} are derived",
                                FormatGiB(measured), FormatGiB(rest)));
  }
  return {};
}

Status Predict(const Environment& env, const ConfigStore& store, PredictedRun* out) {
  const CalibrationRun& run = *out->run;
  Deployment d = run.deployment;
  d.calibration.reset();
  Environment own = env;
  own.calibration.reset();
  own.findings.clear();
  SHARDPLAN_ASSIGN_OR_RETURN(own.profile,
                             vllm::LoadProfile(store, d.engine_version, &own.findings));
  const bool cache_is_given = run.available_kv || run.num_blocks || run.kv_tokens;
  if (cache_is_given && d.settings.kv_cache_memory_bytes) {
    return Unlikely("its cache was given by kv-cache-memory-bytes and says nothing of the rest");
  }
  if (run.kv_tokens && d.settings.max_model_len_auto) {
    return Unlikely("tokens are told of a window: expected the one that the log prints, not auto");
  }
  Prepared p;
  SHARDPLAN_RETURN_IF_ERROR(Prepare(own, d, &p));
  for (const Finding& finding : p.findings) {
    if (finding.severity != Severity::kError) continue;
    return Fail(ErrorCode::kUsage, finding.subject, finding.message, finding.fix);
  }
  if (run.stage.value_or(0) >= d.sizes.pp) {
    return Unlikely(fmt::format("it is of stage {}, and there are {}", *run.stage, d.sizes.pp));
  }
  const Classes classes =
      EvaluateClasses(p, *env.model, PlaceRanks(d.sizes, p.placement.ranks_per_node));
  for (int64_t stage = 0; stage < d.sizes.pp; ++stage) {
    out->stages.push_back(FullestOf(classes, stage));
  }
  out->utilization = p.context.resolved.gpu_memory_utilization;
  out->batched_tokens = p.context.resolved.max_num_batched_tokens;
  out->capture_sizes = p.context.resolved.capture_sizes;
  out->reference = static_cast<size_t>(run.stage.value_or(0));

  const StageEvaluation& of = out->stages[out->reference];
  out->weights = Difference(run.weights, of.resident);
  out->activations = Difference(run.activation_peak, of.activation.bytes.central);
  out->growth = Difference(run.non_torch_growth,
                           CentralOf(of, {Account::kCommunication, Account::kWorkspace}, true));
  out->graphs = Difference(run.graph_reserve, of.graphs.reserved.central);
  out->baseline = Difference(
      run.baseline,
      CentralOf(of, {Account::kCudaContext, Account::kCommunication, Account::kInUseByOthers},
                false));
  std::optional<Range> left;
  size_t stage = 0;
  SHARDPLAN_RETURN_IF_ERROR(ReadCache(p, vllm::MakeKvLayout(p.context), out, &left, &stage));
  std::optional<Range> total;
  if (left) {
    const Bytes derived = out->stages[stage].kv_available.central;
    total = Range(derived - left->high, derived - left->central, derived - left->low);
  }
  SHARDPLAN_RETURN_IF_ERROR(CheckPlausible(*out, of, total));
  if (!total) return {};
  // The rounding of the terms cancels out in the sum.
  Bytes terms;
  for (const auto& term : {out->weights, out->activations, out->growth, out->graphs}) {
    if (term) terms += term->central;
  }
  out->rest = *total + Range(-terms);
  return {};
}

}  // namespace

std::shared_ptr<const CalibrationTable> PredictRuns(const Environment& env,
                                                    const ConfigStore& store,
                                                    const Deployment& deployment) {
  if (!deployment.calibration) return nullptr;
  auto table = std::make_shared<CalibrationTable>();
  table->calibration = deployment.calibration;
  for (const CalibrationRun& run : table->calibration->runs) {
    PredictedRun predicted;
    predicted.run = &run;
    predicted.source = table->calibration->file + ", " + run.name;
    predicted.refused = Mismatch(env, store, deployment, run);
    if (predicted.refused.empty()) {
      if (const Status status = Predict(env, store, &predicted); !status) {
        predicted.refused = status.error().ToString();
        predicted.suspicious = true;
      }
    }
    table->runs.push_back(std::move(predicted));
  }
  return table;
}

}  // namespace shardplan
