#include "engine/sglang/pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/sglang/parallel.h"
#include "engine/sglang/refusals.h"

namespace shardplan::sglang {
namespace {

constexpr double kGib = 1 << 30;

// Layers with a window and layers without, where every request's share is known: the window pool is
// made for the requests, and the rest goes to the others.
bool WindowCapped(const Context& c, const TokenCell& cell) {
  return cell.window_layers > 0 && cell.full_layers > 0 && c.args.disable_radix_cache &&
         c.args.max_running_requests.has_value() && c.arch->compress_ratio.empty();
}

// Source: pool_configurator.py SWAChunkCapPoolConfigurator (0bda0b168).
int64_t WindowCap(const Context& c, const Defaults& d) {
  const ServerArgs& a = c.args;
  const int64_t drafted = std::max<int64_t>(a.speculative_num_draft_tokens, 1);
  const int64_t trailing =
      c.arch->window + std::max<int64_t>(1, a.swa_eviction_interval) * drafted + d.page_size;
  const int64_t decode = a.is_speculative() ? 2 * RoundUp(drafted, d.page_size) : d.page_size;
  const int64_t requests = *a.max_running_requests / AttentionDp(a);
  const int64_t chunk = std::max<int64_t>(d.chunked_prefill_size, 0);
  const int64_t cap =
      a.disaggregation_mode == Disaggregation::kDecode
          ? (trailing + decode) * requests +
                (c.arch->window + d.page_size) * a.disaggregation_decode_extra_slots
          : (trailing + decode) * requests + (a.overlap() ? 2 : 1) * chunk + d.page_size;
  return RoundUp(cap, d.page_size);
}

// DeepSeek-V4 keeps the last 128 tokens' keys and scores per request in the layers that compress
// them. Source: pool_configurator.py DSV4PoolConfigurator (0bda0b168).
double RequestStates(const Context& c, const StageRange& stage, int64_t requests) {
  const Architecture& a = *c.arch;
  if (a.compress_ratio.empty()) return 0;
  const auto begin = a.compress_ratio.begin() + stage.first;
  const int64_t layers = std::count(begin, begin + stage.count, 128);
  const int64_t ring = c.args.is_speculative() ? 256 : 128;
  const int64_t slots = requests + 1 + c.args.disaggregation_decode_extra_slots;
  const int64_t rows = RoundUp(slots * ring + ring + 1, 128);
  return static_cast<double>(rows * 2 * a.head_dim * 4 * layers);
}

int64_t EstimatedRequests(const Context& c, double tokens) {
  const auto context = static_cast<double>(std::max<int64_t>(ContextLength(c), 1));
  return std::clamp<int64_t>(static_cast<int64_t>(tokens / context * 512), 2048, 4096);
}

int64_t RunningRequests(const Context& c, const Defaults& d, const Pools& p) {
  const int64_t half = p.tokens / 2;
  int64_t requests = d.max_running_requests > 0
                         ? std::min(d.max_running_requests / AttentionDp(c.args), half)
                         : std::min(EstimatedRequests(c, static_cast<double>(p.tokens)), half);
  if (p.states) requests = std::min(requests, p.states->requests);
  return requests;
}

class Sizer {
 public:
  Sizer(const Context& c, const Defaults& d, const std::vector<StageRange>& stages)
      : c_(c), d_(d), stages_(stages) {}

  void Size(const FreeMemory& free, Pools* p) {
    Budget(free, p);
    if (p->refusal) return;
    int64_t window = 0;
    for (size_t i = 0; i < stages_.size(); ++i) {
      const int64_t tokens = StageTokens(i, p, &window);
      if (p->refusal) return;
      p->stage_tokens.push_back(tokens);
    }
    p->tokens = *std::min_element(p->stage_tokens.begin(), p->stage_tokens.end());
    if (c_.args.max_total_tokens) {
      p->tokens = std::min(p->tokens, *c_.args.max_total_tokens / p->page_size * p->page_size);
    }
    p->window_tokens = window;
    Finish(p);
  }

 private:
  void Refuse(Pools* p, std::string id, std::string message, std::string fix) {
    p->refusal = Finding{std::move(id), Severity::kError,
                         fmt::format("--mem-fraction-static {}", d_.mem_fraction_static),
                         std::move(message), std::move(fix)};
  }

