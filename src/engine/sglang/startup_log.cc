#include "engine/sglang/startup_log.h"

#include <fmt/format.h>

#include "shardplan/base/units.h"

namespace shardplan::sglang {
namespace {

std::string Gb(Bytes bytes) { return fmt::format("{:.2f}", InGiB(bytes).value()); }

// As torch names it.
std::string TorchName(const KvFormat& format) {
  if (format.name == "fp8_e4m3" || format.name == "mxfp8") return "torch.float8_e4m3fn";
  if (format.name == "fp8_e5m2") return "torch.float8_e5m2";
  if (format.bits == 4) return "torch.uint8";
  return "torch." + format.name;
}

std::string StateLine(const Context& c, const Pools& p) {
  const int64_t slots = p.states->slots + c.profile->state_padding_slots;
  std::string text = fmt::format(
      "Mamba Cache is allocated. max_mamba_cache_size: {}, conv_state size: {}GB, "
      "ssm_state size: {}GB",
      p.states->slots, Gb(p.slot.convolution * slots), Gb(p.slot.recurrent * slots));
  if (p.states->scratch_gib > 0) {
    const Bytes scratch = Gibibytes(p.states->scratch_gib).ToBytes();
    const Bytes states = p.slot.states();
    const auto part = [&](Bytes share) {
      return Gb(Bytes(static_cast<int64_t>(static_cast<double>(scratch.count()) *
                                           static_cast<double>(share.count()) /
                                           static_cast<double>(states.count()))));
    };
    text += fmt::format(
        " intermediate_ssm_state_cache size: {}GB intermediate_conv_window_cache size: {}GB",
        part(p.slot.recurrent), part(p.slot.convolution));
  }
  return text;
}

std::string KvLine(const Context& c, const Pools& p, size_t stage) {
  const Architecture& a = *c.arch;
  const Bytes bytes = p.KvBytes(stage);
  const std::string head =
      fmt::format("KV Cache is allocated. dtype: {}, #tokens: {}, ", TorchName(p.format), p.tokens);
  if (UsesMla(a)) return head + fmt::format("KV size: {} GB", Gb(bytes));
  const int64_t values = a.v_head_dim > 0 ? a.v_head_dim : a.head_dim;
  const Bytes keys(bytes.count() / (a.head_dim + values) * a.head_dim);
  return head + fmt::format("K size: {} GB, V size: {} GB", Gb(keys), Gb(bytes - keys));
}

}  // namespace

std::vector<std::string> StartupLog(const Context& c, const Defaults& d, const Pools& p,
                                    const StartupFacts& f) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("Init torch distributed ends. elapsed=… s, mem usage={} GB",
                              Gb(f.capacity - f.before_load)));
  lines.push_back(fmt::format("Load weight begin. avail mem={} GB", Gb(f.before_load)));
  Bytes free = f.before_load - f.weights;
  if (free < Bytes()) return lines;
  lines.push_back(
      fmt::format("Load weight end. elapsed=… s, type={}, avail mem={} GB, mem usage={} GB.",
                  c.arch->name, Gb(free), Gb(f.weights)));
  free -= f.draft;
  if (p.refusal) return lines;
  if (p.states) {
    lines.push_back(StateLine(c, p));
    free -= Gibibytes(p.states->pool_gib + p.states->scratch_gib).ToBytes();
  }
  lines.push_back(KvLine(c, p, f.stage));
  free -= p.KvBytes(f.stage);
  lines.push_back(fmt::format("Memory pool end. avail mem={} GB", Gb(free)));
  free -= f.graphs + f.slack_items;
  lines.push_back(
      fmt::format("max_total_num_tokens={}, chunked_prefill_size={}, max_prefill_tokens={}, "
                  "max_running_requests={}, context_len={}, available_gpu_mem={} GB",
                  p.tokens, d.chunked_prefill_size, c.args.max_prefill_tokens,
                  p.max_running_requests, ContextLength(c), Gb(free)));
  return lines;
}

}  // namespace shardplan::sglang
