#include "plan/notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/vllm/refusals.h"
#include "engine/vllm/weights.h"
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
  for (const RankPlan& rank : plan.ranks) {
    if (rank.kv_available.central <= Bytes()) {
      out->push_back(
          {"fit.no_kv_memory", Severity::kError, RankName(rank),
           fmt::format("{} is more than the budget of {}; vLLM would say: {}", SumText(rank, true),
                       FormatGiB(rank.budget, 2), vllm::NoKvMemoryText()),
           ""});
      return;
    }
  }
  for (const RankPlan& rank : plan.ranks) {
    const Bytes available = rank.kv_available.central;
    const auto stage = static_cast<size_t>(rank.place.stage);
    if (const auto refusal = vllm::WindowRefusal(layout, stage, available, window, null_block)) {
      out->push_back(
          {"fit.window", Severity::kError, RankName(rank), "vLLM would say: " + *refusal, ""});
      return;
    }
  }
  for (const RankPlan& rank : plan.ranks) {
    if (rank.headroom >= Bytes()) continue;
    out->push_back({"fit.concurrency", Severity::kError, RankName(rank),
                    fmt::format("{} full-window requests need {} more of KV cache than the {} "
                                "there are",
                                p.deployment.require_concurrency, FormatGiB(-rank.headroom, 2),
                                FormatGiB(rank.kv_available.central, 2)),
                    ""});
    return;
  }
}

void CheckOutside(const Plan& plan, double utilization, std::vector<Finding>* out) {
  for (const RankPlan& rank : plan.ranks) {
    Bytes outside;
    Bytes at_start;
    for (const Entry& entry : rank.ledger.entries()) {
      if (entry.in_budget || entry.account == Account::kHeadroom) continue;
      outside += entry.bytes.central;
      if (entry.account != Account::kWorkspace && entry.account != Account::kDriverReserved) {
        at_start += entry.bytes.central;
      }
    }
    const Bytes left = rank.device_total - rank.budget;
    const Bytes free = rank.capacity - at_start;
    if (free < rank.budget) {
      out->push_back({"fit.free_memory", Severity::kError, RankName(rank),
                      "vLLM would say: " + vllm::FreeMemoryText(rank.place.gpu, free, rank.capacity,
                                                                utilization, rank.budget),
                      "lower --gpu-memory-utilization"});
      return;
    }
    if (outside > left) {
      out->push_back({"fit.outside_budget", Severity::kError, RankName(rank),
                      fmt::format("fits the budget and dies at the first request: {} lie outside "
                                  "it, where {} are left",
                                  FormatGiB(outside, 2), FormatGiB(left, 2)),
                      "lower --gpu-memory-utilization or --max-num-seqs"});
      return;
    }
    if (rank.load_peak > rank.capacity) {
      out->push_back({"fit.load_peak", Severity::kError, RankName(rank),
                      fmt::format("loading peaks at {} of the {} that CUDA sees",
                                  FormatGiB(rank.load_peak, 2), FormatGiB(rank.capacity, 2)),
                      ""});
      return;
    }
  }
}

void NotePadding(const Prepared& p, std::vector<Finding>* out) {
  if (p.context.arch->moe.experts == 0) return;
  const vllm::ExpertPadding padding = vllm::PadExpert(p.context);
  if (padding.padded <= padding.unpadded) return;
  // Bytes before and after on one rank: the routed experts scale with the intermediate size.
  const Architecture& a = *p.context.arch;
  const DeviceWeights weights = ComputeDeviceWeights(a, p.table, vllm::RulesFor(p.context, 0));
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
      ComputeDeviceWeights(*p.context.arch, p.table, vllm::RulesFor(p.context, 0));
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
      attention.push_back(s.count -
                          p.context.arch->CountKind(AttentionKind::kKda, s.first, s.count));
    }
    message +=
        "; vLLM's own: " + describe(standard, vllm::MakeKvLayout(other).bytes_per_block, attention);
  }
  out->push_back({"kv.block_cost", Severity::kNote, "--pp-partition", std::move(message), ""});
}

void NoteSequences(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  const int64_t seqs = p.context.resolved.max_num_seqs;
  const int64_t floor = plan.kv->full_window_requests;
  if (seqs <= floor || plan.verdict != Verdict::kFits) return;
  out->push_back(
      {"capacity.max_num_seqs", Severity::kWarning, fmt::format("--max-num-seqs {}", seqs),
       fmt::format("{} is a scheduler limit, not a promise: {} requests of {} tokens are resident "
                   "at once, more of them wait or are preempted",
                   seqs, floor, FormatCount(plan.window.max_model_len)),
       fmt::format("count on {} full windows, or on more requests that are shorter", floor)});
}

void NoteOffload(const Prepared& p, const Plan& plan, std::vector<Finding>* out) {
  const EngineSettings& s = p.context.settings;
  if (s.cpu_offload_gb <= 0) {
    if (!s.cpu_offload_params.empty()) {
      out->push_back({"offload.nothing", Severity::kWarning, "--cpu-offload-params",
                      "names parameters, but nothing moves without --cpu-offload-gb",
                      "give the GiB a card, such as --cpu-offload-gb 32"});
    }
    return;
  }
  Bytes payload, pinned;
  for (const RankPlan& rank : plan.ranks) {
    payload += rank.offloaded;
    pinned += rank.pinned_allocated;
  }
  if (payload == Bytes()) {
    out->push_back({"offload.nothing", Severity::kWarning, "--cpu-offload-params",
                    "matches no parameter of the decoder layers: nothing is offloaded",
                    "names are whole dotted segments, such as w13_weight,w2_weight"});
    return;
  }
  out->push_back(
      {"offload.pinned_rounding", Severity::kNote, "host memory",
       fmt::format("{} of offloaded weights take {} of pinned memory over all nodes: the allocator "
                   "rounds each tensor up to a power of two",
                   FormatGiB(payload, 2), FormatGiB(pinned, 2)),
       "size nodes and container limits (memlock, cgroup) for the larger number"});
}

void NoteWindow(const Plan& plan, std::vector<Finding>* out) {
  if (plan.window.max_input_tokens && *plan.window.max_input_tokens < 1) {
    out->push_back({"window.output_tokens", Severity::kError,
                    fmt::format("--output-tokens {}", *plan.window.output_tokens),
                    fmt::format("leaves no room for input in a window of {}",
                                FormatCount(plan.window.max_model_len)),
                    "input and output share --max-model-len"});
  }
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

}  // namespace

std::vector<Finding> EngineRefusals(const Prepared& p, const vllm::KvLayout& layout,
                                    const Plan& plan) {
  std::vector<Finding> out;
  CheckAdmission(p, layout, plan, &out);
  CheckOutside(plan, p.context.resolved.gpu_memory_utilization, &out);
  NoteWindow(plan, &out);
  const int64_t seqs = p.context.resolved.max_num_seqs;
  const int64_t blocks = plan.kv->num_blocks;
  if (p.context.arch->has_kind(AttentionKind::kKda) && !p.context.settings.enforce_eager &&
      blocks > 0 && seqs > blocks) {
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
  NoteVision(p, &out);
  NoteBlockCost(p, layout, plan, &out);
  NoteSequences(p, plan, &out);
  NoteOffload(p, plan, &out);
  NoteRange(plan, &out);
  return out;
}

}  // namespace shardplan
