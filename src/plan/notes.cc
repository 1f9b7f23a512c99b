#include "plan/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/vllm/all2all.h"
#include "engine/vllm/refusals.h"
#include "engine/vllm/weights.h"
#include "plan/offload_notes.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string RankName(const RankPlan& rank) {
  return fmt::format("rank {} (stage {})", rank.place.rank, rank.place.stage);
}

std::string SumText(const RankPlan& rank, bool in_budget) {
  std::string text;
  for (const Entry& entry : rank.ledger.entries()) {
    if (entry.in_budget != in_budget || entry.account == Account::kKvCache ||
        entry.account == Account::kHeadroom) {
      continue;
    }
    if (!text.empty()) text += " + ";
    text += fmt::format("{} {}", ToString(entry.account), FormatGiB(entry.bytes.central, 2));
  }
  return text;
}

// The window does not fit, or nothing does: said of the first rank that refuses, as the engine
// does. Texts: vllm/v1/core/kv_cache_utils.py (d29f7f5c).
void CheckAdmission(const Prepared& p, const vllm::KvLayout& layout, const Plan& plan,
                    std::vector<Finding>* out) {
  const bool null_block = p.context.profile->null_block_reserved;
  const int64_t window = plan.window.max_model_len;
  const RankPlan& fullest = *std::min_element(
      plan.ranks.begin(), plan.ranks.end(),
      [](const RankPlan& x, const RankPlan& y) { return x.headroom < y.headroom; });
  const auto admitted = [&](const RankPlan& rank) {
    return vllm::AdmittedBytes(p.context, layout, static_cast<size_t>(rank.place.stage),
                               rank.kv_available.central);
  };
  if (admitted(fullest) <= Bytes()) {
    std::string end = "vLLM would say: " + vllm::NoKvMemoryText();
    if (fullest.weights > fullest.capacity) {
      end = fmt::format(
          "the weights alone are more than the {} that CUDA sees, and vLLM runs out of "
          "memory while it loads them",
          FormatGiB(fullest.capacity, 2));
    }
    out->push_back({"fit.no_kv_memory", Severity::kError, RankName(fullest),
                    fmt::format("{} is more than the budget of {}; {}", SumText(fullest, true),
                                FormatGiB(fullest.budget, 2), end),
                    ""});
    return;
  }
  for (const RankPlan& rank : plan.ranks) {
    const Bytes available = admitted(rank);
    const auto stage = static_cast<size_t>(rank.place.stage);
    if (const auto refusal = vllm::WindowRefusal(layout, stage, available, window, null_block)) {
      const std::string text =
          p.deployment.settings.max_model_len_auto ? vllm::NoWindowText() : *refusal;
      out->push_back(
          {"fit.window", Severity::kError, RankName(rank), "vLLM would say: " + text, ""});
      return;
    }
  }
  for (const RankPlan& rank : plan.ranks) {
    if (rank.headroom >= Bytes()) continue;
    out->push_back({"fit.concurrency", Severity::kError, RankName(rank),
                    fmt::format("{} full-window requests need {} more of KV cache than the {} "
                                "there are",
                                p.deployment.require_concurrency, FormatGiB(-rank.headroom, 2),
                                FormatGiB(admitted(rank), 2)),
                    ""});
    return;
  }
}

// A cache of a size that was asked for: nothing checks it before it is allocated.
void CheckGivenCache(const Prepared& p, const RankPlan& rank, int64_t num_blocks, Bytes outside,
                     Bytes left, std::vector<Finding>* out) {
  const EngineSettings& s = p.context.settings;
  const Bytes kv =
      s.num_gpu_blocks_override ? rank.bytes_per_block * num_blocks : *s.kv_cache_memory_bytes;
  const Bytes smaller = kv - (outside - left);
  std::string fix = "a smaller cache does not help: the weights alone are too large";
  if (s.num_gpu_blocks_override && smaller >= rank.bytes_per_block) {
    fix = fmt::format("--num-gpu-blocks-override {}", FloorDiv(smaller, rank.bytes_per_block));
  } else if (!s.num_gpu_blocks_override && smaller > Bytes()) {
    fix = fmt::format("--kv-cache-memory-bytes {}", smaller.count());
  }
  out->push_back({"fit.given_cache", Severity::kError, RankName(rank),
                  fmt::format("out of memory when the cache of {} is allocated: {} too much",
                              FormatGiB(kv, 2), FormatGiB(outside - left, 2)),
                  std::move(fix)});
}

