#include "engine/sglang/state_pool.h"

#include <algorithm>
#include <cmath>

#include "engine/sglang/parallel.h"

namespace shardplan::sglang {
namespace {

constexpr double kGib = 1 << 30;

// Python's a // b of floats.
double FloorDivide(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (b < 0) != (rest < 0)) rest += b;
  const double quotient = (a - rest) / b;
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

// Values of one layer's states on a rank.
struct LayerState {
  int64_t convolution = 0;
  int64_t recurrent = 0;
};

LayerState LayerOf(const Context& c, AttentionKind kind) {
  const Architecture& a = *c.arch;
  const int64_t attention_tp = AttentionTp(c.args);
  switch (kind) {
    case AttentionKind::kKda: {
      // Kimi-Linear's heads are divided by TP whatever the attention does.
      const int64_t tp = a.moe.latent > 0 ? attention_tp : c.args.tp_size;
      const int64_t heads = a.kda.heads / tp;
      return {(a.kda.conv_kernel - 1) * 3 * heads * a.kda.head_dim,
              heads * a.kda.head_dim * a.kda.head_dim};
    }
    case AttentionKind::kGdn: {
      const int64_t width = (2 * a.gdn.key_width() + a.gdn.value_width()) / attention_tp;
      return {(a.gdn.conv_kernel - 1) * width,
              a.gdn.v_heads / attention_tp * a.gdn.k_head_dim * a.gdn.v_head_dim};
    }
    case AttentionKind::kMamba2: {
      // Groups that TP does not divide are repeated until it does.
      const int64_t groups = RoundUp(a.mamba.groups, attention_tp);
      const int64_t width = (a.mamba.width + 2 * groups * a.mamba.state) / attention_tp;
      return {(a.mamba.conv_kernel - 1) * width,
              a.mamba.heads / attention_tp * a.mamba.head_dim * a.mamba.state};
    }
    case AttentionKind::kMamba1:
      return {(a.mamba.conv_kernel - 1) * a.mamba.width / attention_tp,
              a.mamba.width / attention_tp * a.mamba.state};
    default:
      return {};
  }
}

// Keys, values, gates and steps of the last tokens, from which states are made again.
// Source: mem_cache ReplaySSM ring buffers (0bda0b168).
int64_t RingOf(const Context& c, AttentionKind kind) {
  const Architecture& a = *c.arch;
  const bool kda = kind == AttentionKind::kKda;
  if (!c.args.enable_linear_replayssm_spec || (!kda && kind != AttentionKind::kGdn)) return 0;
  const int64_t tp = AttentionTp(c.args);
  const int64_t length = c.args.linear_replayssm_cache_len;
  const int64_t element = BitsOf(c.args.mamba_conv_dtype) / 8;
  const int64_t values = (kda ? a.kda.heads : a.gdn.v_heads) / tp;
  const int64_t keys = (kda ? a.kda.heads : a.gdn.k_heads) / tp;
  const int64_t value_dim = kda ? a.kda.head_dim : a.gdn.v_head_dim;
  const int64_t key_dim = kda ? a.kda.head_dim : a.gdn.k_head_dim;
  const int64_t both = values * length * value_dim * element + keys * length * key_dim * element;
  return both + values * length * 4 + values * length * (kda ? key_dim : 1) * 4 + (kda ? both : 0);
}

int64_t StateLayers(const Architecture& a, const StageRange& stage) {
  int64_t count = 0;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    count += KeepsState(a.attention[static_cast<size_t>(layer)]);
  }
  return count;
}

DType RecurrentDType(const Context& c) {
  if (c.args.mamba_ssm_dtype) return *c.args.mamba_ssm_dtype;
  const Architecture& a = *c.arch;
  if (a.has_kind(AttentionKind::kGdn) && a.gdn.state_dtype) return *a.gdn.state_dtype;
  if (a.mamba.state_dtype) return *a.mamba.state_dtype;
  return DType::kF32;
}

}  // namespace

