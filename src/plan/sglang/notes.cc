#include "plan/sglang/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/sglang/arguments.h"
#include "engine/sglang/host_cache.h"
#include "engine/sglang/parallel.h"
#include "engine/sglang/refusals.h"
#include "engine/sglang/weights.h"
#include "plan/search.h"
#include "plan/sglang/assemble.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string RankName(const RankPlan& rank) {
  return fmt::format("rank {} (stage {})", rank.place.rank, rank.place.stage);
}

const RankPlan& Fullest(const Plan& plan) {
  return *std::min_element(
      plan.ranks.begin(), plan.ranks.end(),
      [](const RankPlan& a, const RankPlan& b) { return a.headroom < b.headroom; });
}

// As the flag has it.
std::string FractionText(const SglangPrepared& p) {
  return sglang::FormatPython(sglang::FlagFraction(p.defaults));
}

// The pools refuse: weights and slack leave nothing, or too little for one request.
void CheckPools(const SglangEvaluation& e, const Plan& plan, std::vector<Finding>* out) {
  const sglang::Pools& pools = e.central;
  const RankPlan& rank = Fullest(plan);
  if (e.after.central < Bytes()) {
    out->push_back({"fit.load", Severity::kError, RankName(rank),
                    fmt::format("out of memory while it loads: {} of weights, {} free before them",
                                FormatGiB(rank.weights, 2), FormatGiB(e.before.central, 2)),
                    ""});
    return;
  }
  const bool states = pools.refusal->id == "pool.states" || pools.refusal->id == "pool.requests";
  const char* const id = states                               ? "fit.states"
                         : pools.refusal->id == "pool.window" ? "fit.window_pool"
                                                              : "fit.no_kv_memory";
  std::string rest = pools.rest_gib > 0
                         ? FormatGiB(Gibibytes(pools.rest_gib).ToBytes(), 2) + " left"
                         : FormatGiB(Gibibytes(-pools.rest_gib).ToBytes(), 2) + " short";
  if (pools.request_states_gib > 0) {
    rest += fmt::format(", {} of it for what requests keep beside their tokens",
                        FormatGiB(Gibibytes(pools.request_states_gib).ToBytes(), 2));
  }
  out->push_back({id, Severity::kError, RankName(rank),
                  fmt::format("{} of weights, {} free before them, {} of it outside the fraction: "
                              "{}. SGLang would say: {}",
                              FormatGiB(rank.weights, 2), FormatGiB(e.before.central, 2),
                              FormatGiB(Gibibytes(pools.slack_gib).ToBytes(), 2), rest,
                              pools.refusal->message),
                  ""});
}

// SGLang starts, but what was asked for does not find room.
void CheckDemand(const SglangPrepared& p, const SglangEvaluation& e, const Plan& plan,
                 std::vector<Finding>* out) {
  const sglang::Pools& pools = e.central;
  const int64_t window = plan.window.max_model_len;
  if (pools.logical_tokens < window) {
    const bool asked = IsWindowAsked(p);
    out->push_back(
        {"fit.window", asked ? Severity::kError : Severity::kWarning,
         fmt::format("--context-length {}", window),
         fmt::format("SGLang starts, but its pool holds {} tokens: a request of the {} is refused "
                     "when it comes",
                     FormatCount(pools.logical_tokens),
                     asked ? "full window" : "model's whole window, which nobody asked for,"),
         asked
             ? ""
             : fmt::format("--context-length {}, or as much as is needed", pools.logical_tokens)});
    return;
  }
  if (PoolsHold(p, pools)) return;
  const SglangDemand demand = DemandOf(p, pools);
  out->push_back({"fit.concurrency", Severity::kError,
                  fmt::format("--require-concurrency {}", demand.requests),
                  fmt::format("{} full-window requests need {} tokens of KV; the pool holds {} and "
                              "{} requests run at once",
                              FormatCount(demand.requests), FormatCount(demand.tokens),
                              FormatCount(pools.tokens), FormatCount(pools.max_running_requests)),
                  ""});
}

