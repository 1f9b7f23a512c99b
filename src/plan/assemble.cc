#include "plan/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "engine/vllm/all2all.h"
#include "engine/vllm/arguments.h"
#include "engine/vllm/kv_cache.h"
#include "engine/vllm/refusals.h"
#include "plan/calibrate.h"
#include "plan/classes.h"
#include "plan/expert_balance.h"
#include "plan/header.h"
#include "plan/host_memory.h"
#include "plan/launch_flags.h"
#include "plan/node_loading.h"
#include "plan/notes.h"
#include "plan/placement_findings.h"
#include "plan/request.h"
#include "plan/stage.h"
#include "plan/vllm_traffic.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Central and at both ends: at the cheap one of the other entries, at their dear one.
struct Layouts {
  vllm::KvLayout central;
  std::optional<vllm::KvLayout> least;  // where the kind of attention is guessed
  std::optional<vllm::KvLayout> most;

  const vllm::KvLayout& At(End end) const {
    return end == End::kLow && least ? *least : end == End::kHigh && most ? *most : central;
  }
};

// The layout of an architecture whose cache is at one end.
vllm::KvLayout LayoutOf(const Prepared& p, Architecture arch, bool whole_heads) {
  // Every rank keeps all heads: as if there were as many times more of them as ranks.
  if (whole_heads) arch.kv_heads = internal::CheckedMul(arch.kv_heads, p.context.sizes.tp);
  vllm::Context context = p.context;
  context.arch = &arch;
  return vllm::MakeKvLayout(context);
}

Layouts MakeLayouts(const Prepared& p, const Model& model) {
  Layouts layouts;
  layouts.central = vllm::MakeKvLayout(p.context);
  if (!model.guesses || !model.guesses->least_cache) return layouts;
  layouts.least = LayoutOf(p, *model.guesses->least_cache, false);
  layouts.most = LayoutOf(p, *model.guesses->most_cache, model.guesses->heads_may_be_whole);
  return layouts;
}

// The same as the engine's rules take it where a number of blocks is asked for: `rule` is
// vllm::PoolBytes or vllm::AdmittedBytes.
using MemoryRule = Bytes (*)(const vllm::Context&, const vllm::KvLayout&, size_t, Bytes);
std::vector<Bytes> ByStage(const Prepared& p, const Classes& classes, const Layouts& layouts,
                           End end, MemoryRule rule) {
  std::vector<Bytes> bytes = AvailableByStage(classes, p.context.stages.size(), end);
  for (size_t stage = 0; stage < bytes.size(); ++stage) {
    bytes[stage] = rule(p.context, layouts.At(end), stage, bytes[stage]);
  }
  return bytes;
}

// A cache of a given number of blocks is allocated whether or not the budget has room for it: then
// the budget is what is taken, as with a cache of a given size.
void StretchBudgets(const Prepared& p, const Layouts& layouts, Classes* classes) {
  if (!p.context.settings.num_gpu_blocks_override) return;
  for (auto& [key, e] : classes->evaluations) {
    const auto stage = static_cast<size_t>(key.first);
    const auto cache = [&](End end) {
      return vllm::PoolBytes(p.context, layouts.At(end), stage, Bytes());
    };
    e.budget.low = std::max(e.budget.low, e.in_budget.high + cache(End::kHigh));
    e.budget.central = std::max(e.budget.central, e.in_budget.central + cache(End::kCentral));
    e.budget.high = std::max(e.budget.high, e.in_budget.low + cache(End::kLow));
  }
}

Bytes At(const Range& range, End end) {
  return end == End::kLow ? range.low : end == End::kHigh ? range.high : range.central;
}

