// Parts that decoder families share: reading common fields, and the rows of common modules.
#ifndef SHARDPLAN_MODEL_FAMILIES_DECODER_PARTS_H_
#define SHARDPLAN_MODEL_FAMILIES_DECODER_PARTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "model/families/families.h"

namespace shardplan::families {

constexpr int64_t kMaxLayers = 4096;

// hidden_size, vocab_size, positions, dtype and tied embeddings; returns the number of layers.
int64_t ReadDecoder(ConfigReader& config, Architecture* arch,
                    std::string_view layers_key = "num_hidden_layers");

// Heads and head dimension of grouped-query attention on every one of `layers`, with a rotary table
// over `partial_rotary_factor` or `rotary_dim` of the head.
void ReadGqa(ConfigReader& config, int64_t layers, Architecture* arch);

// The rotary table of `dim`, from rope_scaling or, as newer configs call it, rope_parameters.
Rotary ReadRotary(ConfigReader& config, int64_t dim, int64_t positions);

// The routed experts of arch->moe, from the keys that families name differently; checked.
void ReadExperts(ConfigReader& config, std::string_view experts_key,
                 std::string_view intermediate_key, int64_t layers, Architecture* arch,
                 std::string_view top_k_key = "num_experts_per_tok");

// Dense layers, then mixtures with shared experts (`least_shared` of them at least), then MTP
// layers, in the keys of DeepSeek.
void ReadDenseThenMoe(ConfigReader& config, int64_t layers, int64_t least_shared,
                      Architecture* arch);

// Contradictions of a mixture: more experts a token than experts, more dense layers than layers.
void CheckMoe(ConfigReader& config, std::string_view top_k_key, int64_t layers,
              const MoeShape& moe);

// Embedding on the first stage, unless the engine builds it everywhere.
void AddEmbedding(TableBuilder& t, const Architecture& arch,
                  Placement placement = Placement::kFirstStage);

// Final norm, and the head where it is not tied, on the last stage, unless built everywhere.
void AddHead(TableBuilder& t, const Architecture& arch,
             Placement placement = Placement::kLastStage);

struct GqaOptions {
  bool qkv_bias = false;
  bool o_bias = false;
  int64_t q_norm = 0;  // width of q_norm and k_norm; 0: none
  int64_t k_norm = 0;
  bool output_gate = false;  // q_proj brings a gate as wide as the queries
};

// The four scales of an attention layer that some quantization methods keep; `param` ends in a dot.
void AddAttentionScales(TableBuilder& t, const std::string& prefix, const std::string& param,
                        AttentionScale kind);

// q, k, v and o projections with their norms, below `prefix`self_attn.
void AddGqa(TableBuilder& t, const std::string& prefix, const Architecture& arch,
            const GqaOptions& options);

// The projections of multi-head latent attention with their norms, below `prefix` and `module`.
void AddMla(TableBuilder& t, const std::string& prefix, const Architecture& arch,
            const std::string& module = "self_attn");

// gate, up and down projections: `name` and `param` end in a dot.
void AddGatedMlp(TableBuilder& t, const std::string& name, const std::string& param, Role role,
                 Split column, Split row, int64_t hidden, int64_t intermediate, bool bias = false);

// Routed experts, named by their gate (empty: none), up and down projections.
struct ExpertNames {
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down = "down_proj";
};
void AddExperts(TableBuilder& t, const std::string& name, const std::string& param,
                const Architecture& arch, ExpertNames names = {});

// A router's bias for balancing without an auxiliary loss: F32 in the file and on the card.
ModuleRow& AddCorrectionBias(TableBuilder& t, const std::string& name, const std::string& param,
                             const Architecture& arch);

// A whole model as ReadDenseThenMoe reads it; the family brings the rows of its attention and of
// its mixture, which the MTP layers have, too.
void AddDenseThenMoe(TableBuilder& t, const std::string& prefix, const Architecture& arch,
                     const Assumptions& assumptions, const std::function<void()>& attention,
                     const std::function<void()>& moe);

// What only an MTP layer has: the fusion of the next token's embedding with the hidden state and,
// where they are stored again, its own embedding and head.
void AddDraftParts(TableBuilder& t, const std::string& prefix, const Architecture& arch,
                   bool own_embeddings);

// input_layernorm and post_attention_layernorm.
void AddLayerNorms(TableBuilder& t, const std::string& prefix, int64_t hidden);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_DECODER_PARTS_H_