// Graphs, activations and workspaces against what the fraction leaves.
void CheckOutside(const SglangPrepared& p, const SglangEvaluation& e, const Plan& plan,
                  std::vector<Finding>* out) {
  for (const RankPlan& rank : plan.ranks) {
    const SglangStage& stage = e.stages[static_cast<size_t>(rank.place.stage)];
    const Bytes left = rank.device_total - rank.budget;
    if (stage.outside.central <= left) continue;
    out->push_back(
        {"fit.outside_budget", Severity::kError, RankName(rank),
         fmt::format("starts its pools and dies at graph capture or the first request: {} lie "
                     "outside the fraction {}, where {} are left",
                     FormatGiB(stage.outside.central, 2), FractionText(p), FormatGiB(left, 2)),
         ""});
    return;
  }
}

void NoteFraction(const SglangPrepared& p, const Plan& plan, std::vector<Finding>* out) {
  const StaticMemoryPlan& s = *plan.static_memory;
  if (plan.verdict != Verdict::kFits || !s.smallest_fraction || !s.largest_fraction) return;
  out->push_back(
      {"sglang.fraction", Severity::kNote, "--mem-fraction-static " + FractionText(p),
       fmt::format("{:.3f} is the smallest that holds what is asked, {:.3f} the largest "
                   "that leaves room for graphs and activations; weights alone need {:.3f}",
                   *s.smallest_fraction, *s.largest_fraction, s.minimum_fraction),
       ""});
}

// Which pool binds, and what moves the border between them.
void NoteStates(const SglangPrepared& p, const Plan& plan, std::vector<Finding>* out) {
  const StaticMemoryPlan& s = *plan.static_memory;
  if (!s.states || plan.verdict != Verdict::kFits) return;
  const int64_t windows =
      plan.kv->tokens * p.sizes.dcp / std::max<int64_t>(1, plan.window.max_model_len);
  const bool wasteful = windows < s.states->requests / 2;
  out->push_back(
      {"sglang.states", Severity::kNote, "--mamba-full-memory-ratio",
       fmt::format("{} slots, {} a request: {} requests, {} of full windows in the KV pool",
                   FormatCount(s.states->slots), s.states->slots_per_request,
                   FormatCount(s.states->requests), FormatCount(windows)),
       wasteful ? "a smaller ratio gives the KV pool more" : ""});
}

void NoteHostCache(const Plan& plan, std::vector<Finding>* out) {
  const auto& cache = plan.static_memory->host_cache;
  if (!cache) return;
  out->push_back({"host.hicache", Severity::kNote, "--enable-hierarchical-cache",
                  fmt::format("{} a rank in host memory, {} tokens; a node needs {}, with the 10 "
                              "GiB that SGLang leaves alone",
                              FormatGiB(cache->per_rank, 2), FormatCount(cache->tokens),
                              FormatGiB(cache->per_node, 2)),
                  ""});
}

void NotePadding(const SglangPrepared& p, std::vector<Finding>* out) {
  const Architecture& a = *p.context.arch;
  if (a.moe.experts == 0) return;
  const int64_t local = a.moe.intermediate / sglang::MoeTp(p.context.args);
  const int64_t padded = sglang::RulesFor(p.context).expert_intermediate;
  if (padded <= local) return;
  out->push_back(
      {"weights.expert_padding", Severity::kWarning,
       fmt::format("routed experts, {} ÷ {}", a.moe.intermediate, sglang::MoeTp(p.context.args)),
       fmt::format("a slice of {} is padded to {} (+{:.0f} %)", local, padded,
                   100.0 * static_cast<double>(padded - local) / static_cast<double>(local)),
       p.sizes.ep() < p.context.args.tp_size
           ? fmt::format("--ep-size {} keeps experts whole", p.context.args.tp_size)
           : ""});
}