// Whether every rank admits what was asked for, starts, captures and loads at one end.
Verdict Judge(const Prepared& p, const Classes& classes, const Layouts& layouts, End end) {
  const vllm::KvLayout& layout = layouts.At(end);
  const vllm::Resolved& r = p.context.resolved;
  const std::vector<Bytes> available = ByStage(p, classes, layouts, end, vllm::AdmittedBytes);
  for (size_t stage = 0; stage < available.size(); ++stage) {
    const Bytes needed =
        vllm::NeededBytes(layout, stage, r.max_model_len, p.deployment.require_concurrency,
                          p.context.profile->null_block_reserved);
    if (available[stage] < needed || available[stage] <= Bytes()) return Verdict::kDoesNotFit;
  }
  const int64_t blocks =
      vllm::ComputeCapacity(layout, ByStage(p, classes, layouts, end, vllm::PoolBytes),
                            r.max_model_len)
          .num_blocks;
  if (vllm::GraphsNeedMoreBlocks(p.context, blocks)) return Verdict::kDoesNotFit;
  const Bytes capacity = p.gpu.cuda_visible.bytes.central;
  const Bytes total = p.gpu.device_total.bytes.central;
  for (const auto& [key, e] : classes.evaluations) {
    // The budget is larger where CUDA sees more: at the cheap end of the others.
    const Bytes budget = end == End::kLow    ? e.budget.high
                         : end == End::kHigh ? e.budget.low
                                             : e.budget.central;
    if (At(e.outside, end) > total - budget) return Verdict::kDoesNotFit;
    if (At(e.load_peak, end) > capacity) return Verdict::kDoesNotFit;
  }
  return Verdict::kFits;
}

// What to look at first: the largest account that the engine counts where nothing is left for the
// cache, the cache where something is.
Account BlamedAccount(const StageEvaluation& e) {
  if (e.kv_available.central > Bytes()) return Account::kKvCache;
  const Entry* largest = nullptr;
  for (const Entry& entry : e.entries) {
    if (!entry.in_budget) continue;
    if (!largest || entry.bytes.central > largest->bytes.central) largest = &entry;
  }
  return largest ? largest->account : Account::kKvCache;
}

// The largest account outside the budget: what to look at when that side is short. A cache of a
// size that was asked for is to blame itself.
Account LargestOutside(const Prepared& p, const StageEvaluation& e) {
  const EngineSettings& s = p.context.settings;
  if (s.kv_cache_memory_bytes || s.num_gpu_blocks_override) return Account::kKvCache;
  const Entry* largest = nullptr;
  for (const Entry& entry : e.entries) {
    if (entry.in_budget || entry.account == Account::kDriverReserved) continue;
    if (!largest || entry.bytes.central > largest->bytes.central) largest = &entry;
  }
  return largest ? largest->account : Account::kCudaContext;
}

RankPlan MakeRank(const Prepared& p, const StageEvaluation& e, const RankPlace& place,
                  const Layouts& layouts, const KvPlan& kv, bool guessed) {
  const vllm::KvLayout& layout = layouts.central;
  RankPlan rank;
  rank.place = place;
  rank.numa_node = p.placement.NumaOf(place);
  rank.device_total = p.gpu.device_total.bytes.central;
  rank.capacity = p.gpu.cuda_visible.bytes.central;
  rank.budget = e.budget.central;
  rank.weights = e.resident;
  rank.offloaded = e.offload.bytes;
  rank.pinned_allocated = e.offload.pinned;
  rank.detail = e.detail;
  rank.kv_available = e.kv_available;
  const auto stage = static_cast<size_t>(place.stage);
  rank.bytes_per_block = layout.bytes_per_block[stage];
  rank.headroom =
      vllm::AdmittedBytes(p.context, layout, stage, e.kv_available.central) -
      vllm::NeededBytes(layout, stage, p.context.resolved.max_model_len,
                        p.deployment.require_concurrency, p.context.profile->null_block_reserved);
  rank.load_peak = e.load_peak.central;
  rank.load_reason = e.load.reason;
  rank.load_help = e.load.help;
  Ledger ledger(rank.device_total, rank.capacity, e.budget);
  for (const Entry& entry : e.entries) ledger.Add(entry);
  const Bytes cache = rank.bytes_per_block * kv.num_blocks;
  // Fewer blocks may be larger ones, where the kind of attention is guessed.
  const auto end = [&](End which, int64_t blocks) {
    return layouts.At(which).bytes_per_block[stage] * blocks;
  };
  ledger.Add({Account::kKvCache,
              true,
              Range(std::min(cache, end(End::kHigh, kv.num_blocks_low)), cache,
                    std::max(cache, end(End::kLow, kv.num_blocks_high))),
              guessed ? Basis::kAssumed : Basis::kDerived,
              fmt::format("{} blocks × {}, the least of all ranks", FormatCount(kv.num_blocks),
                          FormatBytes(rank.bytes_per_block)),
              {}});
  ledger.Close();
  rank.ledger = std::move(ledger);
  return rank;
}

