#include "plan/sglang/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/sglang/arguments.h"
#include "engine/sglang/host_cache.h"
#include "engine/sglang/parallel.h"
#include "engine/sglang/startup_log.h"
#include "plan/expert_balance.h"
#include "plan/header.h"
#include "plan/host_memory.h"
#include "plan/launch_flags.h"
#include "plan/node_loading.h"
#include "plan/placement_findings.h"
#include "plan/request.h"
#include "plan/search.h"
#include "plan/sglang/notes.h"
#include "plan/sglang/traffic.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

Bytes AtEnd(const Range& range, End end) {
  return end == End::kLow ? range.low : end == End::kHigh ? range.high : range.central;
}

// Bytes of tokens in a stage's cell.
Bytes TokenBytes(const sglang::TokenCell& cell, int64_t tokens) {
  return Bytes(std::llround(cell.bytes * static_cast<double>(tokens)));
}

// Of the pool's tokens; the page that is allocated beyond them comes out of what is left.
Bytes KvBytesOf(const sglang::Pools& pools, size_t stage) {
  return pools.refusal ? Bytes() : pools.KvBytes(stage) - pools.SparePage(stage);
}

// One figure for "how far from what was asked": of KV and of states, the shorter one.
Bytes HeadroomOf(const SglangPrepared& p, const sglang::Pools& pools, size_t stage,
                 Bytes available) {
  const SglangDemand demand = DemandOf(p, pools);
  const sglang::TokenCell& cell = pools.cells[stage];
  const Bytes slot = pools.states ? pools.slot.bytes() : Bytes();
  if (pools.refusal) {
    const int64_t padding = pools.states ? p.context.profile->state_padding_slots : 0;
    return available - TokenBytes(cell, demand.tokens) - slot * (demand.states + padding);
  }
  Bytes headroom = TokenBytes(cell, pools.tokens) - TokenBytes(cell, demand.tokens);
  if (pools.states) {
    headroom = std::min(headroom, slot * (pools.states->slots - demand.states));
  }
  return headroom;
}

Verdict Judge(const SglangPrepared& p, const SglangEvaluation& e, End end) {
  if (!PoolsHold(p, e.At(end))) return Verdict::kDoesNotFit;
  const Bytes budget = SglangBudget(p, e, end);
  const Bytes total = p.gpu.device_total.bytes.central;
  for (const SglangStage& stage : e.stages) {
    if (AtEnd(stage.outside, end) > total - budget) return Verdict::kDoesNotFit;
    if (AtEnd(stage.load_peak, end) > p.gpu.cuda_visible.bytes.central) return Verdict::kDoesNotFit;
  }
  return Verdict::kFits;
}

RankPlan MakeRank(const SglangPrepared& p, const SglangEvaluation& e, const RankPlace& place) {
  const auto i = static_cast<size_t>(place.stage);
  const SglangStage& stage = e.stages[i];
  RankPlan rank;
  rank.place = place;
  rank.numa_node = p.placement.NumaOf(place);
  rank.device_total = p.gpu.device_total.bytes.central;
  rank.capacity = p.gpu.cuda_visible.bytes.central;
  const Range budget(SglangBudget(p, e, End::kHigh), SglangBudget(p, e, End::kCentral),
                     SglangBudget(p, e, End::kLow));
  rank.budget = budget.central;
  rank.weights = stage.weights.central;
  rank.offloaded = stage.offload.bytes;
  rank.pinned_allocated = stage.offload.pinned;
  rank.detail = stage.detail;
  Range counted;
  for (const Entry& entry : stage.entries) {
    if (entry.in_budget) counted += entry.bytes;
  }
  rank.kv_available =
      Range(budget.low - counted.high, budget.central - counted.central, budget.high - counted.low);
  const sglang::Pools& pools = e.central;
  rank.bytes_per_block = TokenBytes(pools.cells[i], pools.page_size);
  rank.headroom = HeadroomOf(p, pools, i, rank.kv_available.central);
  rank.load_peak = stage.load_peak.central;
  Ledger ledger(rank.device_total, rank.capacity, budget);
  for (const Entry& entry : stage.entries) ledger.Add(entry);
  const auto pool = [&](Account account, auto bytes_of, std::string source) {
    const Bytes low = bytes_of(e.high);
    const Bytes central = bytes_of(pools);
    const Bytes high = bytes_of(e.low);
    if (high == Bytes() && central == Bytes()) return;
    ledger.Add({account,
                true,
                Range(std::min(low, central), central, std::max(high, central)),
                Basis::kDerived,
                std::move(source),
                {}});
  };
  pool(
      Account::kKvCache, [&](const sglang::Pools& at) { return KvBytesOf(at, i); },
      fmt::format("{} tokens × {}", FormatCount(pools.tokens), pools.cells[i].rule));
  if (pools.states && !pools.refusal) {
    pool(
        Account::kStateCache,
        [&](const sglang::Pools& at) {
          return at.refusal ? Bytes() : StatePoolBytes(p, at, p.stages[i]);
        },
        fmt::format("{} slots and {} of padding × {}", FormatCount(pools.states->slots),
                    p.context.profile->state_padding_slots, FormatBytes(pools.slot.bytes())));
  }
  ledger.Close();
  rank.ledger = std::move(ledger);
  return rank;
}

