#include "plan/sglang/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/sglang/parallel.h"
#include "plan/layer_sums.h"
#include "plan/traffic_counter.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

using Rules = std::array<std::string, kTrafficKinds>;

// DeepEP's kernels by phase (--deepep-mode auto); the others send to each rank once.
// Source: layers/moe/token_dispatcher (as of 2026; not compared with one commit).
ExpertDelivery DeliveryOf(const std::string& backend, bool decode) {
  if (backend == "deepep" || backend == "deepep_v2") {
    return decode ? ExpertDelivery::kPerExpert : ExpertDelivery::kPerDomain;
  }
  if (backend == "nixl" || backend == "mooncake") return ExpertDelivery::kPerExpert;
  return ExpertDelivery::kPerRank;
}

class SglangStep {
 public:
  SglangStep(const SglangPrepared& p, const std::vector<LayerSums>& layers, TrafficCounter* out)
      : p_(p),
        args_(p.context.args),
        arch_(*p.context.arch),
        layers_(layers),
        out_(*out),
        tp_(args_.tp_size),
        attention_tp_(sglang::AttentionTp(args_)),
        attention_dp_(sglang::AttentionDp(args_)),
        sends_(arch_.moe.experts > 0 && sglang::SpansAllRanks(args_.moe_a2a_backend) && tp_ > 1) {
    element_ = static_cast<double>(BitsOf(p.context.dtype)) / 8;
    width_ = arch_.moe.latent > 0 ? arch_.moe.latent : arch_.hidden;
  }

  // `tokens` of one DP rank, of which `rows` are sampled from.
  void Count(int64_t tokens, int64_t rows, bool decode) {
    tokens_ = static_cast<double>(tokens);
    decode_ = decode;
    const int64_t stages = args_.pp_size;
    const int64_t replicas = args_.enable_dp_attention ? 1 : args_.dp_size;
    for (int64_t replica = 0; replica < replicas; ++replica) {
      for (int64_t stage = 0; stage < stages; ++stage) {
        first_ = (replica * stages + stage) * tp_;
        const StageRange& range = p_.stages[static_cast<size_t>(stage)];
        if (stage == 0) {
          SumOverAttention(TrafficKind::kEmbedding, tokens_ * Row());
        } else {
          CountBoundary(first_ - tp_, first_, tp_, GatherSize(tokens),
                        tokens_ * element_ * static_cast<double>(BoundaryWidth(arch_, range.first)),
                        &out_);
        }
        CountLayers(range);
        if (decode && args_.dcp_size > 1) CountDecodeContext(range);
        if (stage + 1 == stages) CountLogits(rows);
      }
    }
  }

 private:
  RankGroup All() const { return {first_, tp_, 1, 0}; }
  double Row() const { return element_ * static_cast<double>(arch_.hidden); }
  int64_t GatherSize(int64_t tokens) const {
    return internal::CheckedMul(tokens, arch_.hidden) % attention_tp_ == 0 ? attention_tp_ : 1;
  }
  // A tensor of every attention group, gathered or summed.
  void GatherOverAttention(TrafficKind kind, double bytes) {
    for (int64_t i = 0; i < tp_; i += attention_tp_) {
      out_.AllGather(kind, {first_ + i, attention_tp_, 1, 0}, bytes);
    }
  }
  void SumOverAttention(TrafficKind kind, double bytes) {
    for (int64_t i = 0; i < tp_; i += attention_tp_) {
      out_.AllReduce(kind, {first_ + i, attention_tp_, 1, 0}, bytes);
    }
  }

