#include "plan/vllm_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/vllm/all2all.h"
#include "engine/vllm/eplb.h"
#include "plan/layer_sums.h"
#include "plan/traffic_counter.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

using Rules = std::array<std::string, kTrafficKinds>;

// How a mixture's tokens reach experts on the other engines.
enum class Mixture {
  kInGroup,  // all of the TP group's ranks have the tokens: experts' outputs are summed
  kGather,   // all tokens of the DP ranks are gathered, outputs reduced and scattered
  kSparse,   // a token goes to its experts' ranks
};

class VllmStep {
 public:
  VllmStep(const vllm::Context& c, const std::vector<LayerSums>& layers, TrafficCounter* out)
      : c_(c), arch_(*c.arch), layers_(layers), out_(*out), tp_(c.sizes.tp), dp_(c.sizes.dp) {
    element_ = static_cast<double>(BitsOf(c.resolved.dtype)) / 8;
    split_ = c.resolved.sequence_parallel;
    slices_shared_ = split_ && !c.resolved.replicate_shared;
    const std::string& backend = c.resolved.all2all_backend;
    const bool gathers = backend == "allgather_reducescatter" || backend == "naive";
    if (dp_ > 1 && arch_.moe.experts > 0) {
      mixture_ = !c.sizes.expert_parallel || gathers ? Mixture::kGather : Mixture::kSparse;
    }
    width_ = arch_.moe.latent > 0 ? arch_.moe.latent : arch_.hidden;
    sent_width_ = vllm::RoundedWidth(backend, c.sizes, width_);
  }

  // `tokens` of one engine, of which `rows` are sampled from.
  void Count(int64_t tokens, int64_t rows, bool decode) {
    tokens_ = static_cast<double>(tokens);
    // Split over the TP ranks, filled up to whole rows.
    part_ = split_ ? static_cast<double>(CeilDiv(tokens, tp_)) : tokens_;
    const auto last = static_cast<int64_t>(c_.stages.size()) - 1;
    for (int64_t stage = 0; stage <= last; ++stage) {
      const StageRange& range = c_.stages[static_cast<size_t>(stage)];
      for (int64_t engine = 0; engine < dp_; ++engine) {
        const RankGroup group = TpGroup(engine, stage);
        if (stage == 0) {
          out_.AllReduce(TrafficKind::kEmbedding, group, tokens_ * Row());
        } else {
          CountBoundary(TpGroup(engine, stage - 1).first, group.first, tp_, GatherSize(tokens),
                        tokens_ * element_ * static_cast<double>(BoundaryWidth(arch_, range.first)),
                        &out_);
        }
        CountLayers(range, group);
        if (decode && c_.sizes.dcp > 1) CountDecodeContext(range, group);
        if (stage == last) CountLogits(group, rows);
      }
      CountExperts(stage, range);
    }
  }

 private:
  RankGroup TpGroup(int64_t engine, int64_t stage) const {
    return {(engine * c_.sizes.pp + stage) * tp_, tp_, 1, 0};
  }
  double Row() const { return element_ * static_cast<double>(arch_.hidden); }
  // Parts that a boundary's tensors are cut into: none where they don't divide.
  int64_t GatherSize(int64_t tokens) const {
    return internal::CheckedMul(tokens, arch_.hidden) % tp_ == 0 ? tp_ : 1;
  }

  // Sums over the TP group, and what sequence parallelism makes of them.
  void CountLayers(const StageRange& range, const RankGroup& group) {
    if (tp_ == 1) return;
    double sums = 0;    // values of a token in all-reduces
    double halves = 0;  // in all-gathers and reduce-scatters
    const bool kimi = vllm::IsKimiClass(arch_);
    // Routed outputs are normed before they are projected up, so that they are summed by
    // themselves.
    const bool latent_sum = kimi && arch_.moe.latent > 0;
    for (int64_t i = range.first; i < range.end(); ++i) {
      const LayerSums& layer = layers_[static_cast<size_t>(i)];
      const auto hidden = static_cast<double>(arch_.hidden);
      if (split_ && kimi) {
        halves += 2 * hidden;  // gathered before attention, reduced and scattered after it
        // Sliced, they see all tokens: gathered, and reduced and scattered once more.
        if (slices_shared_ && (layer.shared_experts || layer.shared_dense > 0))
          halves += 2 * hidden;
        sums += static_cast<double>(layer.dense);
        continue;
      }
      sums +=
          static_cast<double>(layer.attention + layer.dense + (split_ ? 0 : layer.shared_dense));
      if (!layer.experts && !layer.shared_experts) continue;
      if (split_) {
        halves += hidden;  // gathered after the mixture
      } else if (mixture_ == Mixture::kSparse) {
        sums += layer.shared_experts ? hidden : 0;  // routed outputs come back whole
      } else {
        sums += hidden + (latent_sum ? static_cast<double>(width_) : 0);
      }
    }
    if (split_ && kimi && range.end() == arch_.layers())
      halves += static_cast<double>(arch_.hidden);
    out_.AllReduce(TrafficKind::kTensorParallel, group, tokens_ * element_ * sums);
    out_.AllGather(TrafficKind::kTensorParallel, group,
                   part_ * static_cast<double>(tp_) * element_ * halves);
  }

