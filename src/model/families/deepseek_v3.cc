// DeepSeek-V3, R1, V3.1 and Kimi-K2: multi-head latent attention, a mixture of experts with shared
// experts, FP8 in 128 × 128 blocks, multi-token-prediction layers after the stack.
//
// Names and dtypes are the published checkpoints' (DeepSeek-V3: 91,991 tensors, 684,531,386,000
// elements); fused parameters and order are vLLM's (model_executor/models/deepseek_v2.py, v0.28).
#include <algorithm>

#include "model/families/families.h"

namespace shardplan::families {
namespace {

constexpr int64_t kMaxLayers = 4096;

class DeepseekTable {
 public:
  DeepseekTable(TableBuilder* table, std::string prefix, const Architecture* arch,
                QuantFormat quant, const Assumptions& assumptions)
      : t_(*table), p_(std::move(prefix)), a_(*arch), quant_(quant), assumptions_(assumptions) {}

  // A row that belongs to an MTP layer is in the file and on no card, and may be absent.
  void set_draft(bool draft) { draft_ = draft; }

  void Attention() {
    const MlaShape& m = a_.mla;
    const std::string attn = p_ + "self_attn.";
    constexpr Role kRole = Role::kAttention;
    if (m.q_lora_rank > 0) {
      const std::string down = "self_attn.fused_qkv_a_proj";
      Linear(attn + "q_a_proj", down, kRole, Split::kReplicated, m.q_lora_rank, a_.hidden);
      Linear(attn + "kv_a_proj_with_mqa", down, kRole, Split::kReplicated, m.latent_width(),
             a_.hidden);
      Norm(attn + "q_a_layernorm", "self_attn.q_a_layernorm", m.q_lora_rank, kRole);
      Linear(attn + "q_b_proj", "self_attn.q_b_proj", kRole, Split::kColumn, a_.heads * a_.head_dim,
             m.q_lora_rank);
    } else {
      Linear(attn + "q_proj", "self_attn.q_proj", kRole, Split::kColumn, a_.heads * a_.head_dim,
             a_.hidden);
      Linear(attn + "kv_a_proj_with_mqa", "self_attn.kv_a_proj_with_mqa", kRole, Split::kReplicated,
             m.latent_width(), a_.hidden);
    }
    Norm(attn + "kv_a_layernorm", "self_attn.kv_a_layernorm", m.kv_lora_rank, kRole);
    Linear(attn + "kv_b_proj", "self_attn.kv_b_proj", kRole, Split::kColumn,
           a_.heads * (m.nope_head_dim + m.v_head_dim), m.kv_lora_rank);
    Linear(attn + "o_proj", "self_attn.o_proj", kRole, Split::kRow, a_.hidden,
           a_.heads * m.v_head_dim);
    // Kimi-K2 stores its rotary frequencies; no engine loads them.
    if (assumptions_.inv_freq) {
      ModuleRow& row =
          t_.Tensor(attn + "rotary_emb.inv_freq", "self_attn.rotary_emb.inv_freq", Role::kLeftover,
                    Split::kReplicated, Shape{*assumptions_.inv_freq});
      row.placement = Placement::kNotLoaded;
      row.optional = true;
    }
  }

  void DenseMlp() {
    Mlp(p_ + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a_.dense_intermediate);
  }

  void Moe() {
    const std::string moe = p_ + "mlp.";
    Linear(moe + "gate", "mlp.gate", Role::kRouter, Split::kReplicated, a_.moe.experts, a_.hidden,
           /*plain=*/true);
    ModuleRow& bias =
        Mark(t_.Tensor(moe + "gate.e_score_correction_bias", "mlp.gate.e_score_correction_bias",
                       Role::kRouter, Split::kReplicated, Shape{a_.moe.experts}));
    bias.dtype = bias.device_dtype = DType::kF32;
    if (a_.moe.shared_intermediate > 0) {
      Mlp(moe + "shared_experts.", "mlp.shared_experts.", Role::kSharedExpert, Split::kSharedColumn,
          Split::kSharedRow, a_.moe.shared_intermediate);
    }
    const std::string expert = moe + "experts.{E}.";
    auto add = [&](const char* name, Split split, int64_t out, int64_t in) {
      Linear(expert + name, "mlp.experts.routed_experts", Role::kRoutedExpert, split, out, in)
          .experts = a_.moe.experts;
    };
    add("gate_proj", Split::kExpertGate, a_.moe.intermediate, a_.hidden);
    add("up_proj", Split::kExpertUp, a_.moe.intermediate, a_.hidden);
    add("down_proj", Split::kExpertDown, a_.hidden, a_.moe.intermediate);
  }

