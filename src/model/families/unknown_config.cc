#include "model/families/unknown_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/families/decoder_parts.h"
#include "shardplan/base/units.h"

namespace shardplan::families {
namespace {

using Keys = std::initializer_list<std::string_view>;

constexpr int64_t kMaxDim = int64_t{1} << 24;
constexpr int64_t kWindow = 32'768;  // where no key tells how far positions go

// The value of the first key that holds a number in its bounds; zero otherwise.
int64_t First(const ConfigReader& config, Keys keys, int64_t high = kMaxDim) {
  for (const std::string_view key : keys) {
    ConfigReader trial = config;
    const int64_t value = trial.IntOr(key, 1, high, 0);
    if (trial.ok() && value > 0) return value;
  }
  return 0;
}

bool Flag(const ConfigReader& config, std::string_view key, bool absent) {
  ConfigReader trial = config;
  const bool value = trial.BoolOr(key, absent);
  return trial.ok() ? value : absent;
}

// The part of a config that speaks of the decoder.
ConfigReader Decoder(const ConfigReader& config) {
  ConfigReader outer = config;
  for (const std::string_view key : {"text_config", "llm_config", "language_config",
                                     "language_model_config", "thinker_config"}) {
    ConfigReader trial = outer;
    const ConfigReader inner = trial.ObjectOr(key);
    if (trial.ok() && !inner.json().empty()) {
      return key == "thinker_config" ? Decoder(inner) : inner;
    }
  }
  return outer;
}

const SeenTensor* Find(const std::vector<SeenTensor>& seen, Keys modules, bool in_stack) {
  for (const SeenTensor& tensor : seen) {
    const NameParts& n = tensor.name;
    const bool fits = n.HasLayer() == in_stack && !n.tower && !n.projector && !n.draft &&
                      n.suffix == "weight" && !tensor.shape.dims.empty();
    if (fits && std::find(modules.begin(), modules.end(), n.module()) != modules.end()) {
      return &tensor;
    }
  }
  return nullptr;
}

int64_t Extent(const SeenTensor* tensor, size_t dim) {
  return tensor && dim < tensor->shape.dims.size() ? tensor->shape.dims[dim] : 0;
}

class NumberReader {
 public:
  NumberReader(const ConfigReader& outer, const std::vector<SeenTensor>& seen)
      : outer_(outer), config_(Decoder(outer)), seen_(seen) {}

  UnknownNumbers Read() {
    Architecture& a = out_.arch;
    a.name = ArchitectureName(outer_);
    a.trust_remote_code = outer_.Has("auto_map");
    a.dtype = ReadDType();
    out_.layers = First(config_, {"num_hidden_layers", "n_layer", "n_layers", "num_layers"},
                        int64_t{1} << 40);
    ReadWidths(&a);
    ReadHeads(&a);
    ReadMla(&a);
    ReadExperts(&a);
    ReadGdn(&a);
    ReadVision(&a);
    a.dense_intermediate = First(config_, {"intermediate_size", "ffn_hidden_size", "n_inner",
                                           "ffn_dim", "feed_forward_hidden_size"});
    a.window = First(config_, {"sliding_window", "sliding_window_size"}, int64_t{1} << 32);
    if (!Flag(config_, "use_sliding_window", true)) a.window = 0;
    ConfigReader trial = config_;
    std::vector<std::string> types = trial.StringListOr("layer_types", {});
    if (trial.ok()) out_.layer_types = std::move(types);
    return std::move(out_);
  }

 private:
  void Note(const char* what, int64_t value, const char* how) {
    out_.from.push_back(fmt::format("{} {} {}", what, FormatCount(value), how));
  }
  // What the config says, or else a shape, or else a default.
  int64_t Or(int64_t given, const char* what, int64_t shape, int64_t assumed) {
    if (given > 0) return given;
    if (shape > 0 && shape <= kMaxDim) {
      Note(what, shape, "from shapes");
      return shape;
    }
    if (assumed > 0) Note(what, assumed, "assumed");
    return assumed;
  }