  void CountExperts(int64_t stage, const StageRange& range) {
    if (mixture_ == Mixture::kInGroup) return;
    double mixtures = 0;
    for (int64_t i = range.first; i < range.end(); ++i) {
      mixtures += layers_[static_cast<size_t>(i)].experts ? 1 : 0;
    }
    const RankGroup all = {stage * tp_, tp_, dp_, c_.sizes.pp * tp_};
    if (mixture_ == Mixture::kSparse) {
      ExpertRoute route;
      route.experts = vllm::PhysicalExperts(c_);
      route.top_k = arch_.moe.top_k;
      const std::string& backend = c_.resolved.all2all_backend;
      route.delivery = backend == "deepep_low_latency" || backend == "nixl_ep" || backend == "pplx"
                           ? ExpertDelivery::kPerExpert
                       : backend == "deepep_high_throughput" ? ExpertDelivery::kPerDomain
                                                             : ExpertDelivery::kPerRank;
      // Indices of 8 B and weights of 4 B for each choice; low-latency messages have a head of 16
      // B.
      const double head = route.delivery == ExpertDelivery::kPerExpert
                              ? 16
                              : 12 * static_cast<double>(arch_.moe.top_k);
      out_.Experts(all, route, part_ * mixtures, Dispatched() + head,
                   element_ * static_cast<double>(sent_width_));
      return;
    }
    // Weights and indices of the choices, 4 B each.
    const double dispatched = Dispatched() + 8 * static_cast<double>(arch_.moe.top_k);
    const double combined = element_ * static_cast<double>(sent_width_);
    const auto count = [&](const RankGroup& group) {
      const double tokens = part_ * static_cast<double>(group.size()) * mixtures;
      out_.AllGather(TrafficKind::kExpertDispatch, group, tokens * dispatched);
      out_.ReduceScatter(TrafficKind::kExpertCombine, group, tokens * combined);
    };
    if (split_) {
      count(all);
      return;
    }
    for (int64_t i = 0; i < tp_; ++i) count({stage * tp_ + i, 1, dp_, c_.sizes.pp * tp_});
  }

  double Dispatched() const {
    return c_.sizes.expert_parallel ? DispatchedBytes(arch_.quantization, sent_width_)
                                    : element_ * static_cast<double>(sent_width_);
  }

  // Queries are gathered over the group, partial outputs corrected by gathered log-sums and
  // reduced and scattered. Source: vllm/v1/attention/ops/common.py cp_lse_ag_out_rs (as of 2026;
  // not compared with one commit).
  void CountDecodeContext(const StageRange& range, const RankGroup& group) {
    const int64_t dcp = c_.sizes.dcp;
    double layers = 0;
    double query = 0, output = 0;
    for (int64_t i = range.first; i < range.end(); ++i) {
      const AttentionKind kind = arch_.attention[static_cast<size_t>(i)];
      if (!KeepsTokens(kind)) continue;
      const auto times = static_cast<double>(arch_.attentions_per_layer);
      layers += times;
      const bool mla = kind == AttentionKind::kMla;
      const KvShape shape = arch_.KvOf(i);
      query += times * static_cast<double>(mla ? arch_.mla.latent_width() : shape.head_dim);
      output += times * static_cast<double>(mla                    ? arch_.mla.kv_lora_rank
                                            : shape.v_head_dim > 0 ? shape.v_head_dim
                                                                   : shape.head_dim);
    }
    const double rows = tokens_ * static_cast<double>(CeilDiv(arch_.heads, tp_) * dcp);
    for (int64_t i = 0; i + dcp <= tp_; i += dcp) {
      const RankGroup part = {group.first + i, dcp, 1, 0};
      out_.AllGather(TrafficKind::kDecodeContext, part, rows * query * element_);
      out_.AllGather(TrafficKind::kDecodeContext, part,
                     rows * layers * 4 * static_cast<double>(dcp));
      out_.ReduceScatter(TrafficKind::kDecodeContext, part, rows * output * element_);
    }
  }