  void Norms() {
    Norm(p_ + "input_layernorm", "input_layernorm", a_.hidden);
    Norm(p_ + "post_attention_layernorm", "post_attention_layernorm", a_.hidden);
  }

  // What only an MTP layer has: its own embedding and head (stored again), and the fusion of the
  // next token's embedding with the hidden state.
  void DraftParts() {
    const bool own = assumptions_.mtp_embed.value_or(true);
    if (own) {
      Tensor(p_ + "embed_tokens.weight", "embed_tokens.weight", Split::kVocabulary);
    }
    Norm(p_ + "enorm", "enorm", a_.hidden);
    Norm(p_ + "hnorm", "hnorm", a_.hidden);
    Linear(p_ + "eh_proj", "eh_proj", Role::kDraft, Split::kReplicated, a_.hidden, 2 * a_.hidden,
           /*plain=*/true);
    Norm(p_ + "shared_head.norm", "shared_head.norm", a_.hidden);
    if (own) {
      Tensor(p_ + "shared_head.head.weight", "shared_head.head.weight", Split::kVocabulary);
    }
  }

 private:
  ModuleRow& Mark(ModuleRow& row) {
    if (draft_) {
      row.role = Role::kDraft;
      row.placement = Placement::kNotLoaded;
      row.optional = true;
    }
    return row;
  }
  ModuleRow& Linear(std::string name, std::string param, Role role, Split split, int64_t out,
                    int64_t in, bool plain = false) {
    return Mark(t_.Linear(std::move(name), std::move(param), role, split, out, in,
                          plain ? QuantFormat{} : quant_));
  }
  ModuleRow& Norm(std::string name, std::string param, int64_t width, Role role = Role::kNorm) {
    return Mark(t_.Norm(std::move(name), std::move(param), width, role));
  }
  ModuleRow& Tensor(std::string name, std::string param, Split split) {
    return Mark(t_.Tensor(std::move(name), std::move(param), Role::kDraft, split,
                          Shape{a_.vocabulary, a_.hidden}));
  }
  void Mlp(const std::string& name, const std::string& param, Role role, Split column, Split row,
           int64_t intermediate) {
    for (const char* x : {"gate", "up"}) {
      Linear(name + x + "_proj", param + "gate_up_proj", role, column, intermediate, a_.hidden);
    }
    Linear(name + "down_proj", param + "down_proj", role, row, a_.hidden, intermediate);
  }

