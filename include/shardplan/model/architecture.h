// A model's shape, as the rules need it: typed, validated, in the field's own terms.
#ifndef SHARDPLAN_MODEL_ARCHITECTURE_H_
#define SHARDPLAN_MODEL_ARCHITECTURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/checkpoint/dtype.h"

namespace shardplan {

// How a layer attends, which decides what it caches.
enum class AttentionKind {
  kFull,  // MHA / GQA / MQA: keys and values per head, per token
  kMla,   // multi-head latent attention: one latent and one rotary key per token
  kKda,   // Kimi delta attention: a convolution and a recurrent state per request, none per token
  kSliding,  // as kFull, over the last `window` tokens
  kChunked,  // as kFull, inside chunks of `window` tokens
  kGdn,      // gated delta net: a state per request, as kKda
  kMamba2,   // Mamba-2: a state per request
  kMamba1,   // Mamba: a state per request
  kNone,     // a layer that caches nothing (a block of its own for an MLP or a mixture)
};

// Keeps a state per request instead of a cache per token.
bool KeepsState(AttentionKind kind);
// Keeps keys and values or a latent per token.
bool KeepsTokens(AttentionKind kind);

// The rotary tables an engine keeps beside the weights.
struct Rotary {
  int64_t dim = 0;        // 0: no rotary embedding (NoPE)
  int64_t positions = 0;  // rows of the cos/sin cache: the model's maximum, not the window
  bool yarn = false;
  // Of a second table, where local and global layers rotate differently; 0: one table.
  int64_t other_dim = 0;
  // Of this size, side by side: an indexer that pairs its channels in another order has its own.
  int64_t tables = 1;
};

struct MlaShape {
  int64_t q_lora_rank = 0;  // 0: queries are not compressed
  int64_t kv_lora_rank = 0;
  int64_t nope_head_dim = 0;
  int64_t rope_head_dim = 0;
  int64_t v_head_dim = 0;
  bool output_gate = false;

  int64_t latent_width() const { return kv_lora_rank + rope_head_dim; }
};

struct LinearAttentionShape {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t conv_kernel = 0;

  int64_t width() const { return heads * head_dim; }
};

// A gated delta net: keys and values have heads of their own.
struct GdnShape {
  int64_t k_heads = 0;
  int64_t v_heads = 0;
  int64_t k_head_dim = 0;
  int64_t v_head_dim = 0;
  int64_t conv_kernel = 0;
  std::optional<DType> state_dtype = {};  // of the recurrent state, where it isn't the model's

  int64_t key_width() const { return k_heads * k_head_dim; }
  int64_t value_width() const { return v_heads * v_head_dim; }
};

// Mamba-2 (heads, groups) or Mamba (no heads: heads is zero and `width` says it all).
struct MambaShape {
  int64_t width = 0;  // of the mixer: heads × head_dim in Mamba-2
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t groups = 0;
  int64_t state = 0;  // state size per head or channel
  int64_t conv_kernel = 0;
  int64_t time_step_rank = 0;             // Mamba only
  std::optional<DType> state_dtype = {};  // of the recurrent state, where it isn't the model's
  int64_t chunk = 0;  // tokens that Mamba-2 scans at once; 0: the config names none
};

// Keys and values of a kind of layer whose heads differ from the model's.
struct KvShape {
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t v_head_dim = 0;
};

// A sparse-attention indexer, which caches one key per token of its own.
struct IndexerShape {
  int64_t heads = 0;  // 0: no indexer
  int64_t head_dim = 0;
  int64_t top_k = 0;
};

struct MoeShape {
  int64_t experts = 0;  // 0: a dense model
  int64_t top_k = 0;
  int64_t intermediate = 0;         // of one routed expert
  int64_t shared_experts = 0;       // fused into one MLP of shared_intermediate
  int64_t shared_intermediate = 0;  // 0: no shared expert
  int64_t latent = 0;               // width that routed experts see; 0: the hidden size
  int64_t first_dense = 0;          // layers before this index have a dense MLP
  // Where dense layers and mixtures alternate otherwise: one entry per layer; empty: first_dense.
  std::vector<bool> layer_is_moe;
  bool dense_beside = false;  // a dense MLP beside the experts in one layer
};

struct VisionShape {
  bool present = false;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  int64_t blocks = 0;
  int64_t patches_per_token = 1;   // spatial merge times frames pooled into one token
  int64_t time_positions = 0;      // rows of an fp32 temporal table; 0: none
  int64_t rotary_dim = 0;          // of the tower's own rotary table; 0: none
  int64_t deepstack_levels = 0;    // blocks whose output is added to the first decoder layers
  int64_t item_tokens = 0;         // of the largest single image or video; 0: not known
  bool gated_mlp = false;          // its MLP has a gate beside the up projection
  bool heads_must_divide = false;  // the engine refuses other TP sizes instead of replicating
};

// What a draft for speculative decoding was made for; all zero and empty for other models.
struct DraftShape {
  // The class that its config names, where the engine builds another out of it; else empty.
  std::string named;
  int64_t words = 0;          // that its own head covers; 0: it has none of its own
  int64_t target_hidden = 0;  // width of the hidden states that it takes of its target
  int64_t joined = 0;         // how many of them it joins; 0: the last alone
  // After how many layers of the target they are taken, as vLLM counts: 0 is the embedding. Empty:
  // the config leaves it to the engine.
  std::vector<int64_t> target_layers;
  // Of the speculators format, which names them; empty and 0 in others.
  std::string verifier;  // the model that it drafts for
  std::string method;    // vLLM's
  int64_t tokens = 0;    // that it guesses
};

struct Architecture {
  std::string name;    // Hugging Face class: "KimiK3ForConditionalGeneration"
  std::string family;  // ours: "kimi-k3"

