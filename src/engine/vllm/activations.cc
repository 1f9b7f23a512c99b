#include "engine/vllm/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "engine/vllm/all2all.h"
#include "engine/vllm/sparse_attention.h"
#include "engine/vllm/weights.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

// Terms are in bytes; products of bounded factors, so plain 64-bit arithmetic is enough.
class PeakModel {
 public:
  PeakModel(const Context& context, int64_t stage)
      : c_(context),
        a_(*context.arch),
        r_(context.resolved),
        stage_(context.stages[static_cast<size_t>(stage)]),
        stage_index_(stage),
        t_(r_.max_num_batched_tokens),
        s_(std::min(r_.max_num_seqs, r_.max_num_batched_tokens)),
        tp_(context.sizes.tp),
        h_(2 * t_ * a_.hidden) {
    residual_ = h_ * a_.residual_streams;
    // Eager Python keeps the caller's reference to the last output.
    outer_ = r_.compiled ? 0 : h_ * a_.residual_streams;
    if (a_.attn_res_block > 0 && HasBlockWriter()) residual_ = 2 * h_;
  }

  ActivationPeak Compute() {
    ActivationPeak peak;
    peak.blas_workspace = Bytes((c_.gpu->capability >= 90 ? 32 : 8) * kMiB);
    peak.pipeline_inputs = Bytes(PipelineInputs());
    if (a_.attn_res_block > 0) {
      peak.residual_bank = Bytes(h_ * CeilDiv(stage_.end(), a_.attn_res_block));
    }
    peak.encoder_outputs = Bytes(EncoderOutputs());
    peak.input_embeddings = Bytes(InputEmbeddings());
    const Bytes fixed = peak.blas_workspace + peak.pipeline_inputs + peak.residual_bank +
                        peak.encoder_outputs + peak.input_embeddings;

    if (EncoderPhase() > 0) {
      Add("encoder", "--language-model-only",
          {{"encoded items",
            c_.Say("{} tokens of {} patches, heads {}", EncoderTokens(),
                   a_.vision.patches_per_token, r_.vision_sharded ? "sliced" : "whole"),
            EncoderPhase()}});
    }
    AddDense();
    AddMoe(&peak);
    Add("attention", kForward,
        Stream({{"projections and output", AttentionText(), Attention()}, HeldWorkspace()}));
    const bool last = stage_index_ + 1 == c_.sizes.pp;
    const SamplerUnits units = last ? Sampler() : SamplerUnits{};
    const int64_t logits_row = 4 * s_ * a_.vocabulary;
    const int64_t keep = h_ + 4 * s_ * a_.hidden + workspace_;
    auto sampler = [&](double n) {
      return keep + static_cast<int64_t>(std::llround(n * static_cast<double>(logits_row)));
    };
    if (last) {
      const Term hidden{"hidden states of the batch", Rows(t_, a_.hidden), h_};
      const Term chosen{"those of the sampled rows, twice", "2 × " + Rows(s_, a_.hidden),
                        4 * s_ * a_.hidden};
      Add("sampler", kSampling,
          {hidden,
           chosen,
           {"logits and what the dummy sampler makes of them",
            c_.Say("{:.4g} × {} rows × {} × 4 B", units.central, s_, a_.vocabulary),
            sampler(units.central) - keep},
           HeldWorkspace()});
      Add("logits", kSampling,
          {hidden,
           chosen,
           {"logits", Rows(s_, a_.vocabulary), logits_row / 2},
           {"the rank's slice of them", Rows(s_, a_.vocabulary) + c_.Say(" ÷ {}", tp_),
            tp_ > 1 ? 2 * s_ * a_.vocabulary / tp_ : 0},
           HeldWorkspace()});
    }

    int64_t forward = 0;
    for (const Phase& phase : phases_) {
      const bool is_forward =
          phase.name != "sampler" && phase.name != "logits" && phase.name != "encoder";
      if (is_forward) forward = std::max(forward, phase.bytes.count());
    }
    const auto binding =
        std::max_element(phases_.begin(), phases_.end(),
                         [](const Phase& a, const Phase& b) { return a.bytes < b.bytes; });
    const int64_t encoder = EncoderPhase();
    const int64_t sampler_low = last ? sampler(units.low) : 0;
    const int64_t sampler_high = last ? sampler(units.high) : 0;
    // The last of the live copies is where eager Python and the compiler differ; the attention
    // residuals' one was observed.
    const int64_t unsure = a_.attn_res_block > 0 ? 0 : h_;
    const int64_t low = std::max({forward - unsure, sampler_low, encoder * 6 / 10});
    const int64_t high =
        std::max({forward + forward / 20 + 2 * h_, sampler_high, encoder * 18 / 10});
    peak.bytes = Range(fixed + Bytes(low), fixed + binding->bytes, fixed + Bytes(high));
    peak.binding = binding->name;
    peak.flag = binding->flag;
    if (binding->name != "sampler" && binding->name != "logits") {
      peak.per_token =
          Bytes((fixed + binding->bytes - peak.blas_workspace).count() / std::max<int64_t>(t_, 1));
    }
    peak.phases = phases_;
    return peak;
  }

