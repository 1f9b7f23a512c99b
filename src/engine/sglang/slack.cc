#include "engine/sglang/slack.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/sglang/parallel.h"
#include "engine/sglang/weights.h"

namespace shardplan::sglang {
namespace {

// SGLANG_FUSED_MOE_CHUNK_SIZE: tokens that go through the experts at once.
constexpr int64_t kExpertChunk = 64 * 1024;

// Tokens of a prompt batch: on one attention rank, and over the ranks that share the experts.
struct Batch {
  int64_t own = 0;
  int64_t gathered = 0;
};

// A decoding server has one token of each request, or as many as are guessed.
Batch LargestBatch(const Context& c, const Defaults& d, int64_t requests) {
  const int64_t dp = AttentionDp(c.args);
  if (c.args.disaggregation_mode == Disaggregation::kDecode) {
    const int64_t own = requests * std::max<int64_t>(1, c.args.speculative_num_draft_tokens);
    return {own, own * dp};
  }
  const int64_t own = d.chunked_prefill_size > 0
                          ? d.chunked_prefill_size
                          : std::max(c.args.max_prefill_tokens, ContextLength(c));
  return {own, own * dp};
}

struct Phase {
  std::string name;
  std::string rule;
  int64_t bytes = 0;
};

Phase Attention(const Context& c, const Batch& batch) {
  const Architecture& a = *c.arch;
  const int64_t tp = AttentionTp(c.args);
  const int64_t heads = std::max<int64_t>(1, a.heads / tp);
  const int64_t query = UsesMla(a) ? a.mla.nope_head_dim + a.mla.rope_head_dim : a.head_dim;
  const int64_t value = UsesMla(a)         ? a.mla.v_head_dim
                        : a.v_head_dim > 0 ? a.v_head_dim
                                           : a.head_dim;
  const int64_t kv_heads = UsesMla(a) ? heads : std::max<int64_t>(1, a.kv_heads / tp);
  const int64_t values = heads * query + kv_heads * (query + value) + heads * value;
  return {"attention",
          fmt::format("{} tokens × ({} + {}) heads' queries, keys, values, results × 2 B",
                      FormatCount(batch.own), heads, kv_heads),
          batch.own * values * 2};
}

Phase DenseMlp(const Context& c, const Batch& batch) {
  const Architecture& a = *c.arch;
  const int64_t width = a.dense_intermediate / (c.args.moe_dense_tp_size == 1 ? 1 : c.args.tp_size);
  return {"MLP", fmt::format("{} tokens × 3 × {} × 2 B", FormatCount(batch.gathered), width),
          batch.gathered * 3 * width * 2};
}

// The grouped products' two caches: gate and up or the result of each choice, and what lies
// between.
Phase Experts(const Context& c, const Batch& batch) {
  const Architecture& a = *c.arch;
  if (a.moe.experts == 0) return {};
  const ShardingRules rules = RulesFor(c);
  const int64_t tokens = std::min(batch.gathered, kExpertChunk);
  const int64_t widest = std::max(2 * rules.expert_intermediate, rules.expert_width);
  const int64_t shared =
      batch.gathered * 3 * a.moe.shared_intermediate / rules.TpOf(Role::kSharedExpert) * 2;
  return {"experts",
          fmt::format("{} tokens × {} choices × ({} + {}) × 2 B, shared experts {} B",
                      FormatCount(tokens), a.moe.top_k, widest, rules.expert_intermediate,
                      FormatCount(shared)),
          tokens * a.moe.top_k * (widest + rules.expert_intermediate) * 2 + shared};
}

Phase Logits(const Context& c, const Batch& batch, int64_t requests) {
  // A decoding batch has a row for each token it verifies, a prefill one for each prompt.
  const bool decodes = c.args.disaggregation_mode == Disaggregation::kDecode;
  const int64_t rows = decodes ? batch.own : std::min(requests, batch.own);
  return {
      "logits",
      fmt::format("{} rows × {} × (2 + 4) B", FormatCount(rows), FormatCount(c.arch->vocabulary)),
      rows * c.arch->vocabulary * 6};
}

// Residual, its norm, and what a layer hands to the next; blocks of attention residuals.
Phase Carried(const Context& c, const Batch& batch) {
  const Architecture& a = *c.arch;
  const int64_t rows = 4 + (a.attn_res_block > 0 ? CeilDiv(a.layers(), a.attn_res_block) : 0);
  return {"carried through the layers",
          fmt::format("{} tokens × {} rows of {} × 2 B", FormatCount(batch.own), rows, a.hidden),
          batch.own * rows * a.hidden * 2};
}

Range Ends(const Measure& m, double scale) {
  const auto at = [&](double value) { return Bytes(static_cast<int64_t>(value * scale)); };
  return {at(m.low), at(m.central), at(m.high)};
}

const std::string& SourceOf(const Context& c, const char* rule) {
  return c.profile->sources.at(rule).text;
}

}  // namespace

Estimate EstimateActivations(const Context& c, const Defaults& d, const StageRange& stage,
                             int64_t requests) {
  const Batch batch = LargestBatch(c, d, std::max<int64_t>(1, requests));
  std::vector<Phase> phases = {Attention(c, batch), DenseMlp(c, batch), Experts(c, batch)};
  if (stage.end() == c.arch->layers()) phases.push_back(Logits(c, batch, requests));
  const Phase& largest =
      *std::max_element(phases.begin(), phases.end(),
                        [](const Phase& a, const Phase& b) { return a.bytes < b.bytes; });
  const Phase carried = Carried(c, batch);
  const Bytes central(carried.bytes + largest.bytes);
  Estimate estimate;
  estimate.bytes = Range(Bytes(central.count() / 3 * 2), central, central * 2);
  const bool decodes = c.args.disaggregation_mode == Disaggregation::kDecode;
  estimate.source =
      fmt::format("one {} of {} tokens, largest in {} (from shapes; {} lowers it)",
                  decodes ? "decoding batch" : "prefill", FormatCount(batch.own), largest.name,
                  decodes ? "--max-running-requests" : "--chunked-prefill-size");
  estimate.parts = {{carried.name, carried.rule, Bytes(carried.bytes)},
                    {largest.name, largest.rule, Bytes(largest.bytes)}};
  return estimate;
}

Estimate EstimateGraphs(const Context& c, const Defaults& d, const StageRange& stage,
                        int64_t requests) {
  // A pool of fewer requests has no larger batches.
  const auto decode = static_cast<int64_t>(
      std::count_if(d.decode_graphs.begin(), d.decode_graphs.end(),
                    [&](int64_t size) { return size <= std::max<int64_t>(requests, 1); }));
  const int64_t prefill = d.prefill_graph == PrefillGraph::kDisabled
                              ? 0
                              : static_cast<int64_t>(d.prefill_graphs.size());
  Estimate estimate;
  if (decode + prefill == 0) return estimate;
  const Profile& p = *c.profile;
  const auto add = [&](const char* name, int64_t graphs, const Measure& each, const char* rule) {
    if (graphs == 0) return;
    const Range bytes = Ends(each, static_cast<double>(graphs * stage.count * kKiB));
    estimate.bytes += bytes;
    estimate.source += (estimate.source.empty() ? "" : "; ") + SourceOf(c, rule);
    estimate.parts.push_back({name,
                              fmt::format("{} graphs × {} layers × {} KiB ({} to {})", graphs,
                                          stage.count, each.central, each.low, each.high),
                              bytes.central});
  };
  add(kDecodeGraphs, decode, p.decode_graph_kib, "decode_graph_kib");
  add("prefill graphs", prefill, p.prefill_graph_kib, "prefill_graph_kib");
  return estimate;
}

Estimate GoneBeforeLoad(const Context& c, int64_t ranks) {
  const Profile& p = *c.profile;
  const bool alone = ranks == 1;
  return {Ends(alone ? p.gone_before_load_alone_gib : p.gone_before_load_gib, kGiB),
          SourceOf(c, alone ? "gone_before_load_alone_gib" : "gone_before_load_gib"),
          {}};
}

Estimate CommunicationLater(const Context& c, int64_t ranks) {
  if (ranks == 1) return {};
  return {
      Ends(c.profile->communication_later_gib, kGiB), SourceOf(c, "communication_later_gib"), {}};
}

Estimate AllToAllBuffers(const Context& c, const Defaults& d) {
  const ServerArgs& a = c.args;
  if (a.moe_a2a_backend == "none" || c.arch->moe.experts == 0 || a.tp_size == 1) return {};
  Estimate estimate;
  if (a.moe_a2a_backend == "megamoe") {
    const int64_t tokens = a.mega_moe_tokens > 0 ? a.mega_moe_tokens : LargestBatch(c, d, 1).own;
    const int64_t width = c.arch->moe.latent > 0 ? c.arch->moe.latent : c.arch->hidden;
    const Bytes central(tokens * c.arch->moe.top_k * width * 3);
    estimate.bytes = Range(Bytes(tokens * width * 3), central, central * 2);
    estimate.source = "symmetric buffer of MegaMoE, allocated on every rank";
    estimate.parts = {{"MegaMoE",
                       fmt::format("{} tokens × {} choices × {} × (1 + 2) B", FormatCount(tokens),
                                   c.arch->moe.top_k, width),
                       central}};
    return estimate;
  }
  const auto gib = [](double value) { return Bytes(static_cast<int64_t>(value * kGiB)); };
  estimate.bytes = Range(gib(0.5), gib(2), gib(4));
  estimate.source = "buffers of the all-to-all: the 2 GiB that SGLang reserves for DeepEP (#30157)";
  return estimate;
}

}  // namespace shardplan::sglang
