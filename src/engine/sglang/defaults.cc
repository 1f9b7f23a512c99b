#include "engine/sglang/defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "engine/sglang/graph_sizes.h"

namespace shardplan::sglang {
namespace {

constexpr int64_t kUnknownCardChunk = 4096;
constexpr int64_t kUnknownCardGraphs = 160;
// Requests at once where a draft model guesses and nobody says how many.
constexpr int64_t kSpeculativeRequests = 48;

const MemoryTier& TierOf(const Profile& profile, int64_t card_mib) {
  for (const MemoryTier& tier : profile.tiers) {
    if (card_mib < tier.below_mib) return tier;
  }
  return profile.tiers.back();
}

// Prefill graphs are off with a tower that is not on the list, on AMD cards, under decode context
// parallelism, for DeepSeek-V4, and where prefill happens elsewhere.
// Source: server_args.py and model_executor/cuda_graph_config.py (0bda0b168).
PrefillGraph ResolvePrefillGraph(const Context& c) {
  if (c.args.disaggregation_mode == Disaggregation::kDecode) return PrefillGraph::kDisabled;
  if (c.args.disable_cuda_graph) return PrefillGraph::kDisabled;
  if (c.args.prefill_graph) return *c.args.prefill_graph;
  const std::vector<std::string>& listed = c.profile->prefill_graph_multimodal;
  const bool tower = c.arch->vision.present && !c.args.language_only &&
                     std::find(listed.begin(), listed.end(), c.arch->name) == listed.end();
  if (tower || IsHip(*c.gpu) || c.args.dcp_size > 1 || !c.arch->compress_ratio.empty()) {
    return PrefillGraph::kDisabled;
  }
  return c.profile->prefill_graph;
}

int64_t PrefillGraphLimit(const Context& c, int64_t chunk, PrefillGraph graph) {
  if (c.args.prefill_graph_max_bs) return *c.args.prefill_graph_max_bs;
  int64_t limit = UsesMla(*c.arch) ? 2048 : chunk > 0 ? chunk : c.args.max_prefill_tokens;
  const int64_t cap = c.profile->pp_prefill_graph_cap;
  if (cap > 0 && c.args.pp_size > 1 && graph == PrefillGraph::kBreakable) {
    limit = std::min(limit, cap);
  }
  return std::min(limit, c.args.max_total_tokens.value_or(limit));
}

// The sum of terms, since 0.5.3.
class Terms {
 public:
  Terms(const Context& c, Defaults* d) : c_(c), d_(*d) {}

  void Sum(int64_t chunk, int64_t max_bs) {
    const ServerArgs& a = c_.args;
    Add("metadata", "of attention backends", 512);
    const int64_t tokens = ActivationTokens(chunk, max_bs);
    Add("activations", fmt::format("1.5 MiB × {} tokens", FormatCount(tokens)),
        1.5 * static_cast<double>(tokens));
    const double parallel = static_cast<double>(a.tp_size * a.pp_size) / 8 * 1024;
    Add("parallelism", fmt::format("128 MiB × {} ranks", a.tp_size * a.pp_size), parallel);
    Graphs(max_bs);
    if (CardMib(*c_.gpu) > 60 * 1024 && d_.reserved_mib < 10240) {
      Add("floor", "10 GiB at least on cards of more than 60 GiB", 10240 - d_.reserved_mib);
    }
    if (Decodes() && a.moe_a2a_backend == "deepep" && c_.profile->deepep_reserve_mib > 0) {
      Add("DeepEP", "buffers of the all-to-all",
          static_cast<double>(c_.profile->deepep_reserve_mib));
    }
    Draft();
  }

  // A draft model, and larger graphs for it.
  void Draft() {
    const std::string& algorithm = c_.args.speculative_algorithm;
    if (algorithm.empty() || algorithm == "NGRAM") return;
    const int64_t mib = algorithm == "STANDALONE" ? c_.profile->standalone_draft_reserve_mib
                                                  : c_.profile->draft_reserve_mib;
    if (mib > 0) Add("draft model", algorithm, static_cast<double>(mib));
  }

  void Add(std::string name, std::string rule, double mib) {
    d_.terms.push_back({std::move(name), std::move(rule), mib});
    d_.reserved_mib += mib;
  }

 private:
  bool Decodes() const {
    return c_.args.disaggregation_mode != Disaggregation::kPrefill && !d_.decode_graphs.empty();
  }