 private:
  struct SamplerUnits {
    double low = 0;
    double central = 0;
    double high = 0;
  };

  static constexpr const char* kForward = "--max-num-batched-tokens";
  static constexpr const char* kSampling = "--max-num-seqs";

  struct Term {
    std::string_view name;
    std::string rule;
    int64_t bytes = 0;
  };

  void Add(std::string name, std::string flag, const std::vector<Term>& terms) {
    Phase phase{std::move(name), Bytes(), std::move(flag), {}};
    for (const Term& term : terms) {
      if (term.bytes == 0) continue;
      phase.bytes += Bytes(term.bytes);
      if (c_.figures_only) continue;
      phase.terms.push_back({std::string(term.name), term.rule, Bytes(term.bytes)});
    }
    phases_.push_back(std::move(phase));
  }

  // bf16 rows.
  std::string Rows(int64_t rows, int64_t width) const {
    return c_.Say("{} × {} × 2 B", rows, width);
  }

  // What every forward phase has, before its own terms.
  std::vector<Term> Stream(std::vector<Term> own) const {
    const std::string rows = Rows(t_, a_.hidden);
    std::vector<Term> terms = {
        {"residual stream", c_.Say("{} × {}", residual_ / std::max<int64_t>(h_, 1), rows),
         residual_},
        {"the caller's last output", c_.Say("{} × {}", outer_ / std::max<int64_t>(h_, 1), rows),
         outer_}};
    terms.insert(terms.end(), std::make_move_iterator(own.begin()),
                 std::make_move_iterator(own.end()));
    return terms;
  }

  Term HeldWorkspace() const {
    return {"workspace that is never released", workspace_rule_, workspace_};
  }

  std::string AttentionText() const {
    if (a_.has_kind(AttentionKind::kMla)) {
      return c_.Say("{} tokens, {} heads a rank, latents {} and {}", t_, a_.heads / tp_,
                    a_.mla.q_lora_rank, a_.mla.latent_width());
    }
    return c_.Say("{} tokens, {} heads and {} KV heads of {} a rank", t_, a_.heads / tp_,
                  std::max<int64_t>(1, a_.kv_heads / tp_), a_.head_dim);
  }

  // A layer that starts a new attention-residual block while the model's loop holds the old sum.
  bool HasBlockWriter() const {
    const int64_t block = a_.attn_res_block;
    for (int64_t i = RoundUp(stage_.first, block); i < stage_.end(); i += block) {
      if (i >= a_.moe.first_dense) return true;
    }
    return false;
  }

  int64_t PipelineInputs() const {
    if (stage_index_ == 0) return 0;
    const int64_t blocks = a_.attn_res_block > 0 ? CeilDiv(stage_.first, a_.attn_res_block) : 1;
    return h_ * (1 + blocks);
  }