// Whether the size of the cache was asked for and is more than the engine would have taken.
bool TakesGivenCache(const Prepared& p, const RankPlan& rank, int64_t num_blocks) {
  const EngineSettings& s = p.context.settings;
  if (!s.num_gpu_blocks_override) return s.kv_cache_memory_bytes.has_value();
  return rank.bytes_per_block * num_blocks > rank.kv_available.central;
}

// What of a rank lies outside the engine's budget: all of it, and what is there when it starts.
struct Outside {
  Bytes all;
  Bytes at_start;
};

Outside OutsideOf(const RankPlan& rank) {
  Outside outside;
  for (const Entry& entry : rank.ledger.entries()) {
    if (entry.in_budget || entry.account == Account::kHeadroom) continue;
    outside.all += entry.bytes.central;
    if (entry.account != Account::kWorkspace && entry.account != Account::kDriverReserved) {
      outside.at_start += entry.bytes.central;
    }
  }
  return outside;
}

// Memory that the engine never counts, at start and at the first request.
void CheckOutside(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  for (const RankPlan& rank : plan.ranks) {
    const Outside outside = OutsideOf(rank);
    const Bytes left = rank.device_total - rank.budget;
    if (outside.all <= left) continue;
    const Bytes free = rank.capacity - outside.at_start;
    if (TakesGivenCache(p, rank, plan.kv->num_blocks)) {
      CheckGivenCache(p, rank, plan.kv->num_blocks, outside.all, left, out);
    } else if (free < rank.budget) {
      out->push_back(
          {"fit.free_memory", Severity::kError, RankName(rank),
           "vLLM would say: " + vllm::FreeMemoryText(rank.place.gpu, free, rank.capacity,
                                                     p.context.resolved.gpu_memory_utilization,
                                                     rank.budget),
           ""});
    } else {
      out->push_back({"fit.outside_budget", Severity::kError, RankName(rank),
                      fmt::format("fits the budget and dies at the first request: {} lie outside "
                                  "it, where {} are left",
                                  FormatGiB(outside.all, 2), FormatGiB(left, 2)),
                      ""});
    }
    return;
  }
}

// Where weights alone are too large, loading is no news.
void CheckLoading(const Plan& plan, std::vector<Finding>* out) {
  const auto worst = std::max_element(
      plan.ranks.begin(), plan.ranks.end(),
      [](const RankPlan& a, const RankPlan& b) { return a.load_peak < b.load_peak; });
  if (worst->load_peak <= worst->capacity || worst->weights > worst->capacity) return;
  out->push_back({"fit.load_peak", Severity::kError, RankName(*worst),
                  fmt::format("loading peaks at {} of the {} that CUDA sees: {}",
                              FormatGiB(worst->load_peak, 2), FormatGiB(worst->capacity, 2),
                              worst->load_reason),
                  worst->load_help});
}

void NotePadding(const Prepared& p, std::vector<Finding>* out) {
  if (p.context.arch->moe.experts == 0) return;
  const vllm::ExpertPadding padding = vllm::PadExpert(p.context);
  if (padding.padded <= padding.unpadded) return;
  // Bytes before and after on one rank: the routed experts scale with the intermediate size.
  const Architecture& a = *p.context.arch;
  const DeviceWeights weights = ComputeDeviceWeights(a, *p.table, vllm::RulesFor(p.context, 0));
  Bytes experts;
  for (int64_t layer = 0; layer < p.context.stages[0].end(); ++layer) {
    for (const DeviceParam& param : weights.layer(layer).params) {
      if (param.role == Role::kRoutedExpert) experts += param.bytes;
    }
  }
  const Bytes extra(experts.count() / padding.padded * (padding.padded - padding.unpadded));
  out->push_back(
      {"weights.expert_padding", Severity::kWarning,
       fmt::format("routed experts, {} ÷ {}", padding.whole, p.context.sizes.expert_ranks()),
       fmt::format("a slice of {} is padded to {} (+{:.0f} %): {} of a rank's {} of experts on "
                   "stage 0 are padding",
                   padding.unpadded, padding.padded,
                   100.0 * static_cast<double>(padding.padded - padding.unpadded) /
                       static_cast<double>(padding.unpadded),
                   FormatGiB(extra, 2), FormatGiB(experts, 2)),
       "--enable-expert-parallel keeps experts whole, without padding"});
}