  int64_t ActivationTokens(int64_t chunk, int64_t max_bs) const {
    const ServerArgs& a = c_.args;
    if (a.disaggregation_mode == Disaggregation::kDecode) {
      const int64_t running = a.max_running_requests.value_or(std::max<int64_t>(max_bs, 1));
      return std::max<int64_t>(running * std::max<int64_t>(a.speculative_num_draft_tokens, 1),
                               2048);
    }
    return std::max<int64_t>(chunk > 0 ? chunk : a.max_prefill_tokens, 2048);
  }

  void Graphs(int64_t max_bs) {
    const ServerArgs& a = c_.args;
    if (Decodes()) {
      Add("decode graphs", fmt::format("2 MiB × {} requests", max_bs),
          2 * static_cast<double>(max_bs));
    }
    if (a.enable_dp_attention && a.disaggregation_mode != Disaggregation::kPrefill) {
      const double each = max_bs > 300 ? 4.5 : 3;
      Add("DP attention", fmt::format("{} MiB × {} requests × DP {}", each, max_bs, a.dp_size),
          each * static_cast<double>(max_bs * a.dp_size));
    }
    if (d_.prefill_graph == PrefillGraph::kDisabled) return;
    const auto sizes = static_cast<int64_t>(d_.prefill_graphs.size());
    const int64_t fixed = c_.profile->mla_prefill_graph_mib;
    if (UsesMla(*c_.arch) && fixed > 0) {
      Add("prefill graphs", "of an MLA model", static_cast<double>(fixed));
    } else {
      Add("prefill graphs", fmt::format("8 MiB × {} sizes", sizes), 8 * static_cast<double>(sizes));
    }
    if (d_.prefill_graph == PrefillGraph::kBreakable && a.moe_a2a_backend == "deepep") {
      Add("DeepEP in prefill graphs", "bridge pool", 1024);
    }
  }

