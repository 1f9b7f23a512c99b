// Parts that the models on DeepSeek's code share: V2 and V3, V3.2 with its indexer, GLM-5, Kimi-K2.
#ifndef SHARDPLAN_MODEL_FAMILIES_DEEPSEEK_PARTS_H_
#define SHARDPLAN_MODEL_FAMILIES_DEEPSEEK_PARTS_H_

#include <cstdint>
#include <string>

#include "model/families/decoder_parts.h"

namespace shardplan::families {

// Latent attention on every one of `layers`, with its rotary table.
void ReadMla(ConfigReader& config, int64_t layers, Architecture* arch);

// A decoder with latent attention on every layer and dense layers before mixtures, in DeepSeek's
// keys. Fills everything but names and quantization.
void ReadDeepseek(ConfigReader& config, Architecture* arch);

// Whether routers have a bias: "noaux_tc" balances without an auxiliary loss.
bool ReadRouterBias(ConfigReader& config, const Architecture& arch);

// Router, shared expert and routed experts below `prefix`mlp.
void AddDeepseekMoe(TableBuilder& t, const std::string& prefix, const Architecture& arch,
                    bool router_bias);

// The whole table of DeepSeek-V2, V3 and Kimi-K2, at "model.".
void AddDeepseek(TensorTable* table, const Architecture& arch, bool router_bias,
                 const Assumptions& assumptions);

// DeepSeek sparse attention: an indexer that chooses the keys. Reads its shape and the layers that
// have one of their own ("indexer_types", or how often the engine builds one); the others take the
// choice of the layer before.
void ReadIndexer(ConfigReader& config, Architecture* arch);

// The whole table of a model with sparse attention, at "model.": DeepSeek-V3.2, GLM-5.
void AddSparseDeepseek(TensorTable* table, const Architecture& arch, bool router_bias,
                       const Assumptions& assumptions);

// Puts `prefix` before every name in the file and on the card: a language model inside another.
void PrefixNames(TensorTable* table, const std::string& prefix);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_DEEPSEEK_PARTS_H_