// What pools of one end come to in requests of a full window.
double Concurrency(const sglang::Pools& pools, int64_t window) {
  if (pools.refusal) return 0;
  const double held =
      static_cast<double>(pools.logical_tokens) / static_cast<double>(std::max<int64_t>(window, 1));
  return std::min(held, static_cast<double>(pools.max_running_requests));
}

KvPlan MakeKv(const SglangPrepared& p, const SglangEvaluation& e, int64_t window) {
  const sglang::Pools& pools = e.central;
  KvPlan kv;
  kv.dtype = pools.format.name;
  kv.block_tokens = pools.page_size;
  size_t dearest = 0;
  for (size_t i = 0; i < pools.cells.size(); ++i) {
    const sglang::TokenCell& cell = pools.cells[i];
    kv.bytes_per_block_by_stage.push_back(TokenBytes(cell, pools.page_size));
    kv.attention_layers_by_stage.push_back(cell.full_layers + cell.window_layers);
    if (cell.bytes > pools.cells[dearest].bytes) dearest = i;
  }
  const sglang::TokenCell& cell = pools.cells[dearest];
  kv.bytes_per_block = kv.bytes_per_block_by_stage[dearest];
  const int64_t layers = std::max<int64_t>(1, cell.full_layers);
  const auto draft = static_cast<int64_t>(cell.draft);
  kv.page = Bytes((cell.full.count() - draft) / layers) * pools.page_size;
  const auto blocks = [&](const sglang::Pools& at) {
    return at.refusal ? 0 : at.tokens / at.page_size;
  };
  kv.num_blocks = blocks(pools);
  kv.num_blocks_low = std::min(kv.num_blocks, blocks(e.high));
  kv.num_blocks_high = std::max(kv.num_blocks, blocks(e.low));
  kv.blocks_per_request = CeilDiv(CeilDiv(window, p.sizes.dcp), pools.page_size);
  kv.max_concurrency = Concurrency(pools, window);
  kv.tokens = pools.refusal ? 0 : pools.tokens;
  kv.full_window_requests = static_cast<int64_t>(kv.max_concurrency);
  if (p.deployment.typical_tokens) {
    kv.typical_tokens = p.deployment.typical_tokens;
    kv.typical_concurrency = Concurrency(pools, std::min(*p.deployment.typical_tokens, window));
  }
  return kv;
}