void NoteVision(const Prepared& p, std::vector<Finding>* out) {
  if (!p.context.resolved.vision_on_device || p.context.resolved.vision_sharded ||
      p.context.sizes.tp == 1) {
    return;
  }
  const DeviceWeights weights =
      ComputeDeviceWeights(*p.context.arch, *p.table, vllm::RulesFor(p.context, 0));
  Bytes tower;
  for (const DeviceParam& param : weights.every_stage) {
    if (param.role == Role::kVision || param.role == Role::kProjector) tower += param.bytes;
  }
  out->push_back(
      {"weights.vision_replicated", Severity::kNote,
       fmt::format("{} vision heads over TP {}", p.context.arch->vision.heads, p.context.sizes.tp),
       fmt::format("the vision tower ({}) is replicated on every rank of every stage",
                   FormatGiB(tower, 3)),
       "--language-model-only leaves it out where no images are served"});
}

void NoteDraft(const Prepared& p, std::vector<Finding>* out) {
  const std::optional<Speculation>& s = p.context.settings.speculation;
  const auto add = [&](std::string what) {
    out->push_back(
        {"speculative.drafter", Severity::kNote, "--speculative-config", std::move(what), ""});
  };
  if (s && s->method == "suffix") {
    add("suffix guesses in host memory: no weights on a card and no part of the KV cache");
  }
  if (s && s->method == "ngram") {
    const bool one = s->lookup_min == s->lookup_max;
    add(fmt::format(
        "ngram guesses in host memory, after {} tokens that stood before: no weights on "
        "a card and no part of the KV cache",
        one ? std::to_string(s->lookup_min)
            : fmt::format("{} to {}", s->lookup_min, s->lookup_max)));
  }
  if (!p.draft) return;
  const vllm::DraftOnRank draft = vllm::PlaceDraft(p.context, 0);
  int64_t caches = 0;
  for (const AttentionKind kind : p.draft->arch.attention) caches += kind != AttentionKind::kNone;
  add(fmt::format("the drafter ({}) takes {} on every rank of the last stage, and {}",
                  p.draft->method, FormatGiB(draft.Resident(), 3),
                  caches == 0
                      ? "no part of the KV cache"
                      : fmt::format("its {} attention layer(s) a part of the KV cache", caches)));
}

std::string Joined(const std::vector<int64_t>& counts) {
  return fmt::format("{}", fmt::join(counts, " / "));
}

// Whether stages pay the same for a block, and what the engine's own split would cost.
void NoteBlockCost(const Prepared& p, const vllm::KvLayout& layout, const Plan& plan,
                   std::vector<Finding>* out) {
  if (p.context.sizes.pp == 1 || !p.context.arch->is_hybrid()) return;
  const std::vector<StageRange> standard =
      DefaultPartition(p.context.arch->layers(), p.context.sizes.pp);
  auto describe = [&](const std::vector<StageRange>& stages, const std::vector<Bytes>& blocks,
                      const std::vector<int64_t>& attention) {
    const auto dearest = std::max_element(blocks.begin(), blocks.end());
    const bool even =
        std::adjacent_find(blocks.begin(), blocks.end(), std::not_equal_to<>()) == blocks.end();
    return fmt::format(
        "the split {} puts {} attention layers on its stages and a block costs {} "
        "{}",
        FormatPartition(stages), Joined(attention), FormatBytes(*dearest),
        even ? "on each" : fmt::format("on stage {}", dearest - blocks.begin()));
  };
  std::string message =
      describe(p.context.stages, layout.bytes_per_block, plan.kv->attention_layers_by_stage);
  if (standard != p.context.stages) {
    vllm::Context other = p.context;
    other.stages = standard;
    std::vector<int64_t> attention;
    for (const StageRange& s : standard) {
      attention.push_back(vllm::AttentionLayers(*p.context.arch, s));
    }
    message +=
        "; vLLM's own: " + describe(standard, vllm::MakeKvLayout(other).bytes_per_block, attention);
  }
  out->push_back({"kv.block_cost", Severity::kNote, "--pp-partition", std::move(message), ""});
}

