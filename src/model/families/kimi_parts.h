// Parts that Kimi-Linear and Kimi-K3 share (one class in vLLM: vllm/models/kimi_k3, d29f7f5c), and
// the vision tower of Kimi-K2.5 and K3.
#ifndef SHARDPLAN_MODEL_FAMILIES_KIMI_PARTS_H_
#define SHARDPLAN_MODEL_FAMILIES_KIMI_PARTS_H_

#include <string>

#include "model/families/decoder_parts.h"

namespace shardplan::families {

// The text model's fields: widths, MLA, Kimi delta attention (`linear` is linear_attn_config), the
// mixture. Returns num_hidden_layers. The caller asks both readers whether they are ok.
int64_t ReadKimiText(ConfigReader& text, ConfigReader& linear, Architecture* arch);

// Contradictions between fields that are fine each.
void CheckKimiText(ConfigReader& text, const Architecture& arch);

// The layers of a kind.
LayerSet LayersOf(const Architecture& arch, AttentionKind kind);

// What differs in the delta attention of the two models.
struct KdaStyle {
  // The output gate is one projection, fused with the other inputs; otherwise two of low rank.
  bool full_rank_gate = false;
  Shape a_log;                  // as stored; engines keep one entry per head
  DType dtype = DType::kBF16;   // of convolutions and output norm in the file
  int64_t input_row_align = 1;  // rows of the fused input projection
};
void AddKda(TableBuilder& t, const std::string& prefix, const Architecture& arch,
            const KdaStyle& style);

// Router, shared experts, latent projections where the experts see another width, routed experts.
void AddKimiMoe(TableBuilder& t, const std::string& prefix, const Architecture& arch);

// The tower's shape, from vision_config.
void ReadKimiVision(ConfigReader& vision, Architecture* arch);

// What differs in the towers.
struct VisionStyle {
  int64_t qkv = 0;         // width of the attention
  bool biases = false;     // of every linear, norm and of the patch embedding
  bool norm_last = false;  // the projector ends in a norm of the text's width; otherwise it begins
                           // with one of the tower's
};
// MoonViT and the projector, on every stage; never quantized. Records its errors in `vision`.
void AddKimiVision(TableBuilder& t, ConfigReader& vision, const Architecture& arch,
                   const VisionStyle& style);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_KIMI_PARTS_H_