StaticMemoryPlan MakeStatic(const SglangPrepared& p, const SglangEvaluation& e) {
  StaticMemoryPlan s;
  const sglang::Pools& pools = e.central;
  s.fraction = p.defaults.mem_fraction_static;
  s.fraction_given = p.defaults.fraction_given;
  for (const sglang::ReserveTerm& term : p.defaults.terms) {
    s.terms.push_back({term.name, term.rule, term.mib});
  }
  // As flags have them: what a backend multiplies the fraction by comes on top.
  s.minimum_fraction = pools.minimum_fraction / p.defaults.aiter_factor;
  s.free_before_load = e.before;
  s.free_after_load = e.after;
  s.max_running_requests = pools.refusal ? 0 : pools.max_running_requests;
  s.window_tokens = pools.refusal ? 0 : pools.window_tokens;
  if (pools.states) {
    s.states =
        StatePoolPlan{pools.slot.layers,      pools.states->slots, pools.states->slots_per_request,
                      pools.states->requests, pools.slot.bytes(),  pools.slot.convolution,
                      pools.slot.recurrent};
  }
  if (p.context.args.enable_hierarchical_cache && !pools.refusal) {
    HostCachePlan cache;
    for (size_t i = 0; i < e.stages.size(); ++i) {
      const sglang::HostCache sized = sglang::SizeHostCache(
          p.context.args, pools.KvBytes(i), StatePoolBytes(p, pools, p.stages[i]), pools.page_size,
          pools.cells[i].bytes, p.placement.ranks_per_node);
      if (sized.per_rank <= cache.per_rank) continue;
      cache = {sized.per_rank, sized.tokens, sized.needed_per_node};
    }
    s.host_cache = cache;
  }
  for (size_t i = 0; i < e.stages.size(); ++i) {
    const SglangStage& stage = e.stages[i];
    sglang::StartupFacts facts;
    facts.stage = i;
    facts.layers = p.stages[i];
    facts.capacity = p.gpu.cuda_visible.bytes.central;
    facts.before_load = e.before.central;
    facts.weights = stage.weights.central - stage.draft;
    facts.draft = stage.draft;
    for (const Part& part : stage.graphs.parts) {
      (part.name == sglang::kDecodeGraphs ? facts.decode_graphs : facts.prefill_graphs) +=
          part.bytes;
    }
    for (const sglang::SlackItem& item : stage.items) {
      if (item.name != sglang::kSparePage) facts.slack_items += item.bytes;
    }
    s.log.push_back(sglang::StartupLog(p.context, p.defaults, pools, facts));
  }
  return s;
}

// What to blame: weights where they leave nothing, the pool that is short, else what is largest
// outside the fraction.
void FillLimiting(const SglangPrepared& p, const SglangEvaluation& e, Plan* plan) {
  const auto fullest = std::min_element(
      plan->ranks.begin(), plan->ranks.end(),
      [](const RankPlan& a, const RankPlan& b) { return a.headroom < b.headroom; });
  const sglang::Pools& pools = e.central;
  if (!PoolsHold(p, pools)) {
    const SglangDemand demand = DemandOf(p, pools);
    Account account = Account::kKvCache;
    if (fullest->kv_available.central <= Bytes()) {
      account = Account::kWeights;
    } else if (pools.states && pools.states->slots < demand.states) {
      account = Account::kStateCache;
    }
    plan->limiting = {fullest->place.rank, account, std::max(-fullest->headroom, Bytes(1))};
    return;
  }
  for (const RankPlan& rank : plan->ranks) {
    const SglangStage& stage = e.stages[static_cast<size_t>(rank.place.stage)];
    const Bytes outside = stage.outside.central - (rank.device_total - rank.budget);
    const Bytes load = stage.load_peak.central - rank.capacity;
    if (outside <= Bytes() && load <= Bytes()) continue;
    const Entry* largest = nullptr;
    for (const Entry& entry : stage.entries) {
      if (entry.in_budget || entry.account == Account::kDriverReserved) continue;
      if (!largest || entry.bytes.central > largest->bytes.central) largest = &entry;
    }
    plan->limiting = {rank.place.rank,
                      load > outside || !largest ? Account::kWeights : largest->account,
                      std::max(outside, load)};
    return;
  }
}

void FillHeader(const SglangEnvironment& env, const SglangPrepared& p, Plan* plan) {
  FillCommonHeader(*env.model, p, p.sizes, p.stages, plan);
  plan->engine = "sglang";
  plan->engine_version = env.profile.version;
  plan->defaults = p.option_defaults;
}