// What sequence parallelism costs: a rank without it is what most estimates count.
void NoteReplication(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  if (!p.context.resolved.replicate_shared) return;
  const RankPlan& rank = plan.ranks.front();
  const StageRange range = p.context.stages.front();
  ShardingRules rules = vllm::RulesFor(p.context, rank.place.ep_rank);
  const bool last = p.context.stages.size() == 1;
  const auto bytes = [&] {
    return ComputeDeviceWeights(*p.context.arch, *p.table, rules).StageBytes(range, true, last);
  };
  const Bytes whole = bytes();
  rules.replicate_shared = false;
  const Bytes sliced = bytes();
  if (whole == sliced) return;
  out->push_back(
      {"weights.replicated_shared", Severity::kNote, "--enable-expert-parallel",
       fmt::format(
           "sequence-parallel MoE (TP {} × DP {}) keeps shared experts whole on every rank: "
           "{} of parameters on rank 0, {} if they were sliced",
           p.context.sizes.tp, p.context.sizes.dp, FormatGiB(whole, 2), FormatGiB(sliced, 2)),
       vllm::CanSliceShared(p.context)
           ? fmt::format("{}=1 in the environment slices them, for two more collectives of a layer "
                         "inside the TP group",
                         vllm::kSliceSharedVariable)
           : ""});
}

void NoteSequences(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  const int64_t seqs = p.context.resolved.max_num_seqs;
  const int64_t floor = plan.kv->full_window_requests;
  if (seqs <= floor || plan.verdict != Verdict::kFits) return;
  out->push_back(
      {"capacity.max_num_seqs", Severity::kWarning, fmt::format("--max-num-seqs {}", seqs),
       fmt::format("{} is a scheduler limit, not a promise: {} of {} tokens {} resident at once, "
                   "more of them wait or are preempted",
                   seqs, floor == 1 ? "1 request" : fmt::format("{} requests", floor),
                   FormatCount(plan.window.max_model_len), floor == 1 ? "is" : "are"),
       fmt::format("count on {}, or on more requests that are shorter",
                   floor == 1 ? "1 full window" : fmt::format("{} full windows", floor))});
}

// fastsafetensors is fast because files go to the card as they are.
void NoteStaging(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  if (p.context.settings.load_format != "fastsafetensors" || plan.verdict != Verdict::kFits) return;
  const auto worst = std::max_element(
      plan.ranks.begin(), plan.ranks.end(),
      [](const RankPlan& a, const RankPlan& b) { return a.load_peak < b.load_peak; });
  out->push_back(
      {"load.staging", Severity::kNote, "--load-format fastsafetensors",
       fmt::format("{}: loading peaks at {} of the {} that CUDA sees", worst->load_reason,
                   FormatGiB(worst->load_peak, 2), FormatGiB(worst->capacity, 2)),
       ""});
}

void NoteNuma(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  const bool matters = p.context.settings.numa_bind || plan.ranks.front().offloaded > Bytes();
  if (p.placement.numa_known || !matters) return;
  out->push_back({"host.numa_unknown", Severity::kWarning,
                  fmt::format("{} GPUs a node", p.placement.gpus_per_node),
                  "no preset says which NUMA node these cards hang on: all are put on node 0",
                  "`nvidia-smi topo -m` tells; presets are known for 1, 4, 8 and 16 cards"});
}

void NoteRange(const Plan& plan, std::vector<Finding>* out) {
  if (plan.verdict_low == plan.verdict_high) return;
  auto says = [](Verdict verdict) {
    return verdict == Verdict::kFits ? "it fits" : "it does not fit";
  };
  out->push_back({"verdict.range", Severity::kWarning, "verdict",
                  fmt::format("hangs on what is not derivable: with every uncertain entry at its "
                              "cheap end {}, at its dear end {}",
                              says(plan.verdict_low), says(plan.verdict_high)),
                  "leave more headroom, or measure one start and compare"});
}