  TableBuilder& t_;
  std::string p_;
  const Architecture& a_;
  QuantFormat quant_;
  const Assumptions& assumptions_;
  bool draft_ = false;
};

}  // namespace

Result<ModelSpec> BuildDeepseekV3(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  a.name = ArchitectureName(config);
  a.dtype = ModelDType(config);
  a.trust_remote_code = config.Has("auto_map");
  a.hidden = config.Dim("hidden_size");
  a.vocabulary = config.Dim("vocab_size");
  a.max_positions = config.Int("max_position_embeddings", 1, int64_t{1} << 32);
  a.tied_embeddings = config.BoolOr("tie_word_embeddings", false);
  a.heads = config.Dim("num_attention_heads");
  a.kv_heads = config.DimOr("num_key_value_heads", a.heads);
  a.dense_intermediate = config.Dim("intermediate_size");
  const int64_t layers = config.Int("num_hidden_layers", 1, kMaxLayers);
  a.mtp_layers = config.IntOr("num_nextn_predict_layers", 0, 64, 0);
  a.mla = {config.DimOr("q_lora_rank", 0), config.Dim("kv_lora_rank"),
           config.Dim("qk_nope_head_dim"), config.Dim("qk_rope_head_dim"),
           config.Dim("v_head_dim"),       false};
  a.head_dim = a.mla.nope_head_dim + a.mla.rope_head_dim;
  a.v_head_dim = a.mla.v_head_dim;
  ConfigReader scaling = config.ObjectOr("rope_scaling");
  const std::string rope =
      scaling.StringOr(scaling.Has("rope_type") ? "rope_type" : "type", "default");
  a.rotary = {a.mla.rope_head_dim, a.max_positions, rope == "yarn"};
  a.attention.assign(static_cast<size_t>(layers), AttentionKind::kMla);
  a.moe.experts = config.Int("n_routed_experts", 1, 100'000);
  a.moe.top_k = config.Int("num_experts_per_tok", 1, 100'000);
  a.moe.intermediate = config.Dim("moe_intermediate_size");
  a.moe.shared_experts = config.IntOr("n_shared_experts", 0, 1024, 0);
  a.moe.shared_intermediate = a.moe.intermediate * a.moe.shared_experts;
  a.moe.first_dense = config.Int("first_k_dense_replace", 0, kMaxLayers);
  if (config.IntOr("moe_layer_freq", 1, kMaxLayers, 1) != 1) {
    config.Contradiction("moe_layer_freq", "expected 1: every layer after the dense ones is MoE");
  }

  QuantFormat quant;
  if (config.Has("quantization_config")) {
    ConfigReader q = config.Object("quantization_config");
    const std::string method = q.StringOr("quant_method", "");
    const std::vector<int64_t> block = q.Has("weight_block_size")
                                           ? q.IntList("weight_block_size", 1, 1 << 16)
                                           : std::vector<int64_t>();
    config.Adopt(q);
    if (config.ok() && (method != "fp8" || block.size() != 2)) {
      return Fail(ErrorCode::kUnsupported, config.subject(),
                  "quantization method '" + method + "' is not known for deepseek-v3",
                  "fp8 with a weight_block_size of two numbers is");
    }
    if (block.size() == 2) quant = {QuantScheme::kFp8Block, block[0], block[1]};
    a.quantization = "fp8";
  }
  if (a.moe.first_dense > layers) {
    config.Contradiction("first_k_dense_replace", "more dense layers than layers");
  }
  if (a.moe.top_k > a.moe.experts) {
    config.Contradiction("num_experts_per_tok", "more experts a token than experts");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  TableBuilder t(&spec.table, a.dtype);
  DeepseekTable d(&t, spec.table.layer_prefix, &a, quant, assumptions);
  t.At(Placement::kFirstStage)
      .Tensor("model.embed_tokens.weight", "model.embed_tokens.weight", Role::kEmbedding,
              Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  t.In(LayerSet::Range(0, layers));
  d.Attention();
  if (a.moe.first_dense > 0) {
    t.In(LayerSet::Range(0, a.moe.first_dense));
    d.DenseMlp();
  }
  if (a.moe.first_dense < layers) {
    t.In(LayerSet::Range(a.moe.first_dense, layers));
    d.Moe();
  }
  t.In(LayerSet::Range(0, layers));
  d.Norms();
  t.At(Placement::kLastStage).Norm("model.norm", "model.norm", a.hidden);
  if (!a.tied_embeddings) {
    t.Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
             Shape{a.vocabulary, a.hidden});
  }
  if (a.mtp_layers > 0 && assumptions.mtp.value_or(true)) {
    t.In(LayerSet::Range(layers, layers + a.mtp_layers));
    d.set_draft(true);
    d.DraftParts();
    d.Attention();
    d.Moe();
    d.Norms();
  }
  return spec;
}

}  // namespace shardplan::families