std::vector<LaunchPlan> MakeLaunch(const SglangPrepared& p, const Model& model,
                                   const sglang::HasFlagFn& has) {
  std::vector<LaunchPlan> launch;
  if (model.hypothetical) return launch;
  sglang::ServerArgs own = p.context.args;
  own.pp_partition.reset();
  const bool explicit_partition = p.stages != sglang::Stages(own, p.context.arch->layers());
  for (int64_t node = 0; node < p.placement.nodes; ++node) {
    NodeCommand command =
        sglang::MakeCommand(p.context, p.defaults, p.deployment.settings, model.inventory.directory,
                            node, explicit_partition, has);
    launch.push_back({node, std::move(command.env), std::move(command.argv)});
  }
  return launch;
}

std::vector<PinnedShare> PinnedShares(const SglangPrepared& p, const SglangEvaluation& e) {
  std::vector<PinnedShare> shares;
  for (const RankPlace& place : p.places) {
    const SglangStage& stage = e.stages[static_cast<size_t>(place.stage)];
    shares.push_back(
        {place.node, p.placement.NumaOf(place), stage.offload.bytes, stage.offload.pinned});
  }
  return shares;
}

HostRequest HostRequestOf(const SglangPrepared& p, const Plan& plan) {
  HostRequest request;
  request.cluster = p.deployment.cluster.get();
  request.ranks_per_node = p.placement.ranks_per_node;
  request.is_sglang = true;
  request.network = p.placement.nodes > 1;
  if (plan.static_memory && plan.static_memory->host_cache) {
    request.kv_tier = plan.static_memory->host_cache->per_rank;
  }
  return request;
}

PlacementRequest PlacementRequestOf(const SglangEnvironment& env, const SglangPrepared& p) {
  PlacementRequest request = CommonPlacementRequest(env, p);
  if (p.context.args.moe_a2a_backend != "none") {
    request.exchange = ExpertExchange::kDispatch;
  } else if (p.context.args.enable_dp_attention) {
    request.exchange = ExpertExchange::kGather;
  }
  const std::vector<std::string>& extras = p.deployment.settings.extra_arguments;
  request.custom_all_reduce =
      std::find(extras.begin(), extras.end(), "--disable-custom-all-reduce") == extras.end();
  return request;
}

// The window of --context-length auto: what the pool holds, up to the model's.
void FitWindow(SglangPrepared* p, const sglang::Pools& pools) {
  if (!p->deployment.settings.max_model_len_auto || pools.refusal) return;
  p->context.args.context_length =
      std::max<int64_t>(1, std::min(p->context.arch->max_positions, pools.logical_tokens));
}

}  // namespace

std::optional<double> LargestFraction(const SglangEnvironment& env, const Deployment& deployment) {
  Deployment changed = deployment;
  const auto too_large = [&](int64_t thousandths) {
    changed.sglang.mem_fraction_static = static_cast<double>(thousandths) / 1000;
    const Result<Plan> plan = AssembleSglang(env, changed, /*brief=*/true);
    return !plan || std::any_of(plan->findings.begin(), plan->findings.end(),
                                [](const Finding& f) { return f.id == "fit.outside_budget"; });
  };
  if (too_large(1)) return std::nullopt;
  if (!too_large(999)) return .999;
  return static_cast<double>(SmallestThat(1, 999, too_large) - 1) / 1000;
}

bool IsWindowAsked(const SglangPrepared& p) {
  return p.deployment.sglang.context_length || p.deployment.require_concurrency > 1 ||
         p.deployment.output_tokens || p.deployment.settings.max_model_len_auto;
}

SglangDemand DemandOf(const SglangPrepared& p, const sglang::Pools& pools) {
  const int64_t requests = p.deployment.require_concurrency;
  int64_t window = sglang::ContextLength(p.context);
  if (!IsWindowAsked(p)) window = std::min(window, std::max<int64_t>(pools.logical_tokens, 1));
  const int64_t each = RoundUp(CeilDiv(window, p.sizes.dcp), pools.page_size);
  SglangDemand demand;
  demand.requests = requests;
  demand.tokens = internal::CheckedMul(each, requests);
  if (pools.states) demand.states = pools.states->slots_per_request * requests;
  return demand;
}