  // Sources: layers/communicator.py, layers/dp_attention.py, models/kimi_k3.py (as of 2026; not
  // compared with one commit).
  void CountLayers(const StageRange& range) {
    // Kimi-K3 norms the experts' outputs before it projects them up: they are summed alone.
    const bool latent_sum = arch_.kda.heads > 0 && arch_.moe.latent > 0;
    double attention = 0, rest = 0, sent = 0, gathers = 0;
    for (int64_t i = range.first; i < range.end(); ++i) {
      const LayerSums& layer = layers_[static_cast<size_t>(i)];
      const bool mixture = layer.experts || layer.shared_experts;
      attention += static_cast<double>(layer.attention);
      double width = static_cast<double>(layer.dense + layer.shared_dense);
      if (mixture && !(sends_ && layer.experts)) {
        width += static_cast<double>(arch_.hidden + (latent_sum ? width_ : 0));
      }
      if (sends_ && layer.experts) sent += 1;
      if (width > 0) gathers += 1;
      rest += width;
    }
    const auto hidden = static_cast<double>(arch_.hidden);
    // After attention: a sum, or scattered for the experts and gathered again, which is as much.
    SumOverAttention(TrafficKind::kTensorParallel, tokens_ * element_ * attention);
    if (attention_dp_ == 1) {
      out_.AllReduce(TrafficKind::kTensorParallel, All(), tokens_ * element_ * rest);
    } else {
      // Rows of all DP ranks: padded alike in decode steps, gathered and scattered; of any length
      // in prefill steps, where both are sums. Kimi-K3 always sums its mixtures.
      const double rows = tokens_ * static_cast<double>(attention_dp_) * element_;
      if (decode_) {
        out_.AllGather(TrafficKind::kAttentionData, All(), rows * hidden * gathers);
      } else {
        out_.AllReduce(TrafficKind::kAttentionData, All(), rows * hidden * gathers);
      }
      if (decode_ && !latent_sum) {
        out_.ReduceScatter(TrafficKind::kTensorParallel, All(), rows * rest);
        GatherOverAttention(TrafficKind::kAttentionData, tokens_ * element_ * hidden * gathers);
      } else {
        out_.AllReduce(TrafficKind::kTensorParallel, All(), rows * rest);
      }
    }
    if (sent == 0) return;
    ExpertRoute route;
    route.experts = arch_.moe.experts + args_.redundant_experts;
    route.top_k = arch_.moe.top_k;
    route.delivery = DeliveryOf(args_.moe_a2a_backend, decode_);
    const double head = route.delivery == ExpertDelivery::kPerExpert
                            ? 16
                            : 12 * static_cast<double>(arch_.moe.top_k);
    const double part = static_cast<double>(CeilDiv(static_cast<int64_t>(tokens_), attention_tp_));
    out_.Experts(All(), route, part * sent, DispatchedBytes(arch_.quantization, width_) + head,
                 element_ * static_cast<double>(width_));
  }

  // As vLLM's: queries and log-sums gathered, outputs reduced and scattered.
  // Source: layers/dcp.py, as layers/attention uses it (as of 2026; not compared with one commit).
  void CountDecodeContext(const StageRange& range) {
    const int64_t dcp = args_.dcp_size;
    double layers = 0, query = 0, output = 0;
    for (int64_t i = range.first; i < range.end(); ++i) {
      const AttentionKind kind = arch_.attention[static_cast<size_t>(i)];
      if (!KeepsTokens(kind)) continue;
      const auto times = static_cast<double>(arch_.attentions_per_layer);
      layers += times;
      const bool mla = kind == AttentionKind::kMla;
      const KvShape shape = arch_.KvOf(i);
      // Kimi-K3's query projection stands whole on every rank.
      if (!(mla && arch_.kda.heads > 0)) {
        query += times * static_cast<double>(mla ? arch_.mla.latent_width() : shape.head_dim);
      }
      output += times * static_cast<double>(mla                    ? arch_.mla.kv_lora_rank
                                            : shape.v_head_dim > 0 ? shape.v_head_dim
                                                                   : shape.head_dim);
    }
    const double rows = tokens_ * static_cast<double>(CeilDiv(arch_.heads, attention_tp_) * dcp);
    for (int64_t i = 0; i + dcp <= tp_; i += dcp) {
      const RankGroup part = {first_ + i, dcp, 1, 0};
      out_.AllGather(TrafficKind::kDecodeContext, part, rows * query * element_);
      out_.AllGather(TrafficKind::kDecodeContext, part,
                     rows * layers * 4 * static_cast<double>(dcp));
      out_.ReduceScatter(TrafficKind::kDecodeContext, part, rows * output * element_);
    }
  }

  // Source: layers/logits_processor.py (as of 2026; not compared with one commit).
  void CountLogits(int64_t rows) {
    constexpr int64_t kMultiple = 64;
    const double values = element_ * static_cast<double>(RoundUp(arch_.vocabulary, kMultiple));
    const double all = static_cast<double>(rows * attention_dp_);
    if (attention_dp_ > 1 && args_.enable_dp_lm_head) {
      GatherOverAttention(TrafficKind::kLogits, static_cast<double>(rows) * values);
      return;
    }
    if (attention_dp_ > 1) out_.AllGather(TrafficKind::kAttentionData, All(), all * Row());
    out_.AllGather(TrafficKind::kLogits, All(), all * values);
  }