  DType ReadDType() {
    for (const ConfigReader& reader : {outer_, config_}) {
      ConfigReader trial = reader;
      if (!trial.Has("dtype") && !trial.Has("torch_dtype")) continue;
      const DType dtype = ModelDType(trial);
      if (trial.ok()) return dtype;
    }
    const SeenTensor* table = Embedding();
    if (!table) return DType::kBF16;
    const bool plain = table->dtype == DType::kF16 || table->dtype == DType::kF32;
    out_.from.push_back(
        fmt::format("dtype {} from the embedding", NameOf(plain ? table->dtype : DType::kBF16)));
    return plain ? table->dtype : DType::kBF16;
  }

  const SeenTensor* Embedding() const {
    const SeenTensor* table = Find(seen_,
                                   {"embed_tokens", "wte", "word_embeddings", "tok_embeddings",
                                    "embed_in", "embeddings", "embedding", "embed"},
                                   false);
    return table && table->shape.dims.size() == 2 ? table : nullptr;
  }

  void ReadWidths(Architecture* a) {
    const SeenTensor* table = Embedding();
    a->hidden = Or(First(config_, {"hidden_size", "n_embd", "d_model", "model_dim", "dim"}),
                   "hidden_size", Extent(table, 1), 0);
    a->vocabulary = Or(First(config_, {"vocab_size", "padded_vocab_size", "n_vocab"}), "vocab_size",
                       Extent(table, 0), 0);
    // A table that was padded or grown says how many rows there are.
    if (table && Extent(table, 1) == a->hidden) a->vocabulary = Extent(table, 0);
    a->max_positions = First(config_,
                             {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
                              "max_sequence_length", "n_ctx"},
                             int64_t{1} << 32);
    if (a->max_positions == 0) {
      a->max_positions = kWindow;
      Note("max_position_embeddings", kWindow, "assumed");
    }
    const bool stored =
        Find(seen_, {"lm_head", "embed_out", "output", "output_layer", "head"}, false) != nullptr;
    a->tied_embeddings = !stored || Flag(config_, "tie_word_embeddings", false) ||
                         Flag(outer_, "tie_word_embeddings", false);
  }

  void ReadHeads(Architecture* a) {
    const int64_t q = Extent(Find(seen_, {"q_proj", "wq", "query"}, true), 0);
    const int64_t k = Extent(Find(seen_, {"k_proj", "wk", "key"}, true), 0);
    int64_t dim = First(config_, {"head_dim", "head_size", "attention_head_dim", "kv_channels"});
    int64_t heads = First(config_, {"num_attention_heads", "n_head", "n_heads", "num_heads"});
    const int64_t norm = Extent(Find(seen_, {"q_norm", "q_layernorm"}, true), 0);
    if (heads == 0) {
      if (dim == 0) dim = norm > 0 && norm < q ? norm : a->hidden % 128 == 0 ? 128 : 64;
      heads = Or(0, "num_attention_heads", q > 0 && q % dim == 0 ? q / dim : 0,
                 std::max<int64_t>(1, a->hidden / dim));
    }
    if (dim == 0 && a->hidden % heads == 0) dim = a->hidden / heads;
    a->heads = heads;
    a->head_dim = dim > 0 ? dim : Or(0, "head_dim", q % heads == 0 ? q / heads : 0, 128);
    int64_t kv = First(config_, {"num_key_value_heads", "n_kv_heads", "num_kv_heads", "n_head_kv",
                                 "multi_query_group_num"});
    if (kv == 0 && Flag(config_, "multi_query", false)) kv = 1;
    a->kv_heads = kv > 0 ? kv
                  : k > 0 && k % a->head_dim == 0 && k / a->head_dim < heads
                      ? Or(0, "num_key_value_heads", k / a->head_dim, heads)
                      : heads;
    a->v_head_dim = First(config_, {"v_head_dim"});
    if (a->v_head_dim == 0) a->v_head_dim = a->head_dim;
    ReadRotaryTable(a);
  }