  void Budget(const FreeMemory& free, Pools* p) {
    p->slack_gib = free.before_gib * (1 - d_.mem_fraction_static);
    p->minimum_fraction = 1 - free.after_gib / free.before_gib;
    if (c_.arch->vision.present && !c_.args.language_only) {
      int64_t mib = c_.profile->multimodal_cache_mib;
      if (mib > 0 && c_.args.feature_transport_on_gpu) mib += 1024;
      p->multimodal_gib = static_cast<double>(mib) / 1024;
    }
    p->rest_gib = free.after_gib - p->slack_gib - p->multimodal_gib;
    p->kv_gib = p->rest_gib;
    p->page_size = d_.page_size;
    if (c_.arch->has_state()) {
      p->slot = SlotOf(c_, stages_);
      p->states = SizeStatePool(c_, p->slot, p->rest_gib, d_.max_running_requests);
      p->kv_gib = p->states->rest_gib;
      if (p->states->slots <= 0) {
        return Refuse(
            p, "pool.states",
            NoStateSlotsText(*p->states, p->rest_gib - p->states->scratch_gib, p->slot.states()),
            MoreText(*p));
      }
    }
    if (p->kv_gib <= 0) {
      Refuse(p, "pool.kv",
             NoKvMemoryText(c_.profile->kv_refusal, d_.mem_fraction_static, p->minimum_fraction),
             MoreText(*p));
    }
  }

  static std::string MoreText(const Pools& p) {
    if (p.minimum_fraction >= 1) return "more ranks, or cards with more memory";
    return fmt::format("--mem-fraction-static above {:.3f}, more ranks, or larger cards",
                       SuggestedFraction(p.minimum_fraction));
  }

  int64_t StageTokens(size_t i, Pools* p, int64_t* window) {
    const TokenCell& cell = p->cells[i];
    const auto bytes = static_cast<double>(static_cast<int64_t>(p->kv_gib * kGib));
    if (cell.bytes <= 0) return std::numeric_limits<int64_t>::max();  // other stages decide
    if (WindowCapped(c_, cell)) {
      *window = WindowCap(c_, d_);
      const double fixed = static_cast<double>(*window) * static_cast<double>(cell.window.count());
      TokenCell rest = cell;
      rest.bytes = static_cast<double>(cell.full.count());
      const int64_t tokens = bytes > fixed ? TokensIn(rest, p->page_size, bytes - fixed) : 0;
      if (tokens <= 0) {
        Refuse(p, "pool.window", WindowCapText(*window, fixed / kGib, bytes / kGib),
               "fewer --max-running-requests");
      }
      return tokens;
    }
    double fixed = 0;
    if (!c_.arch->compress_ratio.empty()) {
      const int64_t requests = c_.args.max_running_requests
                                   ? *c_.args.max_running_requests / AttentionDp(c_.args)
                                   : std::min(EstimatedRequests(c_, bytes / cell.bytes),
                                              static_cast<int64_t>(bytes / cell.bytes) / 2);
      fixed = RequestStates(c_, stages_[i], requests);
      p->request_states_gib = std::max(p->request_states_gib, fixed / kGib);
    }
    const int64_t tokens = TokensIn(cell, p->page_size, std::max(bytes - fixed, 0.0));
    if (cell.window_layers > 0 || !c_.arch->compress_ratio.empty()) {
      const bool all = cell.full_layers == 0;
      *window =
          all ? tokens
              : static_cast<int64_t>(static_cast<double>(tokens) * c_.args.swa_full_tokens_ratio) /
                    p->page_size * p->page_size;
      if (c_.arch->window + p->page_size >= *window && tokens > 0) {
        Refuse(p, "pool.window", SmallWindowPoolText(*window, c_.arch->window, p->page_size),
               "more memory for the cache");
      }
    }
    return tokens;
  }

  void Finish(Pools* p) {
    if (p->tokens <= 0) {
      return Refuse(p, "pool.tokens", NoTokensText(d_.mem_fraction_static), MoreText(*p));
    }
    p->logical_tokens = p->tokens * c_.args.dcp_size;
    p->max_running_requests = RunningRequests(c_, d_, *p);
    if (p->states && p->max_running_requests <= 0) {
      Refuse(p, "pool.requests", NoRequestsText(*p->states), MoreText(*p));
    }
  }

