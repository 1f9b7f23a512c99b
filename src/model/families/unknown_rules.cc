#include "model/families/unknown_rules.h"

#include <algorithm>

namespace shardplan::families {
namespace {

using Names = std::initializer_list<std::string_view>;

bool IsOneOf(std::string_view text, Names names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

// Which side of a matrix a split divides.
enum class Side { kNone, kOut, kIn };

class Ruler {
 public:
  Ruler(const NameParts& name, DType dtype, const Shape& shape, const Architecture& arch)
      : n_(name), dtype_(dtype), dims_(shape.dims), a_(arch), m_(name.module()) {
    rule_.slice.dim = -1;
    rule_.slice.guessed = true;
    // Kernels pad what is packed; a block of FP8 is never cut, so its scales have to divide
    // (vllm/model_executor/layers/quantization/utils/fp8_utils.py, d29f7f5c).
    rule_.slice.rounds_up =
        Packed() || (!IsWeight(name) && name.suffix != "bias" && name.suffix != "weight_scale_inv");
    rule_.slice.values = ValuesOf();
  }

  TensorRule Find() {
    Choose();
    rule_.slice.guessed |= misfit_;
    return rule_;
  }

 private:
  TensorRule Choose() {
    if (n_.InModule({"rotary_emb", "rotary_pos_emb"}) || m_.ends_with("inv_freq") ||
        m_ == "masked_bias" || (n_.suffix == "bias" && dims_.size() == 4)) {
      return NotLoaded(Role::kLeftover);
    }
    if (n_.draft) return NotLoaded(Role::kDraft);
    if (n_.tower || n_.projector) return Tower();
    if (!n_.HasLayer()) return Outside();
    if (Elements() <= 1) return Recognised(Role::kNorm);
    if (n_.routed) return Experts();
    if (IsNorm()) return Norm();
    if (IsRouter()) return Router();
    if (n_.shared) return Mlp(Role::kSharedExpert, Split::kSharedColumn, Split::kSharedRow);
    const bool mixer = n_.InModule({"mixer"});
    if (InAttention() || mixer) {
      if (IsLinearAttention()) return LinearAttention();
      if (Attention()) return rule_;
    }
    if (n_.InModule({"mlp", "feed_forward", "ffn", "feedforward", "block_sparse_moe", "moe"}) ||
        IsMlpName()) {
      return Mlp(Role::kDenseMlp, Split::kColumn, Split::kRow);
    }
    if (mixer || IsLinearAttention() || n_.InModule({"linear_attn", "mamba", "ssm", "conv"})) {
      return LinearAttention();
    }
    return ByShape(InAttention() ? Role::kAttention : Role::kDenseMlp);
  }

  int64_t Elements() const {
    int64_t n = 1;
    for (const int64_t d : dims_) n = internal::CheckedMul(n, d);
    return n;
  }
  bool Packed() const {
    return n_.suffix == "qweight" || n_.suffix == "weight_packed" || n_.suffix == "blocks" ||
           dtype_ == DType::kU8 || dtype_ == DType::kI32;
  }
  int64_t ValuesOf() const {
    if (!IsWeight(n_)) return n_.suffix == "bias" ? 1 : 0;
    if (dtype_ == DType::kI32) return 8;
    return dtype_ == DType::kU8 ? 2 : 1;
  }
  // A weight whose shape says what it multiplies.
  bool PlainMatrix() const { return IsPlainWeight() && dims_.size() >= 2; }
  bool IsPlainWeight() const { return !Packed() && (n_.suffix == "weight" || n_.suffix.empty()); }
  bool InAttention() const {
    return n_.InModule({"self_attn", "attn", "attention", "self_attention", "mha"});
  }
  bool IsNorm() const {
    return dims_.size() == 1 && (m_.find("norm") != std::string::npos || m_.starts_with("ln"));
  }

  TensorRule NotLoaded(Role role) {
    rule_.role = role;
    rule_.placement = Placement::kNotLoaded;
    rule_.slice.guessed = false;
    return rule_;
  }
  TensorRule Recognised(Role role) {
    rule_.role = role;
    rule_.slice.guessed = false;
    return rule_;
  }

  // Dimensions of output and input; `first` is 1 in a stack of experts.
  int OutDim(int first) const {
    if (IsOneOf(n_.suffix, {"g_idx", "weight_g_idx", "weight_shape"})) return -1;
    if (first == 0 && IsOneOf(n_.suffix, {"qweight", "qzeros", "scales"})) return 1;
    return first;
  }
  int InDim(int first) const {
    if (IsOneOf(n_.suffix, {"bias", "weight_shape"})) return -1;
    if (n_.suffix == "g_idx" || n_.suffix == "weight_g_idx") return 0;
    if (first == 0 && IsOneOf(n_.suffix, {"qweight", "qzeros", "scales"})) return 0;
    // bitsandbytes flattens a weight and its states: every split takes a run of it.
    if (n_.suffix.find("absmax") != std::string::npos || IsFlat()) return 0;
    return dims_.size() > static_cast<size_t>(first) + 1 ? first + 1 : -1;
  }
  bool IsFlat() const {
    return dtype_ == DType::kU8 && n_.suffix == "weight" && dims_.size() == 2 && dims_[1] == 1;
  }

  // The split that divides one side; transposed matrices are told by the hidden size.
  TensorRule Sliced(Role role, Split split, Side side, int first = 0) {
    rule_.role = role;
    rule_.split = split;
    int out = OutDim(first);
    int in = InDim(first);
    if (PlainMatrix() && dims_.size() == static_cast<size_t>(first) + 2) {
      const int64_t a = dims_[static_cast<size_t>(first)];
      const int64_t b = dims_[static_cast<size_t>(first) + 1];
      const bool transposed =
          side == Side::kOut ? a == a_.hidden && b != a_.hidden : b == a_.hidden && a != a_.hidden;
      if (transposed && Transposable()) std::swap(out, in);
      const int narrow = side == Side::kOut ? in : out;
      hidden_side_ = dims_[static_cast<size_t>(narrow)] == a_.hidden;
    } else {
      hidden_side_ = true;  // packed or a companion: the name has to do
      misfit_ = IsPlainWeight() && m_.find("sink") == std::string::npos;
    }
    rule_.slice.dim = side == Side::kOut ? out : in;
    return rule_;
  }
  // Queries of MLA come from a latent, whose width may be anything.
  bool Transposable() const { return a_.mla.kv_lora_rank == 0 || n_.routed || !InAttention(); }

  int64_t SlicedExtent() const {
    const int dim = rule_.slice.dim;
    return dim < 0 || static_cast<size_t>(dim) >= dims_.size() ? 0
                                                               : dims_[static_cast<size_t>(dim)];
  }

  bool Attention() {
    constexpr Role kRole = Role::kAttention;
    const int64_t q = a_.heads * a_.head_dim;
    const int64_t kv = a_.kv_heads * a_.head_dim;
    if (IsOneOf(m_, {"q_a_proj", "kv_a_proj_with_mqa", "kv_a_proj", "wq_a", "wkv_a"})) {
      Recognised(kRole);
      rule_.slice.guessed = PlainMatrix() && dims_[1] != a_.hidden;
    } else if (IsOneOf(m_, {"q_b_proj", "kv_b_proj", "wq_b", "wkv_b"})) {
      Sliced(kRole, Split::kColumn, Side::kOut);
      const int64_t rank =
          m_.find("kv") == std::string::npos ? a_.mla.q_lora_rank : a_.mla.kv_lora_rank;
      rule_.slice.guessed = PlainMatrix() && dims_[1] != rank;
    } else if (IsOneOf(m_, {"q_proj", "wq", "query", "q", "to_q", "q_lin"})) {
      Sliced(kRole, Split::kColumn, Side::kOut);
      rule_.slice.guessed = m_ != "q_proj" && m_ != "wq" && m_ != "query";
      // A gate may stand beside the queries, and latent attention has widths of its own.
      if (PlainMatrix()) rule_.slice.guessed |= !hidden_side_ || SlicedExtent() % q != 0;
      if (PlainMatrix() && a_.mla.kv_lora_rank > 0) rule_.slice.guessed = !hidden_side_;
    } else if (IsOneOf(m_, {"k_proj", "v_proj", "wk", "wv", "key", "value", "k", "v", "to_k",
                            "to_v", "k_lin", "v_lin"})) {
      Sliced(kRole, Split::kKvHeads, Side::kOut);
      rule_.slice.guessed = m_.size() == 1 || m_.starts_with("to_") || m_.ends_with("_lin");
      const bool value = m_.starts_with("v");
      if (PlainMatrix()) {
        const int64_t width = a_.kv_heads * (value ? a_.v_head_dim : a_.head_dim);
        rule_.slice.guessed |= !hidden_side_ || SlicedExtent() != width;
      }
    } else if (IsOneOf(m_, {"qkv_proj", "c_attn", "wqkv", "query_key_value", "w_pack", "qkv"})) {
      Sliced(kRole, Split::kColumn, Side::kOut);
      rule_.slice.parts = {{Split::kColumn, q}, {Split::kKvHeads, kv}, {Split::kKvHeads, kv}};
      if (PlainMatrix()) rule_.slice.guessed = !hidden_side_ || SlicedExtent() != q + 2 * kv;
      if (!PlainMatrix()) rule_.slice.guessed = (q + 2 * kv) % std::max<int64_t>(1, SlicedExtent());
      if (rule_.slice.guessed) rule_.slice.parts.clear();
    } else if (IsOneOf(m_, {"o_proj", "wo", "dense", "c_proj", "out_proj", "proj", "o", "to_out",
                            "out_lin", "wo_b"})) {
      Sliced(kRole, Split::kRow, Side::kIn);
      rule_.slice.guessed = IsOneOf(m_, {"proj", "o", "to_out", "out_lin", "wo_b"});
      if (PlainMatrix()) rule_.slice.guessed |= !hidden_side_;
      if (PlainMatrix() && a_.mla.kv_lora_rank == 0) {
        rule_.slice.guessed |= SlicedExtent() != a_.heads * a_.v_head_dim;
      }
    } else if (dims_.size() == 1 && IsOneOf(m_, {"sinks", "attention_sink_bias"})) {
      Sliced(kRole, Split::kColumn, Side::kOut);
      rule_.slice.guessed = dims_[0] != a_.heads;
    } else {
      return false;
    }
    return true;
  }

  bool IsOutName() const {
    if (n_.routed && m_ == "linear") return true;  // Grok's gate
    return IsOneOf(m_, {"gate_proj", "up_proj", "gate_up_proj", "w1", "w3", "fc1", "c_fc", "wi",
                        "wi_0", "wi_1", "dense_h_to_4h", "linear_fc1", "fc_in", "w13", "w1w3",
                        "linear_v", "input_linear", "gate_and_up_proj"});
  }
  bool IsInName() const {
    return (n_.routed && m_ == "linear_1") ||
           IsOneOf(m_, {"down_proj", "w2", "fc2", "c_proj", "dense_4h_to_h", "linear_fc2", "fc_out",
                        "wo", "linear_2", "output_linear"});
  }
  bool IsMlpName() const {
    return IsOneOf(m_, {"gate_proj", "up_proj", "gate_up_proj", "down_proj", "fc1", "fc2", "c_fc",
                        "dense_h_to_4h", "dense_4h_to_h"});
  }

  // The shape outweighs the name: Qwen's first w2 is what others call w3.
  TensorRule Mlp(Role role, Split column, Split row, int first = 0) {
    const bool out_name = IsOutName();
    const bool in_name = IsInName();
    if (!out_name && !in_name) {
      if (m_ == "shared_expert_gate") return Recognised(role);
      return ByShape(role, column, row, first);
    }
    bool out = out_name;
    if (PlainMatrix() && dims_.size() == static_cast<size_t>(first) + 2) {
      const int64_t a = dims_[static_cast<size_t>(first)];
      const int64_t b = dims_[static_cast<size_t>(first) + 1];
      const bool one = (a == a_.hidden) != (b == a_.hidden);
      const bool stack_or_conv1d = first > 0 || m_.starts_with("c_");
      if (one && !stack_or_conv1d) out = b == a_.hidden;
    }
    Sliced(role, out ? column : row, out ? Side::kOut : Side::kIn, first);
    rule_.slice.guessed = PlainMatrix() && !hidden_side_;
    return rule_;
  }

  TensorRule Experts() {
    constexpr Role kRole = Role::kRoutedExpert;
    if (IsNorm()) return Guessed(kRole);
    const bool indexed = std::count(n_.holes.begin(), n_.holes.end(), Hole::kExpert) > 0;
    int first = 0;
    if (!indexed) {
      const bool counts = dims_.size() >= 2 && dims_[0] == a_.moe.experts;
      if (!counts) return ByShape(kRole, Split::kExpertGate, Split::kExpertDown, 0);
      rule_.slice.stacked = true;
      first = 1;
    }
    const Split column = m_ == "up_proj" || m_ == "w3" ? Split::kExpertUp : Split::kExpertGate;
    Mlp(kRole, column, Split::kExpertDown, first);
    if (!indexed) rule_.slice.stacked = true;
    if (rule_.split == Split::kReplicated) rule_.split = Split::kExpertGate;  // whole, by EP
    return rule_;
  }

  bool IsRouter() const {
    const bool named = IsOneOf(m_, {"gate", "router", "wg", "classifier", "expert_gate"}) ||
                       n_.InModule({"router"}) || m_.ends_with("correction_bias") ||
                       m_ == "expert_bias";
    return named && !dims_.empty() && a_.moe.experts > 0 && dims_[0] == a_.moe.experts;
  }
  TensorRule Router() {
    Recognised(Role::kRouter);
    rule_.slice.guessed = dims_.size() > 1 && dims_[1] != a_.hidden;
    return rule_;
  }

  TensorRule Norm() {
    const int64_t width = dims_[0];
    const bool attention = InAttention();
    Recognised(attention ? Role::kAttention : Role::kNorm);
    if (!attention || width == a_.head_dim) {
      rule_.slice.guessed = width != a_.hidden && width != a_.head_dim;
      return rule_;
    }
    // One over all heads is divided with them (vllm/model_executor/models/minimax_m2.py).
    const bool latent = width == a_.mla.q_lora_rank || width == a_.mla.kv_lora_rank;
    if (latent || width == a_.hidden) {
      const bool queries = m_.starts_with("q_norm") || m_.starts_with("k_norm");
      if (latent || !queries) return rule_;
    }
    rule_.slice.dim = 0;
    if (m_.starts_with("q") && width == a_.heads * a_.head_dim) {
      rule_.split = Split::kColumn;
    } else if (m_.starts_with("k") && width == a_.kv_heads * a_.head_dim) {
      rule_.split = Split::kKvHeads;
    } else {
      rule_.slice.dim = -1;
      rule_.slice.guessed = true;
    }
    return rule_;
  }

  bool IsLinearAttention() const {
    return m_.starts_with("in_proj") || m_.ends_with("conv1d") ||
           IsOneOf(m_, {"a_log", "dt_bias", "dt_proj", "x_proj", "d", "b_proj", "f_a_proj",
                        "f_b_proj", "g_a_proj", "g_b_proj"});
  }
  TensorRule LinearAttention() {
    constexpr Role kRole = Role::kLinearAttention;
    const bool narrow = m_.ends_with("_a_proj");
    if (narrow) return Guessed(kRole);
    const bool row = m_ == "out_proj" || m_ == "o_proj" || m_ == "x_proj";
    Sliced(kRole, row ? Split::kRow : Split::kColumn, row ? Side::kIn : Side::kOut);
    rule_.slice.guessed = true;
    return rule_;
  }

  TensorRule Guessed(Role role) {
    rule_.role = role;
    rule_.slice.guessed = true;
    return rule_;
  }

  TensorRule ByShape(Role role, Split column = Split::kColumn, Split row = Split::kRow,
                     int first = 0) {
    Guessed(role);
    if (dims_.size() < static_cast<size_t>(first) + 2 || !PlainMatrix()) return rule_;
    const int64_t out = dims_[static_cast<size_t>(first)];
    const int64_t in = dims_[static_cast<size_t>(first) + 1];
    if (in == a_.hidden) {
      Sliced(role, column, Side::kOut, first);
    } else if (out == a_.hidden) {
      Sliced(role, row, Side::kIn, first);
    }
    rule_.slice.guessed = true;
    return rule_;
  }

  TensorRule Outside() {
    const bool table = dims_.size() == 2 && a_.vocabulary > 0 &&
                       (dims_[0] == a_.vocabulary || dims_[1] == a_.vocabulary);
    const bool head = IsOneOf(m_, {"lm_head", "embed_out", "output", "output_layer", "head"});
    if (table && dims_[0] == a_.vocabulary) {
      rule_.split = Split::kVocabulary;
      rule_.slice.dim = 0;
    }
    rule_.slice.on_every_stage = true;
    const bool first = m_.find("emb") != std::string::npos || IsOneOf(m_, {"wte", "wpe"}) ||
                       n_.InModule({"embed_tokens", "word_embeddings", "embeddings"});
    if (head) {
      Recognised(Role::kHead);
      rule_.placement = Placement::kLastStage;
      rule_.slice.guessed = !table && PlainMatrix();
    } else if (first) {
      Recognised(Role::kEmbedding);
      rule_.placement = Placement::kFirstStage;
      rule_.slice.guessed =
          PlainMatrix() && !table && m_ != "wpe" && m_.find("position") == std::string::npos;
    } else if (IsNorm()) {
      Recognised(Role::kNorm);
      rule_.placement = Placement::kLastStage;
      rule_.slice.guessed = dims_[0] != a_.hidden;
    } else {
      Guessed(table ? Role::kHead : Role::kNorm);
      rule_.placement = Placement::kEveryStage;
    }
    return rule_;
  }

  TensorRule Tower() {
    const Role role = n_.projector ? Role::kProjector : Role::kVision;
    Guessed(role);
    rule_.placement = Placement::kEveryStage;
    if (n_.projector || n_.holes.empty()) return rule_;
    const bool row = IsInName() || IsOneOf(m_, {"proj", "o_proj", "out_proj", "wo", "dense"});
    const bool column = IsOutName() || m_.find("qkv") != std::string::npos ||
                        IsOneOf(m_, {"q_proj", "k_proj", "v_proj", "wq", "wk", "wv"});
    rule_.role = role;
    if (row) {
      rule_.split = Split::kVisionRow;
      rule_.slice.dim = InDim(0);
    } else if (column) {
      rule_.split = Split::kVisionColumn;
      rule_.slice.dim = OutDim(0);
    }
    return rule_;
  }

  const NameParts& n_;
  const DType dtype_;
  const std::vector<int64_t>& dims_;
  const Architecture& a_;
  const std::string& m_;
  TensorRule rule_;
  bool misfit_ = false;       // a weight without the dimensions that its name promises
  bool hidden_side_ = false;  // the side that the split leaves alone is the hidden size
};

}  // namespace

bool IsWeight(const NameParts& name) {
  return name.suffix.empty() || name.suffix == "weight" || name.suffix == "qweight" ||
         name.suffix == "weight_packed" || name.suffix == "blocks";
}

TensorRule RuleFor(const NameParts& name, DType dtype, const Shape& shape,
                   const Architecture& arch) {
  return Ruler(name, dtype, shape, arch).Find();
}

}  // namespace shardplan::families