  // What the profile's dummy batch of items encodes: at least one item, whatever the batch holds,
  // and as many as fit. Where the item's size is not known: an eighth of the batch stays unused.
  int64_t EncoderTokens() const {
    if (!r_.vision_on_device) return 0;
    const int64_t item = a_.vision.item_tokens;
    if (item == 0) return t_ * 7 / 8;
    return std::max<int64_t>(t_ / item, 1) * item;
  }

  // Embedded inputs of multimodal models, made before the weights are loaded: only a budget that
  // goes by free memory sees them. Source: v1/worker/gpu_model_runner.py (d29f7f5c).
  int64_t InputEmbeddings() const {
    if (!r_.vision_on_device || !c_.profile->free_memory_budget) return 0;
    return stage_index_ > 0 && r_.v2_runner ? 0 : h_;
  }

  int64_t EncoderOutputs() const {
    if (stage_index_ > 0 && r_.v2_runner) return 0;
    return 2 * a_.hidden * EncoderTokens();
  }

  int64_t EncoderPhase() const {
    if (EncoderOutputs() == 0) return 0;
    const int64_t part = r_.vision_sharded ? tp_ : 1;
    int64_t patches = EncoderTokens() * a_.vision.patches_per_token;
    if (part == 1 && tp_ > 1) patches /= tp_;  // data parallel over the TP ranks
    const int64_t mlp = a_.vision.gated_mlp ? 3 : 2;
    const int64_t wide = std::max(6 * a_.vision.hidden, mlp * a_.vision.intermediate) / part;
    return patches * 2 * (2 * a_.vision.hidden + wide);
  }

  bool HasDenseLayer() const {
    if (a_.moe.dense_beside) return true;
    for (int64_t layer = stage_.first; layer < stage_.end(); ++layer) {
      if (!a_.is_moe(layer)) return true;
    }
    return false;
  }

  void AddDense() {
    if (a_.dense_intermediate == 0 || !HasDenseLayer()) return;
    const int64_t local = a_.dense_intermediate / tp_;
    const bool fp8 = a_.quantization == "fp8" && c_.gpu->capability >= 89;
    const int64_t gate_up = 6 * t_ * local + (r_.compiled ? 0 : h_);
    const int64_t down = t_ * local * (fp8 ? 3 : 2) + h_ * (tp_ > 1 ? 2 : 1);
    Add("dense_mlp", kForward,
        Stream({{"gate, up and down",
                 gate_up >= down ? "3 × " + Rows(t_, local) + (r_.compiled ? "" : " + the input")
                                 : Rows(t_, local) + " and the outputs",
                 std::max(gate_up, down)}}));
  }

  int64_t Attention() const {
    const int64_t heads = a_.heads / tp_;
    int64_t out = 0;
    int64_t in = 0;
    if (a_.has_kind(AttentionKind::kMla)) {
      const int64_t q = 2 * t_ * heads * (a_.mla.nope_head_dim + a_.mla.rope_head_dim);
      out = 2 * t_ * heads * a_.mla.v_head_dim;
      in = 2 * t_ * (a_.mla.q_lora_rank + a_.mla.latent_width()) + 2 * q + out;
    } else {
      const int64_t kv_heads = std::max<int64_t>(1, a_.kv_heads / tp_);
      const int64_t q = 2 * t_ * heads * a_.head_dim;
      const int64_t kv = 2 * t_ * kv_heads * (a_.head_dim + a_.v_head_dim);
      out = 2 * t_ * heads * a_.v_head_dim;
      in = 2 * (q + kv) + out;
    }
    return SparseAttentionPhase(
        c_, std::max(h_ + in, out + h_ * (tp_ > 1 ? 2 : 1) + (r_.compiled ? 0 : h_)));
  }

  // Whether the kernel takes its buffers through the modular interface. Source: fused_moe
  // (#26012 and later); Marlin's WNA16 kernel came last.
  bool IsModular() const {
    const bool wna16 =
        a_.quantization == "int4" || a_.quantization == "awq" || a_.quantization == "gptq";
    if (c_.profile->modular_moe == ModularMoe::kAllButWna16) {
      return !(wna16 && r_.moe_backend == "marlin");
    }
    return c_.profile->modular_moe == ModularMoe::kAll;
  }