  const Context& c_;
  const Defaults& d_;
  const std::vector<StageRange>& stages_;
};

}  // namespace

int64_t TokensIn(const TokenCell& cell, int64_t page, double bytes) {
  if (cell.bytes <= 0) return 0;
  // Whole cells divide as integers do.
  const double whole = std::floor(cell.bytes);
  const int64_t tokens = whole == cell.bytes
                             ? static_cast<int64_t>(bytes) / static_cast<int64_t>(whole)
                             : static_cast<int64_t>(bytes / cell.bytes);
  return tokens / page * page;
}

Bytes Pools::KvBytes(size_t stage) const {
  const TokenCell& cell = cells[stage];
  if (cell.window_layers == 0 || cell.full_layers == 0) {
    return Bytes(static_cast<int64_t>(cell.bytes * static_cast<double>(tokens + page_size)));
  }
  return cell.full * (tokens + page_size) + cell.window * (window_tokens + page_size);
}

Bytes Pools::SparePage(size_t stage) const {
  const TokenCell& cell = cells[stage];
  if (cell.window_layers == 0 || cell.full_layers == 0) {
    return KvBytes(stage) - Bytes(static_cast<int64_t>(cell.bytes * static_cast<double>(tokens)));
  }
  return (cell.full + cell.window) * page_size;
}

Result<Pools> SizePools(const Context& c, const Defaults& d, const std::vector<StageRange>& stages,
                        const FreeMemory& free) {
  Pools pools;
  SHARDPLAN_ASSIGN_OR_RETURN(pools.format, ResolveKvFormat(c, d.attention_backend));
  for (const StageRange& stage : stages) pools.cells.push_back(CellOf(c, pools.format, stage));
  Sizer(c, d, stages).Size(free, &pools);
  return pools;
}

std::vector<SlackItem> SlackItems(const Context& c, const Defaults& d, const Pools& p) {
  const ServerArgs& a = c.args;
  std::vector<SlackItem> items;
  const auto add = [&](std::string name, std::string rule, int64_t bytes) {
    if (bytes > 0) items.push_back({std::move(name), std::move(rule), Bytes(bytes)});
  };
  // Four positions spare, and what a draft may overshoot. Source: memory_pool.py ReqToTokenPool.
  const int64_t length = ContextLength(c) + 4 + a.speculative_num_draft_tokens;
  const int64_t slots = p.max_running_requests + 1 + a.disaggregation_decode_extra_slots;
  add("req_to_token",
      fmt::format("{} requests × {} positions × int32", FormatCount(slots), FormatCount(length)),
      slots * length * 4);
  const std::string& backend = d.attention_backend;
  if (backend == "flashinfer") add("attention workspace", "FlashInfer's", 384 * kMiB);
  if (backend == "trtllm_mla") add("attention workspace", "TensorRT-LLM MLA's", 150 * kMiB);
  if (backend == "aiter" && !UsesMla(*c.arch)) {
    // Partial results of every request over blocks of 256 tokens, in fp32.
    const int64_t heads = c.arch->heads / AttentionTp(a);
    const int64_t blocks = CeilDiv(ContextLength(c), 256);
    add("attention workspace",
        fmt::format("aiter's: {} requests × {} heads × {} blocks × ({} × 4 + 8) B",
                    FormatCount(p.max_running_requests), heads, FormatCount(blocks),
                    c.arch->head_dim),
        p.max_running_requests * heads * blocks * (c.arch->head_dim * 4 + 8));
  }
  // Kimi's models switch it off while any graph is captured, Kimi-K3 under DCP always.
  const bool graphs = !d.decode_graphs.empty() || d.prefill_graph != PrefillGraph::kDisabled;
  const bool ignored = c.arch->kda.heads > 0 && (graphs || a.dcp_size > 1);
  if (d.symm_mem_gib > 0 && !ignored) {
    add("symmetric memory", "SGLANG_SYMM_MEM_PREALLOC_GB_SIZE",
        static_cast<int64_t>(d.symm_mem_gib * kGib));
  }
  if (p.states && a.disaggregation_mode == Disaggregation::kDecode) {
    add("states of requests on their way",
        fmt::format("{} slots", a.disaggregation_decode_extra_slots),
        a.disaggregation_decode_extra_slots * p.slot.bytes().count());
  }
  return items;
}

}  // namespace shardplan::sglang
