#include "engine/sglang/startup_log.h"

#include <fmt/format.h>

#include <utility>

#include "shardplan/base/units.h"

namespace shardplan::sglang {
namespace {

std::string Gb(Bytes bytes) { return fmt::format("{:.2f}", InGiB(bytes).value()); }

Bytes Scaled(Bytes bytes, double share) {
  return Bytes(static_cast<int64_t>(static_cast<double>(bytes.count()) * share));
}

// As torch names it.
std::string TorchName(const KvFormat& format) {
  if (format.name == "fp8_e4m3" || format.name == "mxfp8") return "torch.float8_e4m3fn";
  if (format.name == "fp8_e5m2") return "torch.float8_e5m2";
  if (format.bits == 4) return "torch.uint8";
  return "torch." + format.name;
}

// The method's name in SGLang; empty for none.
std::string QuantizationName(const Architecture& a) {
  const std::string& name = a.quantization;
  if (a.family == "kimi-k3" || name == "int4" || name == "int8") return "compressed-tensors";
  if (name == "nvfp4") return "modelopt_fp4";
  return name;
}

class Log {
 public:
  Log(const Context& c, const Defaults& d, const Pools& p, const StartupFacts& f)
      : c_(c), d_(d), p_(p), f_(f), free_(f.before_load) {}