  // gpt-oss's own Triton kernels on Hopper.
  bool HasTritonKernels() const { return a_.quantization == "mxfp4" && r_.moe_backend == "triton"; }

  // 32 times the bytes of one quantized activation: FP8 has a scale per 128 values in fp32, NVFP4
  // one per 16 in FP8.
  int64_t ActivationSize() const {
    if (a_.quantization == "fp8" || a_.quantization == "mxfp4") return 33;
    return a_.quantization == "nvfp4" ? 18 : 64;
  }

  // The two intermediate buffers of one fused-MoE call, per backend
  // (fused_moe/experts/*.py:workspace_shapes; d29f7f5c).
  int64_t MoeWorkspace(int64_t tokens, int64_t k, int64_t n, int64_t local_experts) const {
    int64_t rows = tokens * a_.moe.top_k;
    const std::string& backend = r_.moe_backend;
    const int64_t act = ActivationSize();
    if (HasTritonKernels()) return rows * (n + k) * 2;
    if (backend == "deep_gemm") rows = RoundUp(rows + local_experts * 127, 128);
    if (backend == "triton" || backend == "cutlass" || backend == "deep_gemm" ||
        backend == "marlin") {
      const int64_t down = IsModular() || backend == "deep_gemm" ? std::max(n, k) : n;
      return rows * (down + std::max(2 * n, k)) * 2;
    }
    if (backend == "humming") {
      return (std::max(tokens * k, rows * n) + rows * std::max(k, 2 * n)) * 2;
    }
    if (backend == "flashinfer_cutlass") return rows * ((k + n) * act / 32 + 4 * n + 2 * k);
    // flashinfer_trtllm: each expert's rows are padded to a tile; NVFP4 fuses the activation.
    rows += local_experts * 127;
    const int64_t gate_up = act > 32 ? 2 * n * act / 32 : 0;
    return rows * (gate_up + n * act / 32 + 2 * k) + tokens * k * act / 32;
  }