  void ReadRotaryTable(Architecture* a) {
    if (Find(seen_, {"wpe", "position_embeddings", "embed_positions"}, false)) return;
    ConfigReader trial = config_;
    const double factor = trial.NumberOr("partial_rotary_factor", 0, 1, 1);
    const double part = trial.ok() ? factor : 1;
    int64_t dim = First(config_, {"rotary_dim", "qk_rope_head_dim"});
    if (dim == 0) dim = static_cast<int64_t>(static_cast<double>(a->head_dim) * part);
    ConfigReader rotary = config_;
    a->rotary = ReadRotary(rotary, dim, a->max_positions);
    if (!rotary.ok()) a->rotary = {dim, a->max_positions, false};
  }

  void ReadMla(Architecture* a) {
    MlaShape m;
    m.kv_lora_rank = First(config_, {"kv_lora_rank"});
    m.q_lora_rank = First(config_, {"q_lora_rank"});
    m.nope_head_dim = First(config_, {"qk_nope_head_dim"});
    m.rope_head_dim = First(config_, {"qk_rope_head_dim"});
    m.v_head_dim = First(config_, {"v_head_dim"});
    if (m.kv_lora_rank == 0) return;
    const int64_t down = Extent(Find(seen_, {"kv_a_proj_with_mqa"}, true), 0);
    if (m.rope_head_dim == 0 && down > m.kv_lora_rank) {
      m.rope_head_dim = Or(0, "qk_rope_head_dim", down - m.kv_lora_rank, 0);
    }
    if (m.v_head_dim == 0) m.v_head_dim = a->v_head_dim;
    if (m.nope_head_dim == 0) m.nope_head_dim = std::max<int64_t>(1, a->head_dim - m.rope_head_dim);
    a->mla = m;
    a->head_dim = m.nope_head_dim + m.rope_head_dim;
    a->v_head_dim = m.v_head_dim;
  }

  void ReadExperts(Architecture* a) {
    MoeShape& moe = a->moe;
    moe.experts = First(config_,
                        {"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts",
                         "num_moe_experts", "n_experts"},
                        100'000);
    moe.top_k = First(config_,
                      {"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k",
                       "num_selected_experts", "top_k", "moe_k"},
                      100'000);
    moe.intermediate = First(config_, {"moe_intermediate_size", "expert_intermediate_size",
                                       "moe_ffn_hidden_size", "expert_ffn_hidden_size"});
  }

  // Of Qwen3-Next and its kin; all numbers or none.
  void ReadGdn(Architecture* a) {
    GdnShape g;
    g.k_heads = First(config_, {"linear_num_key_heads"});
    g.v_heads = First(config_, {"linear_num_value_heads"});
    g.k_head_dim = First(config_, {"linear_key_head_dim"});
    g.v_head_dim = First(config_, {"linear_value_head_dim"});
    g.conv_kernel = First(config_, {"linear_conv_kernel_dim"});
    const bool all =
        g.k_heads > 0 && g.v_heads > 0 && g.k_head_dim > 0 && g.v_head_dim > 0 && g.conv_kernel > 0;
    if (all) a->gdn = g;
  }

  void ReadVision(Architecture* a) {
    for (const std::string_view key : {"vision_config", "visual", "vision_tower_config"}) {
      ConfigReader trial = outer_;
      const ConfigReader vision = trial.ObjectOr(key);
      if (!trial.ok() || vision.json().empty()) continue;
      VisionShape& v = a->vision;
      v.hidden = First(vision, {"hidden_size", "embed_dim", "width", "vt_hidden_size"});
      v.heads = First(vision, {"num_attention_heads", "num_heads", "heads"});
      v.blocks = First(vision, {"num_hidden_layers", "depth", "layers"});
      v.intermediate = First(vision, {"intermediate_size", "mlp_dim"});
      const int64_t merge = First(vision, {"spatial_merge_size"}, 64);
      if (merge > 1) v.patches_per_token = merge * merge;
    }
    if (a->vision.heads == 0) a->vision.heads = 1;  // divides over no ranks: stands whole
  }

  ConfigReader outer_;
  ConfigReader config_;
  const std::vector<SeenTensor>& seen_;
  UnknownNumbers out_;
};

}  // namespace

UnknownNumbers ReadUnknownNumbers(ConfigReader& config, const std::vector<SeenTensor>& seen) {
  return NumberReader(config, seen).Read();
}

}  // namespace shardplan::families