  const SglangPrepared& p_;
  const sglang::ServerArgs& args_;
  const Architecture& arch_;
  const std::vector<LayerSums>& layers_;
  TrafficCounter& out_;
  const int64_t tp_, attention_tp_, attention_dp_;
  const bool sends_;  // tokens go to their experts' ranks
  double element_ = 2;
  int64_t width_ = 0;  // that routed experts see
  int64_t first_ = 0;  // rank of the stage
  double tokens_ = 0;
  bool decode_ = false;
};

Rules RulesOf(const SglangPrepared& p) {
  const sglang::ServerArgs& args = p.context.args;
  Rules rules;
  const auto at = [&](TrafficKind kind) -> std::string& {
    return rules[static_cast<size_t>(kind)];
  };
  const int64_t tp = args.tp_size;
  const int64_t attention = sglang::AttentionTp(args);
  at(TrafficKind::kEmbedding) = fmt::format("all-reduce over attention TP {}", attention);
  at(TrafficKind::kTensorParallel) =
      attention == tp
          ? fmt::format("all-reduce over TP {} after attention and after the MLP or mixture", tp)
          : fmt::format("sums over attention TP {} and, of MLPs and mixtures, over TP {}",
                        attention, tp);
  at(TrafficKind::kAttentionData) = fmt::format("rows of {} attention DP ranks gathered over TP {}",
                                                sglang::AttentionDp(args), tp);
  const std::string way = fmt::format("{} over {} ranks", args.moe_a2a_backend, tp);
  at(TrafficKind::kExpertDispatch) = way;
  at(TrafficKind::kExpertCombine) = way;
  at(TrafficKind::kDecodeContext) = fmt::format(
      "queries and log-sums gathered, outputs reduced and scattered over DCP {}", args.dcp_size);
  at(TrafficKind::kPipeline) =
      fmt::format("{} from stage to stage, a part a rank, then gathered over attention TP {}",
                  p.context.arch->attn_res_block > 0 ? "stream and attention-residual blocks"
                                                     : "stream and residual",
                  attention);
  at(TrafficKind::kLogits) = "all-gather of the sampled rows";
  return rules;
}

std::vector<std::string> NotesOf(const SglangPrepared& p) {
  std::vector<std::string> notes;
  const sglang::ServerArgs& args = p.context.args;
  if (p.context.arch->moe.experts > 0 && sglang::SpansAllRanks(args.moe_a2a_backend)) {
    notes.push_back(
        "experts are taken as chosen evenly; groups of experts that a router is "
        "limited to would put less on the network");
  }
  if (args.dcp_size > 1) {
    notes.push_back(
        "contexts that chunks of a prompt gather under DCP depend on their length and "
        "are not counted");
  }
  if (args.is_speculative()) notes.push_back("a draft model's own exchanges are not counted");
  return notes;
}

}  // namespace

TrafficPlan MakeSglangTraffic(const SglangPrepared& p, int64_t requests, bool brief) {
  const sglang::ServerArgs& args = p.context.args;
  TrafficPlan plan;
  plan.rates = RatesOf(p.gpu, p.placement, p.deployment);
  const auto ranks = static_cast<int64_t>(p.places.size());
  const TrafficWorld world = WorldOf(p.gpu, p.placement, ranks);
  const std::vector<LayerSums> layers = SumsOfLayers(*p.context.arch, *p.table);
  const Rules rules = brief ? Rules() : RulesOf(p);
  const int64_t engines = std::max<int64_t>(1, args.dp_size);
  const auto step = [&](int64_t tokens, int64_t rows, bool decode) {
    TrafficCounter counter(world);
    SglangStep(p, layers, &counter).Count(tokens, rows, decode);
    return counter.Finish(internal::CheckedMul(tokens, engines), plan.rates, rules);
  };
  const int64_t chunk = p.defaults.chunked_prefill_size > 0 ? p.defaults.chunked_prefill_size
                                                            : args.max_prefill_tokens;
  plan.prefill = step(chunk, 1, false);
  const int64_t guessed =
      args.is_speculative() ? std::max<int64_t>(1, args.speculative_num_draft_tokens) : 1;
  const int64_t decoded = internal::CheckedMul(std::max<int64_t>(1, requests), guessed);
  plan.decode = step(decoded, decoded, true);
  if (!brief) plan.notes = NotesOf(p);
  return plan;
}

}  // namespace shardplan