  void AddMoe(ActivationPeak* peak) {
    if (a_.moe.experts == 0 || stage_.end() <= a_.moe.first_dense) return;
    const ShardingRules rules = RulesFor(c_, 0);
    const int64_t k = rules.expert_width;
    const int64_t n = rules.expert_intermediate;
    const std::string& backend = r_.moe_backend;
    const bool triton_like = backend == "triton" || backend == "deep_gemm" || backend == "cutlass";
    int64_t tokens = t_ * (c_.sizes.expert_parallel ? c_.sizes.dp : 1);
    const int64_t chunk = c_.profile->moe_chunk_tokens;
    if (chunk > 0 && triton_like) tokens = std::min(tokens, chunk);
    int64_t ws = MoeWorkspace(tokens, k, n, rules.local_experts);
    const bool batched = TakesBatches(r_.all2all_backend, c_.sizes);
    if (batched) {
      // Every local expert has room for a whole batch of every rank.
      ws = rules.local_experts * BatchedTokens(c_) * c_.sizes.expert_ranks() *
           (std::max(n, k) + n) * 2;
    }
    peak->moe_workspace = Bytes(ws);
    // The workspace manager never shrinks: it lies under every later phase
    // (v1/worker/workspace.py, from v0.12).
    const bool managed = c_.profile->workspace_manager && IsModular() && !HasTritonKernels() &&
                         (triton_like || batched || backend == "marlin" || backend == "humming");
    const int64_t sparse = SparseWorkspace(c_);
    workspace_ = std::max(managed ? ws : 0, sparse);
    const int64_t held = managed ? workspace_ : ws + sparse;
    const std::string kernel =
        c_.Say("{}: {} tokens × {} experts, {} and {} wide", backend, tokens, a_.moe.top_k, k, n);
    workspace_rule_ = managed && ws >= sparse
                          ? kernel
                          : c_.Say(
                                "keys and latents that sparse attention gathers of a window "
                                "of {}",
                                r_.max_model_len);
    const int64_t router = 4 * t_ * a_.moe.experts + 12 * t_ * a_.moe.top_k;
    const int64_t shared = a_.moe.shared_intermediate > 0 ? h_ : 0;
    const int64_t beside = a_.moe.dense_beside ? h_ : 0;
    const int64_t latent = a_.moe.latent > 0 ? 2 * t_ * k : 0;
    const bool in_place =
        shared == 0 && (backend == "triton" || backend == "deep_gemm") && !HasTritonKernels();
    const int64_t routed_out = in_place ? 0 : 2 * t_ * k;
    const int64_t act = ActivationSize();
    const bool quantizes = act < 64 && triton_like && !HasTritonKernels();
    const int64_t quant = quantizes ? (tokens * k + tokens * a_.moe.top_k * n) * act / 32 : 0;
    const std::string rows = Rows(t_, a_.hidden);
    std::vector<Term> body = {
        {"input", rows, h_},
        {"latent input", Rows(t_, k), latent},
        {"router", c_.Say("{} × ({} × 4 + {} × 12) B", t_, a_.moe.experts, a_.moe.top_k), router},
        {"output of shared experts", rows, shared},
        {"output of the dense MLP", rows, beside},
        {"output of routed experts", Rows(t_, k), routed_out}};
    std::vector<Term> running = body;
    running.push_back({"quantized inputs",
                       c_.Say("{} × ({} + {} × {}) × {}/32 B", tokens, k, a_.moe.top_k, n, act),
                       quant});
    running.push_back({"workspace", kernel, held});
    Add("moe", kForward, Stream(std::move(running)));
    body.push_back({"latent after its norm", Rows(t_, k), latent});
    body.push_back({"all-reduce result", rows, tp_ > 1 ? h_ : 0});
    body.push_back(HeldWorkspace());
    Add("moe_combine", kForward, Stream(std::move(body)));
  }

  // Peak of the dummy sampler in copies of the fp32 logits, the bf16 ones included. The V2 runner's
  // dummy call has no filter; V1 runs the Triton top-k/top-p one, or sorts: bf16 logits ½, fp32 1,
  // sorted values 1, int64 indices 2 and back 2, radix scratch 3 (fewer than 128 rows take another
  // sort with 3 more). The sort's figures were measured on an H200 (torch 2.11).
  SamplerUnits Sampler() const {
    if (r_.v2_runner) return {1.5, 1.5, 3.5};
    const double sort = s_ >= 128 ? 9.5 : 12.55;
    // FlashInfer's sampler keeps the probabilities instead.
    if (c_.profile->sampler == SamplerPath::kSort) return {2.5, 2.5, sort};
    if (c_.profile->sampler == SamplerPath::kSortNative) return {2.5, sort, sort};
    const int64_t rows = std::min<int64_t>(c_.gpu->multiprocessors, s_);
    const double share = s_ >= 8 ? static_cast<double>(rows) / static_cast<double>(s_) : 8.0;
    const bool processed = c_.settings.logprobs_mode.value_or("").starts_with("processed");
    const double base = 3.5 + share + (processed ? 1 : 0);
    return {base - 0.5, base, base + 1.0};
  }

  const Context& c_;
  const Architecture& a_;
  const Resolved& r_;
  const StageRange stage_;
  const int64_t stage_index_;
  const int64_t t_;  // batched tokens
  const int64_t s_;  // rows of logits
  const int64_t tp_;
  const int64_t h_;  // one bf16 copy of the residual stream
  int64_t residual_ = 0;
  int64_t outer_ = 0;
  int64_t workspace_ = 0;
  std::string workspace_rule_;
  std::vector<Phase> phases_;
};

}  // namespace

ActivationPeak ComputeActivations(const Context& context, int64_t stage) {
  return PeakModel(context, stage).Compute();
}

}  // namespace shardplan::vllm