KvPlan MakeKv(const Prepared& p, const Classes& classes, const Layouts& layouts) {
  const vllm::KvLayout& layout = layouts.central;
  const vllm::Resolved& r = p.context.resolved;
  KvPlan kv;
  kv.dtype = r.kv_stored_dtype;
  kv.block_tokens = layout.block_tokens * layout.dcp;
  kv.page = layout.page;
  kv.bytes_per_block_by_stage = layout.bytes_per_block;
  kv.bytes_per_block =
      *std::max_element(layout.bytes_per_block.begin(), layout.bytes_per_block.end());
  for (const StageRange& stage : p.context.stages) {
    kv.attention_layers_by_stage.push_back(vllm::AttentionLayers(*p.context.arch, stage));
  }
  for (const vllm::KvGroup& group : layout.groups) {
    const vllm::KvSpec& spec = group.spec();
    kv.groups.push_back(
        {vllm::NameOf(group), spec.window, group.caches(),
         spec.kind == vllm::KvKind::kState ? spec.block_tokens : spec.block_tokens * layout.dcp,
         group.widest_page(), layout.BlocksOf(group, r.max_model_len)});
  }
  auto capacity = [&](End end) {
    return vllm::ComputeCapacity(layouts.At(end),
                                 ByStage(p, classes, layouts, end, vllm::PoolBytes),
                                 r.max_model_len, p.context.profile->tokens_printed);
  };
  const vllm::KvCapacity central = capacity(End::kCentral);
  kv.num_blocks = central.num_blocks;
  kv.num_blocks_low = std::min(kv.num_blocks, capacity(End::kHigh).num_blocks);
  kv.num_blocks_high = std::max(kv.num_blocks, capacity(End::kLow).num_blocks);
  kv.blocks_per_request = central.blocks_per_request;
  kv.max_concurrency = central.max_concurrency;
  kv.tokens = central.tokens;
  kv.full_window_requests = static_cast<int64_t>(central.max_concurrency);
  if (p.deployment.typical_tokens) {
    kv.typical_tokens = p.deployment.typical_tokens;
    const int64_t blocks =
        layout.BlocksPerRequest(std::min(*p.deployment.typical_tokens, r.max_model_len));
    kv.typical_concurrency =
        static_cast<double>(kv.num_blocks) / static_cast<double>(std::max<int64_t>(1, blocks));
  }
  return kv;
}

const StageEvaluation& EvaluationOf(const Prepared& p, const Classes& classes,
                                    const RankPlace& place) {
  const int64_t experts = vllm::RulesFor(p.context, place.ep_rank).local_experts;
  return classes.evaluations.at({place.stage, experts});
}

void FillLimiting(const Prepared& p, const Classes& classes, Plan* plan) {
  const auto fullest = std::min_element(
      plan->ranks.begin(), plan->ranks.end(),
      [](const RankPlan& a, const RankPlan& b) { return a.headroom < b.headroom; });
  const StageEvaluation& e = EvaluationOf(p, classes, fullest->place);
  if (fullest->headroom < Bytes() || e.kv_available.central <= Bytes()) {
    plan->limiting = {fullest->place.rank, BlamedAccount(e), -fullest->headroom};
    return;
  }
  // The budget holds; what the engine never counts, or loading, does not.
  for (const RankPlan& rank : plan->ranks) {
    const StageEvaluation& own = EvaluationOf(p, classes, rank.place);
    const Bytes outside = own.outside.central - (rank.device_total - rank.budget);
    const Bytes load = own.load_peak.central - rank.capacity;
    if (outside > Bytes() || load > Bytes()) {
      plan->limiting = {rank.place.rank,
                        outside >= load ? LargestOutside(p, own) : Account::kWeights,
                        std::max(outside, load)};
      return;
    }
  }
  // What is left is graph capture, which wants a block for every sequence.
  const int64_t missing = p.context.resolved.max_num_seqs - plan->kv->num_blocks;
  plan->limiting = {fullest->place.rank, Account::kKvCache, fullest->bytes_per_block * missing};
}

void CalibrateClasses(const CalibrationTable& table, const Prepared& p, Classes* classes) {
  for (auto& [key, evaluation] : classes->evaluations) {
    if (const PredictedRun* const run = NearestRun(table, p, key.first)) {
      Calibrate(*run, p, key.first, &evaluation);
    }
  }
}