bool PoolsHold(const SglangPrepared& p, const sglang::Pools& pools) {
  if (pools.refusal) return false;
  const SglangDemand demand = DemandOf(p, pools);
  return pools.tokens >= demand.tokens && pools.max_running_requests >= demand.requests;
}

Result<Plan> AssembleSglang(const SglangEnvironment& env, const Deployment& deployment,
                            bool brief) {
  const Model& model = *env.model;
  SglangPrepared p;
  SHARDPLAN_RETURN_IF_ERROR(PrepareSglang(env, deployment, &p));
  Plan plan;
  FillHeader(env, p, &plan);
  if (!p.legal) {
    SortFindings(plan.findings);
    return plan;
  }
  SHARDPLAN_ASSIGN_OR_RETURN(SglangEvaluation e, EvaluateSglang(p, model));
  if (deployment.settings.max_model_len_auto) {
    FitWindow(&p, e.central);
    SHARDPLAN_ASSIGN_OR_RETURN(e, EvaluateSglang(p, model));
  }
  const int64_t window = sglang::ContextLength(p.context);
  SHARDPLAN_RETURN_IF_ERROR(CheckTokens(deployment, window));
  plan.kv = MakeKv(p, e, window);
  plan.static_memory = MakeStatic(p, e);
  for (const RankPlace& place : p.places) {
    // Ranks of a stage have the same figures: the first of each tells.
    if (brief && (place.dp_rank > 0 || place.tp_rank > 0)) continue;
    plan.ranks.push_back(MakeRank(p, e, place));
  }
  plan.window.max_model_len = window;
  plan.window.output_tokens = deployment.output_tokens;
  if (deployment.output_tokens) plan.window.max_input_tokens = window - *deployment.output_tokens;
  plan.verdict = Judge(p, e, End::kCentral);
  plan.verdict_low = Judge(p, e, End::kLow);
  plan.verdict_high = Judge(p, e, End::kHigh);
  if (plan.verdict != Verdict::kFits) FillLimiting(p, e, &plan);
  if (!brief || deployment.traffic_of_brief_plans) {
    plan.traffic = MakeSglangTraffic(p, plan.static_memory->max_running_requests, brief);
  }
  for (Finding& finding : SglangRefusals(p, e, plan)) plan.findings.push_back(std::move(finding));
  if (!brief) {
    if (plan.verdict == Verdict::kFits) {
      plan.static_memory->smallest_fraction = SmallestFraction(p, e);
      plan.static_memory->largest_fraction = LargestFraction(env, deployment);
    }
    for (Finding& note : SglangNotes(p, e, plan)) plan.findings.push_back(std::move(note));
    for (Finding& finding : PlacementFindings(PlacementRequestOf(env, p), plan)) {
      plan.findings.push_back(std::move(finding));
    }
    const StageLoads loads = {p.stages, model.arch.tied_embeddings, !p.context.args.language_only,
                              p.draft && p.draft->model && p.draft->model->in_checkpoint};
    plan.files = PlanFiles(p.placement, loads, model, plan.ranks);
    plan.loading = PlanLoading(p.placement, loads, model, plan.traffic->rates, "", plan);
    if (deployment.expert_loads) {
      const sglang::ServerArgs& args = p.context.args;
      SHARDPLAN_ASSIGN_OR_RETURN(
          plan.expert_load,
          BalanceExperts(model.arch, *deployment.expert_loads, sglang::ExpertParallel(args),
                         args.redundant_experts, args.enable_eplb));
    }
    plan.launch = MakeLaunch(p, model, FlagsOf(env, deployment));
    CheckLaunchFlags(*env.flags, VersionOf(env, deployment), deployment.settings, &plan);
  }
  // Without a cluster nothing is short there.
  if (!brief || deployment.cluster) {
    plan.host = PlanHost(p.placement, PinnedShares(p, e));
    CheckHostMemory(HostRequestOf(p, plan), &plan);
  }
  SortFindings(plan.findings);
  return plan;
}

}  // namespace shardplan