  // Source: vllm/model_executor/layers/logits_processor.py: all-gathered on CUDA (as of 2026; not
  // compared with one commit).
  void CountLogits(const RankGroup& group, int64_t rows) {
    const int64_t vocabulary = RoundUp(arch_.vocabulary, c_.profile->vocabulary_multiple);
    out_.AllGather(TrafficKind::kLogits, group,
                   static_cast<double>(rows) * element_ * static_cast<double>(vocabulary));
  }

  const vllm::Context& c_;
  const Architecture& arch_;
  const std::vector<LayerSums>& layers_;
  TrafficCounter& out_;
  const int64_t tp_, dp_;
  double element_ = 2;
  bool split_ = false;          // tokens of mixtures are split over the TP ranks
  bool slices_shared_ = false;  // and shared experts are sliced all the same
  Mixture mixture_ = Mixture::kInGroup;
  int64_t width_ = 0;       // that routed experts see,
  int64_t sent_width_ = 0;  // and as it is sent
  double tokens_ = 0;
  double part_ = 0;
};

Rules RulesOf(const vllm::Context& c) {
  Rules rules;
  const auto at = [&](TrafficKind kind) -> std::string& {
    return rules[static_cast<size_t>(kind)];
  };
  const int64_t tp = c.sizes.tp;
  at(TrafficKind::kEmbedding) = fmt::format("all-reduce over TP {}", tp);
  at(TrafficKind::kTensorParallel) =
      !c.resolved.sequence_parallel
          ? fmt::format("all-reduce over TP {} after attention and after the MLP or mixture", tp)
          : fmt::format(
                "over TP {}: sums of attention; mixtures work on split sequences, which "
                "are gathered",
                tp);
  const std::string& backend = c.resolved.all2all_backend;
  const std::string way = c.sizes.expert_parallel
                              ? fmt::format("{} over {} ranks", backend, c.sizes.expert_ranks())
                              : fmt::format("over DP {}, experts sliced", c.sizes.dp);
  at(TrafficKind::kExpertDispatch) = way;
  at(TrafficKind::kExpertCombine) = way;
  at(TrafficKind::kDecodeContext) =
      fmt::format("queries gathered, log-sums gathered, outputs reduced and scattered over DCP {}",
                  c.sizes.dcp);
  at(TrafficKind::kPipeline) = fmt::format(
      "{} from stage to stage, a part a rank, then gathered over TP {}",
      c.arch->attn_res_block > 0 ? "stream and attention-residual blocks" : "stream and residual",
      tp);
  at(TrafficKind::kLogits) = fmt::format("all-gather over TP {} of the sampled rows", tp);
  return rules;
}

std::vector<std::string> NotesOf(const vllm::Context& c) {
  std::vector<std::string> notes;
  const std::string& backend = c.resolved.all2all_backend;
  if (vllm::UsesAll2All(c.sizes) && backend != "allgather_reducescatter" && backend != "naive") {
    notes.push_back(
        "experts are taken as chosen evenly; groups of experts that a router is "
        "limited to would put less on the network");
  }
  if (c.sizes.dcp > 1) {
    notes.push_back(
        "contexts that chunks of a prompt gather under DCP depend on their length and "
        "are not counted");
  }
  if (c.resolved.draft_tokens > 0) {
    notes.push_back("a draft model's own exchanges are not counted");
  }
  return notes;
}

}  // namespace

TrafficPlan MakeVllmTraffic(const Prepared& p, bool brief) {
  const vllm::Context& c = p.context;
  TrafficPlan plan;
  plan.rates = RatesOf(p.gpu, p.placement, p.deployment);
  const TrafficWorld world = WorldOf(p.gpu, p.placement, c.sizes.world());
  const std::vector<LayerSums> layers = SumsOfLayers(*c.arch, *c.table);
  const Rules rules = brief ? Rules() : RulesOf(c);
  const auto step = [&](int64_t tokens, int64_t rows, bool decode) {
    TrafficCounter counter(world);
    VllmStep(c, layers, &counter).Count(tokens, rows, decode);
    return counter.Finish(tokens * c.sizes.dp, plan.rates, rules);
  };
  const vllm::Resolved& r = c.resolved;
  // Chunks of one prompt: a single row is sampled from.
  plan.prefill = step(r.max_num_batched_tokens, 1, false);
  const int64_t decoded = internal::CheckedMul(r.max_num_seqs, 1 + r.draft_tokens);
  plan.decode = step(decoded, decoded, true);
  if (!brief) plan.notes = NotesOf(c);
  return plan;
}

}  // namespace shardplan