void NoteReplicas(const SglangPrepared& p, std::vector<Finding>* out) {
  const Architecture& a = *p.context.arch;
  if (a.moe.shared_intermediate == 0 || p.context.args.tp_size == 1) return;
  if (!sglang::SpansAllRanks(p.context.args.moe_a2a_backend)) return;
  out->push_back({"weights.replicated_shared", Severity::kNote,
                  "--moe-a2a-backend " + p.context.args.moe_a2a_backend,
                  "an all-to-all backend keeps shared experts whole on every rank, and makes every "
                  "TP rank an expert-parallel one",
                  ""});
}

void NoteSymmetricMemory(const SglangPrepared& p, std::vector<Finding>* out) {
  if (p.defaults.symm_mem_gib <= 0 || p.context.arch->kda.heads == 0) return;
  const bool graphs =
      !p.defaults.decode_graphs.empty() || p.defaults.prefill_graph != PrefillGraph::kDisabled;
  if (!graphs && p.context.args.dcp_size == 1) return;
  out->push_back({"sglang.symm_mem_ignored", Severity::kNote, "--enable-symm-mem",
                  "Kimi's models leave it off while any graph is captured, and under DCP: nothing "
                  "is allocated for it",
                  ""});
}

void NoteAiter(const SglangPrepared& p, std::vector<Finding>* out) {
  if (p.defaults.aiter_factor == 1) return;
  out->push_back(
      {"sglang.aiter_fraction", Severity::kWarning, "--attention-backend aiter",
       fmt::format("SGLang multiplies --mem-fraction-static by 0.85 behind a window of "
                   "more than 8,192 tokens, even a given one: {} becomes {}",
                   FractionText(p), sglang::FormatPython(p.defaults.mem_fraction_static)),
       "--attention-backend triton escapes it"});
}

void NoteRange(const Plan& plan, std::vector<Finding>* out) {
  if (plan.verdict_low == plan.verdict_high) return;
  const auto says = [](Verdict verdict) {
    return verdict == Verdict::kFits ? "it fits" : "it does not fit";
  };
  out->push_back({"verdict.range", Severity::kWarning, "verdict",
                  fmt::format("hangs on what is not derivable: with every uncertain entry at its "
                              "cheap end {}, at its dear end {}",
                              says(plan.verdict_low), says(plan.verdict_high)),
                  "give --free-memory-before-load as a start prints it, or leave more outside the "
                  "fraction"});
}

}  // namespace

std::vector<Finding> SglangRefusals(const SglangPrepared& p, const SglangEvaluation& e,
                                    const Plan& plan) {
  std::vector<Finding> out;
  if (e.central.refusal) {
    CheckPools(e, plan, &out);
  } else {
    CheckDemand(p, e, plan, &out);
  }
  CheckOutside(p, e, plan, &out);
  return out;
}

std::vector<Finding> SglangNotes(const SglangPrepared& p, const SglangEvaluation&,
                                 const Plan& plan) {
  std::vector<Finding> out;
  NotePadding(p, &out);
  NoteReplicas(p, &out);
  NoteSymmetricMemory(p, &out);
  NoteAiter(p, &out);
  NoteFraction(p, plan, &out);
  NoteStates(p, plan, &out);
  NoteHostCache(plan, &out);
  NoteRange(plan, &out);
  return out;
}

std::optional<double> SmallestFraction(const SglangPrepared& p, const SglangEvaluation& e) {
  const sglang::FreeMemory free{InGiB(e.before.central).value(), InGiB(e.after.central).value()};
  const auto holds = [&](int64_t thousandths) {
    sglang::Defaults defaults = p.defaults;
    defaults.mem_fraction_static = static_cast<double>(thousandths) / 1000 * defaults.aiter_factor;
    const auto pools = sglang::SizePools(p.context, defaults, p.stages, free);
    return pools && PoolsHold(p, *pools);
  };
  if (!holds(999)) return std::nullopt;
  return static_cast<double>(SmallestThat(0, 999, holds)) / 1000;
}

}  // namespace shardplan
