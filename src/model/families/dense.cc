// Dense decoders with grouped-query attention: Llama, Qwen2 and Qwen3.
//
// Names are the published checkpoints'; fused parameters and order are vLLM's
// (model_executor/models/{llama,qwen2,qwen3}.py, v0.28).
#include "model/families/families.h"

namespace shardplan::families {
namespace {

constexpr int64_t kMaxLayers = 4096;

}  // namespace

Result<ModelSpec> BuildDense(ConfigReader& config, const Assumptions& assumptions) {
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
  if (config.ok() && !config.Has("head_dim") && a.hidden % a.heads != 0) {
    config.Contradiction("num_attention_heads",
                         "does not divide hidden_size, and there is no "
                         "head_dim");
  }
  if (config.ok() && a.heads % a.kv_heads != 0) {
    config.Contradiction("num_key_value_heads", "does not divide num_attention_heads");
  }
  a.head_dim = config.DimOr("head_dim", config.ok() ? a.hidden / a.heads : 1);
  a.v_head_dim = a.head_dim;
  a.attention.assign(static_cast<size_t>(layers), AttentionKind::kFull);
  ConfigReader scaling = config.ObjectOr("rope_scaling");
  const std::string rope =
      scaling.StringOr(scaling.Has("rope_type") ? "rope_type" : "type", "default");
  a.rotary = {a.head_dim, a.max_positions, rope == "yarn"};
  const bool qwen2 = a.name == "Qwen2ForCausalLM";
  const bool qwen3 = a.name == "Qwen3ForCausalLM";
  const bool qkv_bias = config.BoolOr("attention_bias", qwen2);
  const bool o_bias = qkv_bias && !qwen2 && !qwen3;
  const bool mlp_bias = config.BoolOr("mlp_bias", false);
  if (config.BoolOr("use_sliding_window", false)) {
    return Fail(ErrorCode::kUnsupported, config.subject(),
                "use_sliding_window: sliding-window layers are not modelled for this family");
  }
  if (config.Has("quantization_config")) {
    ConfigReader q = config.Object("quantization_config");
    return Fail(ErrorCode::kUnsupported, config.subject(),
                "quantization method '" + q.StringOr("quant_method", "") +
                    "' is not known for dense models",
                "the unquantized checkpoint can be planned");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  const std::string attn = p + "self_attn.";
  TableBuilder t(&spec.table, a.dtype);
  t.At(Placement::kFirstStage)
      .Tensor("model.embed_tokens.weight", "model.embed_tokens.weight", Role::kEmbedding,
              Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  t.In(LayerSet::Range(0, layers));
  const std::string qkv = "self_attn.qkv_proj";
  t.Linear(attn + "q_proj", qkv, Role::kAttention, Split::kColumn, a.heads * a.head_dim, a.hidden)
      .bias = qkv_bias;
  for (const char* x : {"k", "v"}) {
    t.Linear(attn + x + "_proj", qkv, Role::kAttention, Split::kKvHeads, a.kv_heads * a.head_dim,
             a.hidden)
        .bias = qkv_bias;
  }
  t.Linear(attn + "o_proj", "self_attn.o_proj", Role::kAttention, Split::kRow, a.hidden,
           a.heads * a.head_dim)
      .bias = o_bias;
  if (qwen3) {
    for (const char* x : {"q_norm", "k_norm"}) {
      t.Norm(attn + x, std::string("self_attn.") + x, a.head_dim, Role::kAttention);
    }
  }
  if (assumptions.inv_freq) {  // early Llama conversions store the buffer
    ModuleRow& row = t.Tensor(attn + "rotary_emb.inv_freq", "self_attn.rotary_emb.inv_freq",
                              Role::kLeftover, Split::kReplicated, Shape{*assumptions.inv_freq});
    row.dtype = DType::kF32;
    row.placement = Placement::kNotLoaded;
    row.optional = true;
  }
  for (const char* x : {"gate", "up"}) {
    t.Linear(p + "mlp." + x + "_proj", "mlp.gate_up_proj", Role::kDenseMlp, Split::kColumn,
             a.dense_intermediate, a.hidden)
        .bias = mlp_bias;
  }
  t.Linear(p + "mlp.down_proj", "mlp.down_proj", Role::kDenseMlp, Split::kRow, a.hidden,
           a.dense_intermediate)
      .bias = mlp_bias;
  t.Norm(p + "input_layernorm", "input_layernorm", a.hidden);
  t.Norm(p + "post_attention_layernorm", "post_attention_layernorm", a.hidden);
  t.At(Placement::kLastStage).Norm("model.norm", "model.norm", a.hidden);
  if (!a.tied_embeddings) {
    t.Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
             Shape{a.vocabulary, a.hidden});
  }
  return spec;
}

}  // namespace shardplan::families