  const Context& c_;
  Defaults& d_;
};

// Before 0.5.3: a share of the parallel size and a constant of the tier.
// Source: server_args.py (June and September 2025).
void SumByCard(const Context& c, Terms* terms) {
  const int64_t card = CardMib(*c.gpu);
  const auto parallel = static_cast<double>(c.args.tp_size * c.args.pp_size);
  const auto add = [&](double gib, double divisor) {
    terms->Add("tier", fmt::format("{} GiB and {} ÷ {} GiB", gib, parallel, divisor),
               (gib + parallel / divisor) * 1024);
  };
  if (card < 35 * 1024) {
    add(2.8, 10);
  } else if (card < 90 * 1024) {
    add(9.5, 2);
  } else if (card < 160 * 1024) {
    add(12, 2);
  } else {
    terms->Add("tier", "32 GiB", 32 * 1024);
  }
  terms->Draft();
  if (c.args.enable_dp_attention) terms->Add("DP attention", "4 GiB", 4096);
}

double FractionByTp(int64_t tp) {
  if (tp >= 16) return 0.79;
  if (tp >= 8) return 0.81;
  if (tp >= 4) return 0.85;
  return tp >= 2 ? 0.87 : 0.88;
}

// More complex towers than ViT-L leave less, simpler ones a little more. Not rounded again.
// Source: adjust_mem_fraction_for_vlm (0bda0b168).
double VisionFactor(const Context& c) {
  const VisionShape& v = c.arch->vision;
  if (!c.profile->vision_factor || !v.present || c.args.language_only ||
      c.args.disaggregation_mode == Disaggregation::kDecode) {
    return 1;
  }
  const auto score = static_cast<double>(v.blocks * v.hidden * v.hidden);
  const double ratio = score / (24.0 * 1024 * 1024);
  return 0.95 * std::clamp(1.0 - 0.1 * (ratio - 1.0), 0.8, 1.05);
}

void ResolveFraction(const Context& c, int64_t chunk, int64_t max_bs, Defaults* d) {
  if (c.args.mem_fraction_static) {
    d->mem_fraction_static = *c.args.mem_fraction_static;
    d->fraction_given = true;
  } else {
    const auto card = static_cast<double>(CardMib(*c.gpu));
    if (c.profile->mem_fraction_rule == FractionRule::kByTp) {
      d->mem_fraction_static = FractionByTp(c.args.tp_size);
    } else if (card == 0) {
      d->mem_fraction_static = c.profile->unknown_card_fraction;
    } else {
      Terms terms(c, d);
      if (c.profile->mem_fraction_rule == FractionRule::kByCard) {
        SumByCard(c, &terms);
      } else {
        terms.Sum(chunk, max_bs);
      }
      d->mem_fraction_static = RoundThousandth((card - d->reserved_mib) / card);
    }
    d->vision_factor = VisionFactor(c);
    d->mem_fraction_static *= d->vision_factor;
  }
  // The one change that a given fraction does not escape.
  if (d->attention_backend == "aiter" && ContextLength(c) > 8192) {
    d->aiter_factor = 0.85;
    d->mem_fraction_static *= d->aiter_factor;
  }
}

}  // namespace

double RoundThousandth(double value) {
  // As Python's: the decimal nearest to the binary value.
  return std::strtod(fmt::format("{:.3f}", value).c_str(), nullptr);
}

std::string DefaultAttentionBackend(const Context& c) {
  const int capability = c.gpu->capability;
  const bool blackwell = capability >= 100 && capability < 120;
  if (!c.arch->compress_ratio.empty()) return "dsv4";
  if (c.arch->indexer.heads > 0) return "dsa";
  if (IsHip(*c.gpu)) return "aiter";
  const Profile& p = *c.profile;
  if (UsesMla(*c.arch)) {
    if (capability == 90) return p.hopper_backends[1];
    if (!blackwell) return "triton";
    // DeepSeek-V3's classes and Kimi-K3 have TensorRT-LLM's kernel for themselves.
    const std::string& family = c.arch->family;
    const bool own = family.starts_with("deepseek") || family.starts_with("kimi-k");
    return own ? p.blackwell_backends[1] : "flashinfer";
  }
  if (capability == 90) return p.hopper_backends[0];
  return blackwell ? p.blackwell_backends[0] : "flashinfer";
}

int64_t PageSizeOf(const Profile& profile, const std::string& backend, int64_t asked) {
  const auto it = profile.page_sizes.find(backend);
  if (it == profile.page_sizes.end()) return asked;
  const std::vector<int64_t>& taken = it->second;
  return std::find(taken.begin(), taken.end(), asked) != taken.end() ? asked : taken.front();
}

Defaults ResolveDefaults(const Context& c) {
  const ServerArgs& a = c.args;
  Defaults d;
  const int64_t card = CardMib(*c.gpu);
  const MemoryTier& tier = TierOf(*c.profile, card);
  const int64_t chunk =
      a.chunked_prefill_size.value_or(card == 0 ? kUnknownCardChunk : tier.chunked_prefill_size);
  int64_t max_bs = card == 0       ? kUnknownCardGraphs
                   : a.tp_size < 4 ? tier.graph_bs_small_tp
                                   : tier.graph_bs_large_tp;
  max_bs = a.cuda_graph_max_bs.value_or(max_bs);
  d.decode_graphs = a.cuda_graph_bs;
  if (!d.decode_graphs.empty()) {
    max_bs = *std::max_element(d.decode_graphs.begin(), d.decode_graphs.end());
  } else {
    d.decode_graphs = DecodeGraphSizes(max_bs, a.is_speculative());
  }
  if (a.disable_cuda_graph || a.disable_decode_graph ||
      a.disaggregation_mode == Disaggregation::kPrefill) {
    d.decode_graphs.clear();
  }
  d.prefill_graph = ResolvePrefillGraph(c);
  if (d.prefill_graph != PrefillGraph::kDisabled) {
    d.prefill_graphs = PrefillGraphSizes(PrefillGraphLimit(c, chunk, d.prefill_graph));
  }
  d.attention_backend =
      a.decode_attention_backend.value_or(a.attention_backend.value_or(DefaultAttentionBackend(c)));
  ResolveFraction(c, chunk, max_bs, &d);

  // Switched off once backends are final, when the fraction stands: it keeps their share.
  if (d.attention_backend == "trtllm_mla" && !a.prefill_graph &&
      c.arch->family.starts_with("deepseek-v3")) {
    d.prefill_graph = PrefillGraph::kDisabled;
    d.prefill_graphs.clear();
  }
  d.page_size = PageSizeOf(*c.profile, d.attention_backend, a.page_size.value_or(1));
  if (a.prefill_attention_backend) {
    d.page_size = PageSizeOf(*c.profile, *a.prefill_attention_backend, d.page_size);
  }
  d.chunk_as_given = chunk;
  d.chunked_prefill_size = a.enable_dp_attention && chunk > 0 ? chunk / a.dp_size : chunk;
  d.max_running_requests =
      a.max_running_requests.value_or(a.is_speculative() ? kSpeculativeRequests : 0);
  if (a.enable_symm_mem) {
    d.symm_mem_gib = a.symm_mem_prealloc_gib > 0 ? a.symm_mem_prealloc_gib : 4;
  }
  return d;
}

}  // namespace shardplan::sglang