// One entry a stage: its class with the largest peak.
void FillActivations(const Classes& classes, Plan* plan) {
  for (const auto& [key, e] : classes.evaluations) {
    ActivationPlan activation;
    activation.stage = key.first;
    activation.peak = e.activation.bytes;
    activation.binding = e.activation.binding;
    activation.flag = e.activation.flag;
    activation.per_token = e.activation.per_token;
    activation.fixed = {{"blas_workspace", e.activation.blas_workspace},
                        {"pipeline_inputs", e.activation.pipeline_inputs},
                        {"residual_bank", e.activation.residual_bank},
                        {"encoder_outputs", e.activation.encoder_outputs},
                        {"input_embeddings", e.activation.input_embeddings}};
    if (e.measured_activation != Bytes()) {
      activation.fixed.emplace_back("measured_difference", e.measured_activation);
    }
    for (const vllm::Phase& phase : e.activation.phases) {
      activation.phases.emplace_back(phase.name, phase.bytes);
    }
    const bool same_stage =
        !plan->activations.empty() && plan->activations.back().stage == key.first;
    if (!same_stage) {
      plan->activations.push_back(std::move(activation));
    } else if (activation.peak.central > plan->activations.back().peak.central) {
      plan->activations.back() = std::move(activation);
    }
  }
}

StageLoads LoadsOf(const Prepared& p) {
  return {p.context.stages, p.context.arch->tied_embeddings, p.context.resolved.vision_on_device,
          p.draft && p.draft->in_checkpoint};
}

// One command per node.
std::vector<LaunchPlan> PlanLaunch(const Prepared& p, const Model& model) {
  std::vector<LaunchPlan> launch;
  for (int64_t node = 0; node < p.placement.nodes; ++node) {
    vllm::NodeFacts facts;
    facts.node = node;
    facts.nodes = p.placement.nodes;
    facts.gpus = p.placement.ranks_per_node;
    facts.explicit_partition =
        p.context.stages != DefaultPartition(p.context.arch->layers(), p.context.sizes.pp);
    facts.numa_of_gpu = p.placement.NumaOf(node);
    facts.numa_of_gpu.resize(static_cast<size_t>(p.placement.ranks_per_node));
    if (model.hypothetical) break;
    NodeCommand command = vllm::MakeCommand(p.context, model.inventory.directory, facts);
    launch.push_back({node, std::move(command.env), std::move(command.argv)});
  }
  return launch;
}

// What every rank pins, also of those that the plan does not tell.
std::vector<PinnedShare> PinnedShares(const Prepared& p, const Classes& classes) {
  std::vector<PinnedShare> shares;
  for (const RankPlace& place : PlaceRanks(p.deployment.sizes, p.placement.ranks_per_node)) {
    const vllm::Offload& offload = EvaluationOf(p, classes, place).offload;
    shares.push_back({place.node, p.placement.NumaOf(place), offload.bytes, offload.pinned});
  }
  return shares;
}

HostRequest HostRequestOf(const Prepared& p) {
  HostRequest request;
  request.cluster = p.deployment.cluster.get();
  request.ranks_per_node = p.placement.ranks_per_node;
  request.bound = p.context.settings.numa_bind;
  request.network = p.placement.nodes > 1;
  return request;
}

PlacementRequest PlacementRequestOf(const Environment& env, const Prepared& p) {
  PlacementRequest request = CommonPlacementRequest(env, p);
  if (vllm::UsesAll2All(p.context.sizes)) {
    request.exchange = ExpertExchange::kDispatch;
  } else if (p.context.sizes.dp > 1) {
    request.exchange = ExpertExchange::kGather;
  }
  request.custom_all_reduce = !p.context.settings.disable_custom_all_reduce;
  const FlagRow* const bind = env.flags ? env.flags->Find("--numa-bind") : nullptr;
  request.can_bind = bind != nullptr && HasFlag(env.profile.version, *bind);
  request.bound = p.context.settings.numa_bind;
  return request;
}

void FillHeader(const Environment& env, const Prepared& p, Plan* plan) {
  FillCommonHeader(*env.model, p, p.deployment.sizes, p.context.stages, plan);
  plan->engine = p.deployment.engine;
  plan->engine_version = env.profile.version;
  plan->defaults = p.defaults;
}

}  // namespace