// Buffers of communicators, workspaces and graphs are allocated once the cache is there. Where the
// dear end of what is known leaves next to nothing, what comes last finds none.
void NoteThinMargin(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  constexpr Bytes kThin = Bytes(512 * kMiB);  // assumed: a few communicators or one workspace
  if (plan.verdict != Verdict::kFits || !plan.kv) return;
  const RankPlan* thinnest = nullptr;
  Bytes least;
  for (const RankPlan& rank : plan.ranks) {
    if (TakesGivenCache(p, rank, plan.kv->num_blocks)) return;
    Bytes rest = rank.device_total - rank.budget;
    for (const Entry& entry : rank.ledger.entries()) {
      if (!entry.in_budget && entry.account != Account::kHeadroom) rest -= entry.bytes.high;
    }
    if (thinnest != nullptr && rest >= least) continue;
    thinnest = &rank;
    least = rest;
  }
  if (thinnest == nullptr || least >= kThin) return;
  constexpr Bytes kNothing = Bytes(5 * kMiB);  // as it is shown
  std::string takes = "all of it";
  if (least >= kNothing) takes = fmt::format("all but {} of it", FormatGiB(least, 2));
  if (Bytes() - least >= kNothing) {
    takes = fmt::format("{} more than that", FormatGiB(Bytes() - least, 2));
  }
  const double share = static_cast<double>((thinnest->budget - (kThin - least)).count()) /
                       static_cast<double>(thinnest->capacity.count());
  out->push_back(
      {"fit.thin_margin", Severity::kWarning, RankName(*thinnest),
       fmt::format("{} lie outside the budget, and at its dear end what is known takes {}: what is "
                   "allocated last finds none, as in 'NCCL error: Failed to CUDA calloc'",
                   FormatGiB(thinnest->device_total - thinnest->budget, 2), takes),
       fmt::format("--gpu-memory-utilization {:.2f}", std::floor(share * 100) / 100)});
}

// Which mode an engine runs in is told by its flags alone, and public starts show both.
void NoteStateMode(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  const std::string& mode = p.context.resolved.mamba_cache_mode;
  const EngineSettings& s = p.context.settings;
  if (mode.empty() || s.mamba_cache_mode || s.enable_prefix_caching || !plan.kv) return;
  vllm::Context other = p.context;
  other.resolved.mamba_cache_mode = mode == "align" ? "none" : "align";
  std::vector<Bytes> available(other.stages.size());
  for (const RankPlan& rank : plan.ranks) {
    Bytes& least = available[static_cast<size_t>(rank.place.stage)];
    const Bytes here = rank.kv_available.central;
    least = least == Bytes() ? here : std::min(least, here);
  }
  const vllm::KvCapacity capacity =
      vllm::ComputeCapacity(vllm::MakeKvLayout(other), available, plan.window.max_model_len,
                            p.context.profile->tokens_printed);
  if (capacity.num_blocks == 0) return;
  out->push_back({"kv.state_mode", Severity::kNote, "--mamba-cache-mode",
                  fmt::format("not given: planned as {}, what this version's prefix caching makes "
                              "of it; with {} the engine prints {} tokens, {:.2f}×",
                              mode, other.resolved.mamba_cache_mode, FormatCount(capacity.tokens),
                              capacity.max_concurrency),
                  mode == "align" ? "--no-enable-prefix-caching means none" : ""});
}

}  // namespace

double RoomyUtilization(const Plan& plan) {
  double room = 1;
  for (const RankPlan& rank : plan.ranks) {
    room = std::min(room, static_cast<double>((rank.device_total - OutsideOf(rank).all).count()) /
                              static_cast<double>(rank.capacity.count()));
  }
  return std::max(0.0, std::floor(room * 1000) / 1000);
}

std::vector<Finding> EngineRefusals(const Prepared& p, const vllm::KvLayout& layout,
                                    const Plan& plan) {
  std::vector<Finding> out;
  CheckAdmission(p, layout, plan, &out);
  CheckOutside(p, plan, &out);
  CheckLoading(plan, &out);
  const int64_t seqs = p.context.resolved.max_num_seqs;
  const int64_t blocks = plan.kv->num_blocks;
  if (vllm::GraphsNeedMoreBlocks(p.context, blocks)) {
    out.push_back({"graphs.state_blocks", Severity::kError, fmt::format("--max-num-seqs {}", seqs),
                   "vLLM would say: " + vllm::StateBlocksText(seqs, blocks),
                   fmt::format("--max-num-seqs {}", blocks)});
  }
  return out;
}

std::vector<Finding> ExplainingNotes(const Environment&, const Prepared& p,
                                     const vllm::KvLayout& layout, const Plan& plan) {
  std::vector<Finding> out;
  NotePadding(p, &out);
  NoteReplication(p, plan, &out);
  NoteVision(p, &out);
  NoteDraft(p, &out);
  NoteBlockCost(p, layout, plan, &out);
  NoteStateMode(p, plan, &out);
  NoteSequences(p, plan, &out);
  NoteOffload(p, plan, &out);
  NoteStaging(p, plan, &out);
  NoteNuma(p, plan, &out);
  NoteRange(plan, &out);
  NoteThinMargin(p, plan, &out);
  return out;
}

}  // namespace shardplan