  std::vector<std::string> Write() {
    const char* const elapsed = c_.profile->log_elapsed ? "elapsed=… s, " : "";
    Add("Init torch distributed ends. {}mem usage={} GB", elapsed,
        Gb(f_.capacity - f_.before_load));
    Add("Load weight begin. avail mem={} GB", Gb(free_));
    free_ -= f_.weights;
    if (free_ < Bytes()) return std::move(lines_);
    Loaded(elapsed);
    free_ -= f_.draft;
    if (p_.refusal) return std::move(lines_);
    if (p_.states) States();
    Caches();
    Add("Memory pool end. avail mem={} GB", Gb(free_));
    Graphs();
    free_ -= f_.slack_items;
    Add("max_total_num_tokens={}, chunked_prefill_size={}, max_prefill_tokens={}, "
        "max_running_requests={}, context_len={}, available_gpu_mem={} GB",
        p_.tokens, d_.chunked_prefill_size, c_.args.max_prefill_tokens, p_.max_running_requests,
        ContextLength(c_), Gb(free_));
    return std::move(lines_);
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void Loaded(const char* elapsed) {
    const std::string quant = QuantizationName(*c_.arch);
    std::string text =
        fmt::format("Load weight end. {}type={}, {}avail mem={} GB", elapsed, c_.arch->name,
                    quant.empty() ? "" : "quant=" + quant + ", ", Gb(free_));
    if (c_.profile->log_elapsed) text += fmt::format(", mem usage={} GB.", Gb(f_.weights));
    lines_.push_back(std::move(text));
  }

  // Of this stage's own layers: the slot that sized the pool may be another stage's.
  void States() {
    const StateSlot own = SlotOfStage(c_, f_.layers);
    const int64_t slots = p_.states->slots + c_.profile->state_padding_slots;
    std::string text = fmt::format(
        "Mamba Cache is allocated. max_mamba_cache_size: {}, conv_state size: {}GB, ssm_state "
        "size: {}GB",
        p_.states->slots, Gb(own.convolution * slots), Gb(own.recurrent * slots));
    free_ -= own.bytes() * slots;
    if (p_.states->scratch_gib > 0) {
      const double per_slot =
          p_.states->scratch_gib * (1 << 30) / static_cast<double>(p_.slot.states().count());
      const Bytes recurrent = Scaled(own.recurrent, per_slot);
      const Bytes convolution = Scaled(own.convolution, per_slot);
      text += fmt::format(
          " intermediate_ssm_state_cache size: {}GB intermediate_conv_window_cache size: {}GB",
          Gb(recurrent), Gb(convolution));
      free_ -= recurrent + convolution;
    }
    lines_.push_back(std::move(text));
  }

  void Caches() {
    const TokenCell& cell = p_.cells[f_.stage];
    const Bytes all = p_.KvBytes(f_.stage);
    free_ -= all;
    const bool two = cell.window_layers > 0 && cell.full_layers > 0;
    const Bytes draft = cell.bytes > 0 ? Scaled(all, cell.draft / cell.bytes) : Bytes();
    if (two) {
      Add("Use sliding window memory pool. full_layer_tokens={}, swa_layer_tokens={}", p_.tokens,
          p_.window_tokens);
      const Bytes window = cell.window * (p_.window_tokens + p_.page_size);
      Cache(p_.window_tokens, window);
      Cache(p_.tokens, all - window - draft);
    } else {
      Cache(p_.tokens, all - draft);
    }
    if (draft > Bytes()) Cache(p_.tokens, draft);  // the draft's own pool
  }

  void Cache(int64_t tokens, Bytes bytes) {
    const Architecture& a = *c_.arch;
    std::string text = "KV Cache is allocated. ";
    if (c_.profile->log_kv_dtype) text += fmt::format("dtype: {}, ", TorchName(p_.format));
    text += fmt::format("#tokens: {}, ", tokens);
    if (UsesMla(a)) {
      text += fmt::format("KV size: {} GB", Gb(bytes));
    } else {
      const int64_t values = a.v_head_dim > 0 ? a.v_head_dim : a.head_dim;
      const Bytes keys(bytes.count() / (a.head_dim + values) * a.head_dim);
      text += fmt::format("K size: {} GB, V size: {} GB", Gb(keys), Gb(bytes - keys));
    }
    lines_.push_back(std::move(text));
  }

  void Graphs() {
    std::vector<int64_t> sizes = d_.decode_graphs;
    std::erase_if(sizes, [&](int64_t size) { return size > p_.max_running_requests; });
    Captured(c_.args.is_speculative() ? "verify" : "decode", sizes, f_.decode_graphs);
    Captured("prefill", d_.prefill_graphs, f_.prefill_graphs);
  }

  void Captured(const char* phase, const std::vector<int64_t>& sizes, Bytes bytes) {
    if (sizes.empty() || bytes == Bytes()) return;
    const bool decode = std::string_view(phase) != "prefill";
    if (c_.profile->log_graph_phases) {
      const std::string per_request =
          decode ? fmt::format("num_tokens_per_req={}, ",
                               std::max<int64_t>(1, c_.args.speculative_num_draft_tokens))
                 : "";
      const char* const backend = decode                                         ? "full"
                                  : d_.prefill_graph == PrefillGraph::kBreakable ? "breakable"
                                                                                 : "tc_piecewise";
      Add("Capture target {} CUDA graph begin. backend={}, {}bs=[{}], avail mem={} GB", phase,
          backend, per_request, fmt::join(sizes, ", "), Gb(free_));
    } else if (decode) {
      Add("Capture cuda graph begin. This can take up to several minutes. avail mem={} GB",
          Gb(free_));
    }
    free_ -= bytes;
    if (c_.profile->log_graph_phases) {
      Add("Capture target {} CUDA graph end. elapsed=… s, mem usage={} GB, avail mem={} GB.", phase,
          Gb(bytes), Gb(free_));
    } else if (decode) {
      Add("Capture cuda graph end. Time elapsed: … s. mem usage={} GB. avail mem={} GB.", Gb(bytes),
          Gb(free_));
    }
  }

  const Context& c_;
  const Defaults& d_;
  const Pools& p_;
  const StartupFacts& f_;
  Bytes free_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> StartupLog(const Context& c, const Defaults& d, const Pools& p,
                                    const StartupFacts& f) {
  return Log(c, d, p, f).Write();
}

}  // namespace shardplan::sglang