Result<Plan> Assemble(const Environment& env, const Deployment& deployment, bool brief) {
  const Model& model = *env.model;
  Prepared p;
  SHARDPLAN_RETURN_IF_ERROR(Prepare(env, deployment, &p));
  p.context.figures_only = brief;
  Plan plan;
  FillHeader(env, p, &plan);
  if (!p.legal) {
    SortFindings(plan.findings);
    return plan;
  }
  std::vector<RankPlace> places = PlaceRanks(deployment.sizes, p.placement.ranks_per_node);
  // Ranks of a class have the same figures: one of them tells.
  if (brief) places = FirstOfEachClass(p, places);
  Classes classes = EvaluateClasses(p, model, places);
  if (env.calibration) CalibrateClasses(*env.calibration, p, &classes);
  const Layouts layouts = MakeLayouts(p, model);
  StretchBudgets(p, layouts, &classes);
  const vllm::KvLayout& layout = layouts.central;
  if (deployment.settings.max_model_len_auto) {
    // --max-model-len auto: the engine's own binary search, down from the model's maximum.
    const int64_t window = vllm::LargestWindow(
        layout, ByStage(p, classes, layouts, End::kCentral, vllm::AdmittedBytes),
        model.arch.max_positions, env.profile.null_block_reserved);
    p.context.resolved.max_model_len = std::max<int64_t>(window, 1);
  }
  SHARDPLAN_RETURN_IF_ERROR(CheckTokens(deployment, p.context.resolved.max_model_len));
  plan.kv = MakeKv(p, classes, layouts);
  for (const RankPlace& place : places) {
    plan.ranks.push_back(MakeRank(p, EvaluationOf(p, classes, place), place, layouts, *plan.kv,
                                  model.guesses.has_value()));
  }
  plan.window.max_model_len = p.context.resolved.max_model_len;
  plan.window.output_tokens = deployment.output_tokens;
  if (deployment.output_tokens) {
    plan.window.max_input_tokens = plan.window.max_model_len - *deployment.output_tokens;
  }
  plan.verdict = Judge(p, classes, layouts, End::kCentral);
  plan.verdict_low = Judge(p, classes, layouts, End::kLow);
  plan.verdict_high = Judge(p, classes, layouts, End::kHigh);
  FillActivations(classes, &plan);
  if (plan.verdict != Verdict::kFits) FillLimiting(p, classes, &plan);
  if (!brief || deployment.traffic_of_brief_plans) plan.traffic = MakeVllmTraffic(p, brief);
  const std::vector<Finding> refusals = EngineRefusals(p, layout, plan);
  plan.findings.insert(plan.findings.end(), refusals.begin(), refusals.end());
  if (!brief) {
    for (Finding& note : ExplainingNotes(env, p, layout, plan)) {
      plan.findings.push_back(std::move(note));
    }
    if (env.calibration) {
      for (Finding& note : CalibrationNotes(*env.calibration, p)) {
        plan.findings.push_back(std::move(note));
      }
    }
    for (Finding& finding : PlacementFindings(PlacementRequestOf(env, p), plan)) {
      plan.findings.push_back(std::move(finding));
    }
    plan.files = PlanFiles(p.placement, LoadsOf(p), model, plan.ranks);
    plan.loading = PlanLoading(p.placement, LoadsOf(p), model, plan.traffic->rates,
                               deployment.settings.load_format.value_or(""), plan);
    if (deployment.expert_loads) {
      SHARDPLAN_ASSIGN_OR_RETURN(
          plan.expert_load,
          BalanceExperts(
              model.arch, *deployment.expert_loads, deployment.sizes.ep(),
              deployment.settings.enable_eplb ? deployment.settings.redundant_experts : 0,
              deployment.settings.enable_eplb));
    }
    plan.launch = PlanLaunch(p, model);
    const std::string& asked = deployment.engine_version;
    if (env.flags) {
      CheckLaunchFlags(*env.flags, asked.empty() ? env.profile.version : asked, deployment.settings,
                       &plan);
    }
  }
  // Without a cluster nothing is short there.
  if (!brief || deployment.cluster) {
    plan.host = PlanHost(p.placement, PinnedShares(p, classes));
    CheckHostMemory(HostRequestOf(p), &plan);
  }
  SortFindings(plan.findings);
  return plan;
}

}  // namespace shardplan
