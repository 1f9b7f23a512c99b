#include "engine/sglang/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/sglang/defaults.h"

namespace shardplan::sglang {
namespace {

class Refusals {
 public:
  void Add(std::string id, std::string subject, std::string message, std::string fix = "") {
    findings_.push_back(
        {std::move(id), Severity::kError, std::move(subject), std::move(message), std::move(fix)});
  }
  std::vector<Finding> Take() { return std::move(findings_); }

 private:
  std::vector<Finding> findings_;
};

void AddSizes(const ServerArgs& a, Refusals* r) {
  if ((a.tp_size * a.pp_size) % a.nnodes != 0) {
    r->Add("layout.nodes", fmt::format("--nnodes {}", a.nnodes),
           "tp_size must be divisible by number of nodes",
           fmt::format("{} ranks (TP {} × PP {}) on a divisor of as many nodes",
                       a.tp_size * a.pp_size, a.tp_size, a.pp_size));
  }
  if (a.pp_size > 1 && a.is_speculative()) {
    r->Add("layout.pipeline", fmt::format("--speculative-algorithm {}", a.speculative_algorithm),
           "Pipeline parallelism is not compatible with overlap schedule, speculative decoding",
           "leave one of the two out");
  }
  if (a.pp_size > 1 && a.mamba_radix_strategy == StateStrategy::kExtraBufferLazy) {
    r->Add("layout.state_strategy", "--mamba-radix-cache-strategy extra_buffer_lazy",
           "Lazy extra buffer requires overlap schedule (--disable-overlap-schedule is "
           "incompatible)",
           "extra_buffer; pipeline stages switch the overlap off");
  }
  if (a.dp_size > 1 && a.nnodes != 1 && !a.enable_dp_attention) {
    r->Add("layout.replicas", fmt::format("--dp-size {}", a.dp_size),
           "multi-node data parallel is not supported unless dp attention!",
           "--enable-dp-attention, or one server a replica");
  }
  if (a.enable_dp_attention && a.tp_size % a.dp_size != 0) {
    r->Add("layout.dp_attention", fmt::format("--dp-size {}", a.dp_size),
           fmt::format("tp_size={} is not divisible by dp_size={}: DP attention divides the TP "
                       "group",
                       a.tp_size, a.dp_size),
           "choose a divisor of --tp-size");
  }
  if (a.enable_dp_lm_head && !a.enable_dp_attention) {
    r->Add("layout.dp_lm_head", "--enable-dp-lm-head",
           "Please enable dp attention when setting enable_dp_lm_head. ",
           "--enable-dp-attention, or leave it out");
  }
  if (a.tp_size % ExpertParallel(a) != 0) {
    r->Add("layout.experts", fmt::format("--ep-size {}", a.ep_size),
           fmt::format("tp_size={} is not divisible by ep_size={}", a.tp_size, ExpertParallel(a)),
           "choose a divisor of --tp-size");
  } else if (a.tp_size % (ExpertParallel(a) * a.moe_dp_size) != 0) {
    r->Add("layout.experts", fmt::format("--moe-dp-size {}", a.moe_dp_size),
           fmt::format("tp_size={} is not divisible by ep_size={} × moe_dp_size={}", a.tp_size,
                       ExpertParallel(a), a.moe_dp_size),
           "choose divisors of --tp-size");
  }
  if (a.moe_dense_tp_size && *a.moe_dense_tp_size != 1 && *a.moe_dense_tp_size != a.tp_size) {
    r->Add("layout.moe_dense_tp", fmt::format("--moe-dense-tp-size {}", *a.moe_dense_tp_size),
           "moe_dense_tp_size only support 1 and None currently", "1, or leave it out");
  }
}

void CheckStages(const ServerArgs& a, int64_t layers, Refusals* r) {
  if (a.pp_size > layers) {
    r->Add("layout.pipeline", fmt::format("--pp-size {}", a.pp_size),
           fmt::format("more stages than the model's {} layers", layers),
           fmt::format("use at most {}", layers));
    return;
  }
  if (!a.pp_partition) return;
  const auto count = static_cast<int64_t>(a.pp_partition->size());
  const int64_t sum = std::accumulate(a.pp_partition->begin(), a.pp_partition->end(), int64_t{0});
  const std::string subject =
      "SGLANG_PP_LAYER_PARTITION " + FormatPartition(PartitionFrom(*a.pp_partition));
  if (count != a.pp_size) {
    r->Add("layout.partition", subject,
           fmt::format("len(partitions)={} does not match pp_size={}.", count, a.pp_size));
  } else if (sum != layers) {
    r->Add("layout.partition", subject,
           fmt::format("sum(partitions)={} does not match num_hidden_layers={}.", sum, layers));
  }
}

void CheckHeads(const Context& c, Refusals* r) {
  const Architecture& a = *c.arch;
  const int64_t tp = AttentionTp(c.args);
  const std::string subject =
      c.args.enable_dp_attention
          ? fmt::format("attention TP {} (TP {} ÷ DP {})", tp, c.args.tp_size, c.args.dp_size)
          : fmt::format("--tp-size {}", tp);
  const auto divides = [&](std::string_view what, int64_t count) {
    if (count % tp == 0) return;
    r->Add("layout.heads", subject, fmt::format("{} {} are not divisible by {}", count, what, tp),
           "choose a divisor");
  };
  divides("attention heads", a.heads);
  if (!UsesMla(a) && a.kv_heads > 0 &&
      (tp > a.kv_heads ? tp % a.kv_heads != 0 : a.kv_heads % tp != 0)) {
    r->Add("layout.kv_heads", subject,
           fmt::format("{} KV heads neither divide by {} nor into it", a.kv_heads, tp),
           "choose a divisor or a multiple");
  }
  // Rows are padded to a multiple of 64 first.
  const int64_t rows = RoundUp(a.vocabulary, 64);
  if (rows % tp != 0 || rows % c.args.tp_size != 0) {
    r->Add(
        "layout.vocabulary", fmt::format("--tp-size {}", c.args.tp_size),
        fmt::format("a vocabulary of {} rows, padded to {}, is not divisible", a.vocabulary, rows),
        "choose a divisor");
  }
  divides("linear-attention heads", a.kda.heads);
  divides("linear-attention key heads", a.gdn.k_heads);
  divides("linear-attention value heads", a.gdn.v_heads);
  divides("Mamba heads", a.mamba.heads);
}

void CheckExperts(const Context& c, Refusals* r) {
  const MoeShape& moe = c.arch->moe;
  const ServerArgs& a = c.args;
  if (moe.experts == 0 || a.tp_size % (ExpertParallel(a) * a.moe_dp_size) != 0) return;
  const int64_t ep = ExpertParallel(a);
  if (moe.experts % ep != 0) {
    r->Add("layout.experts", fmt::format("--ep-size {}", ep),
           fmt::format("{} experts are not divisible by {} expert-parallel ranks", moe.experts, ep),
           "choose a divisor");
  }
  const int64_t tp = MoeTp(a);
  if (moe.intermediate % tp != 0) {
    r->Add("layout.expert", fmt::format("MoE TP {} (TP {} ÷ EP {})", tp, a.tp_size, ep),
           fmt::format("the experts' intermediate size {} is not divisible by {}", moe.intermediate,
                       tp),
           fmt::format("--ep-size {} keeps experts whole", a.tp_size));
  }
}

void CheckChunk(const Context& c, Refusals* r) {
  const Defaults d = ResolveDefaults(c);
  if (d.chunked_prefill_size <= 0 || d.chunked_prefill_size % d.page_size == 0) return;
  r->Add("engine.chunk", fmt::format("--chunked-prefill-size {}", d.chunked_prefill_size),
         "chunked_prefill_size must be divisible by page_size",
         fmt::format("a multiple of {}", d.page_size));
}

}  // namespace

int64_t AttentionDp(const ServerArgs& a) { return a.enable_dp_attention ? a.dp_size : 1; }

int64_t AttentionTp(const ServerArgs& a) {
  return std::max<int64_t>(1, a.tp_size / AttentionDp(a));
}

bool SpansAllRanks(std::string_view backend) {
  constexpr std::string_view kSpanning[] = {"deepep",     "deepep_v2", "mooncake",
                                            "nixl",       "mori",      "pplx",
                                            "flashinfer", "megamoe",   "ascend_fuseep"};
  return std::find(std::begin(kSpanning), std::end(kSpanning), backend) != std::end(kSpanning);
}

int64_t ExpertParallel(const ServerArgs& a) {
  return SpansAllRanks(a.moe_a2a_backend) ? a.tp_size : a.ep_size;
}

int64_t MoeTp(const ServerArgs& a) {
  return std::max<int64_t>(1, a.tp_size / ExpertParallel(a) / a.moe_dp_size);
}

std::vector<StageRange> Stages(const ServerArgs& a, int64_t layers) {
  if (a.pp_partition) return PartitionFrom(*a.pp_partition);
  std::vector<int64_t> counts(static_cast<size_t>(a.pp_size), layers / a.pp_size);
  for (int64_t i = 0; i < layers % a.pp_size; ++i)
    counts[counts.size() - 1 - static_cast<size_t>(i)]++;
  return PartitionFrom(counts);
}

NodeRanks RanksOfNode(const ServerArgs& a, int64_t node) {
  const int64_t nodes_per_stage = std::max<int64_t>(a.nnodes / a.pp_size, 1);
  NodeRanks ranks;
  ranks.stages = std::max<int64_t>(a.pp_size / a.nnodes, 1);
  ranks.tp_ranks = a.tp_size / nodes_per_stage;
  ranks.first_stage = ranks.stages * (node / nodes_per_stage);
  ranks.first_tp_rank = ranks.tp_ranks * (node % nodes_per_stage);
  return ranks;
}

std::vector<Finding> CheckSizes(const ServerArgs& args) {
  Refusals r;
  AddSizes(args, &r);
  return r.Take();
}

std::vector<Finding> CheckLayout(const Context& c) {
  Refusals r;
  AddSizes(c.args, &r);
  CheckStages(c.args, c.arch->layers(), &r);
  CheckHeads(c, &r);
  CheckExperts(c, &r);
  CheckChunk(c, &r);
  return r.Take();
}

}  // namespace shardplan::sglang