StateSlot SlotOfStage(const Context& c, const StageRange& stage) {
  const Architecture& a = *c.arch;
  StateSlot slot;
  const int64_t convolution = BitsOf(c.args.mamba_conv_dtype) / 8;
  const int64_t recurrent = BitsOf(RecurrentDType(c)) / 8;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    const AttentionKind kind = a.attention[static_cast<size_t>(layer)];
    if (!KeepsState(kind)) continue;
    const LayerState state = LayerOf(c, kind);
    slot.convolution += Bytes(state.convolution * convolution);
    slot.recurrent += Bytes(state.recurrent * recurrent);
    slot.ring += Bytes(RingOf(c, kind));
    ++slot.layers;
  }
  return slot;
}

StateSlot SlotOf(const Context& c, const std::vector<StageRange>& stages) {
  const Architecture& a = *c.arch;
  if (!c.profile->states_by_stage) return SlotOfStage(c, {0, a.layers()});
  return SlotOfStage(c, *std::max_element(stages.begin(), stages.end(),
                                          [&](const StageRange& x, const StageRange& y) {
                                            return StateLayers(a, x) < StateLayers(a, y);
                                          }));
}

StateStrategy ResolveStrategy(const Context& c) {
  return c.args.mamba_radix_strategy.value_or(c.profile->state_strategy);
}

int64_t SlotsPerRequest(const Context& c) {
  // A decoding server keeps no prefixes.
  if (c.args.disable_radix_cache || c.args.disaggregation_mode == Disaggregation::kDecode) return 1;
  constexpr int64_t kPrefix = 3;
  const StateStrategy strategy = ResolveStrategy(c);
  if (strategy == StateStrategy::kNoBuffer) return kPrefix;
  const int64_t held = kPrefix - (c.args.skip_decode_lock ? 1 : 0);
  if (!c.args.overlap()) return held + 1;
  return held + (strategy == StateStrategy::kExtraBufferLazy ? 1 : 2);
}

StatePool SizeStatePool(const Context& c, const StateSlot& slot, double rest_gib, int64_t running) {
  const ServerArgs& a = c.args;
  StatePool pool;
  const int64_t dp = AttentionDp(a);
  const int64_t per_request = SlotsPerRequest(c);
  const int64_t padding = c.profile->state_padding_slots;
  const auto states = static_cast<double>(slot.states().count());
  const auto bytes = static_cast<double>(slot.bytes().count());
  // A ring replays what drafts would otherwise keep.
  const bool drafts = a.is_speculative() && !a.enable_linear_replayssm_spec;
  const auto drafted = static_cast<double>(drafts ? a.speculative_num_draft_tokens : 0);
  const int64_t running_per_rank = running > 0 ? running / dp : 0;
  const auto scratch = [&](int64_t requests) {
    return states * static_cast<double>(requests + padding) * drafted / kGib;
  };
  pool.slots_per_request = per_request;
  const auto capped = [&] {
    const int64_t fit = pool.slots / per_request;
    return running > 0 ? std::min(running_per_rank, fit) : fit;
  };
  if (a.max_mamba_cache_size) {
    pool.slots = *a.max_mamba_cache_size / dp;
    if (drafts) pool.scratch_gib = scratch(capped());
  } else if (per_request == 1 && running > 0) {
    pool.slots = running_per_rank;
    if (drafts) pool.scratch_gib = scratch(pool.slots);
  } else {
    const double ratio = a.mamba_full_memory_ratio;
    const double budget = rest_gib * ratio / (1 + ratio) * kGib;
    pool.asked_gib = budget / kGib;
    const double pad = static_cast<double>(padding);
    if (drafts) {
      const double each = states * (1 + drafted / static_cast<double>(per_request));
      pool.slots = static_cast<int64_t>(FloorDivide(budget - pad * states * (1 + drafted), each));
      pool.scratch_gib = scratch(capped());
    } else {
      pool.slots = static_cast<int64_t>(FloorDivide(budget - pad * bytes, bytes));
    }
  }
  pool.requests = pool.slots / per_request;
  pool.pool_gib = static_cast<double>(pool.slots + padding) * bytes / kGib;
  pool.rest_gib = rest_gib - pool.scratch_gib - pool.pool_gib;
  return pool;
}

}  // namespace shardplan::sglang