  int64_t hidden = 0;
  int64_t vocabulary = 0;
  int64_t max_positions = 0;
  DType dtype = DType::kBF16;  // the model's own dtype
  bool tied_embeddings = false;
  bool trust_remote_code = false;  // the config names code of its own (auto_map)

  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t v_head_dim = 0;
  int64_t dense_intermediate = 0;  // 0: no dense MLP anywhere

  // One entry per decoder layer, in order.
  std::vector<AttentionKind> attention;
  // Attentions of that kind inside one layer, each with a cache of its own (LongCat-Flash: 2).
  int64_t attentions_per_layer = 1;

  MlaShape mla;
  LinearAttentionShape kda;
  GdnShape gdn;
  MambaShape mamba;
  IndexerShape indexer;
  std::vector<int64_t> indexer_layers;  // layers with an indexer of their own; sorted

  int64_t window = 0;  // tokens that kSliding layers see, or a chunk of kChunked layers
  std::optional<KvShape> sliding_kv;  // of kSliding layers, where it differs from kv_heads above
  // The layer whose cache a layer reads instead of keeping one; its own index where it keeps one.
  // Empty: every layer keeps its own.
  std::vector<int64_t> cache_of_layer;
  // DeepSeek-V4: tokens that one latent of a layer stands for, beside a window of `window` tokens;
  // 0: the window alone. One entry per layer; empty: no compression.
  std::vector<int64_t> compress_ratio;
  int64_t residual_streams = 1;  // hyper-connections keep several (DeepSeek-V4: 4)

  MoeShape moe;
  VisionShape vision;
  Rotary rotary;
  DraftShape draft;

  int64_t attn_res_block = 0;  // layers between attention-residual blocks; 0: none
  int64_t mtp_layers = 0;      // announced multi-token-prediction layers
  // How those attend, where it is neither latent nor full attention.
  std::optional<AttentionKind> mtp_attention;

  // What the engine calls the quantization: "mxfp4", "fp8", "nvfp4", "awq", "gptq", "int4", "int8",
  // "mxfp8", "bitsandbytes"; empty for none. Of the routed experts where formats are mixed.
  std::string quantization;
  bool fp8_cache = false;  // the checkpoint was calibrated for an FP8 KV cache, which "auto" takes

  int64_t layers() const { return static_cast<int64_t>(attention.size()); }
  bool is_moe(int64_t layer) const;
  bool has_kind(AttentionKind kind) const;
  bool has_state() const;  // any layer that keeps a state per request
  // Keys and values of `layer`.
  KvShape KvOf(int64_t layer) const;
  // Layers of a kind in [first, first + count).
  int64_t CountKind(AttentionKind kind, int64_t first, int64_t count) const;
  // Attention layers that keep a cache per token next to layers that keep a state.
  bool is_hybrid() const;
};

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_ARCHITECTURE_H_
