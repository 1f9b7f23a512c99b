// What drafts for --speculative-config have in common. All of a draft stands on the last stage,
// next to the head whose place it takes (engine/vllm/draft.h); its names are the published files',
// its parameters vLLM's.
#ifndef SHARDPLAN_MODEL_FAMILIES_DRAFT_PARTS_H_
#define SHARDPLAN_MODEL_FAMILIES_DRAFT_PARTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "model/families/decoder_parts.h"

namespace shardplan::families {

// The layers' numbers of a dense draft, with attention like Llama's or latent attention; its head
// is its own. Returns how many layers there are.
enum class DraftAttention { kGrouped, kLatent };
int64_t ReadDraftLayers(ConfigReader& config, DraftAttention attention, Architecture* arch);

// "embed_tokens.weight" of the draft's vocabulary; a file may leave it out and take the target's.
void AddDraftEmbedding(TableBuilder& t, const Architecture& arch);

// "lm_head.weight" over `words` of the target's, and which these are ("d2t"; "t2d", the reverse, is
// not loaded). A file may leave them out.
void AddDraftHead(TableBuilder& t, const Architecture& arch, int64_t words);

// The layers of an EAGLE-3 head. A head of one layer calls it "midlayer.", of several "layers.N.";
// `add` gets where names begin and whether the layer is the first, which sees twice the width.
void AddEagle3Layers(TableBuilder& t, TensorTable* table, const Architecture& arch,
                     const std::function<void(const std::string& prefix, bool first)>& add);

// The backbone of DFlash and Qwen3 DSpark: Qwen3's layers, which write keys and values of the
// target's hidden states into their cache and then guess a whole block at once. Beside its
// parameters vLLM keeps the key and value projections of all layers once more, as one matrix.
struct BlockDraft {
  int64_t features = 0;  // hidden states of the target that `fc` joins; 0: no fc
  int64_t target_hidden = 0;
  int64_t words = 0;
  bool bias = false;
  bool sinks = false;
};
BlockDraft ReadBlockDraft(ConfigReader& config, Architecture* arch);
void AddBlockDraft(TableBuilder& t, TensorTable* table, const Architecture& arch,
                   const BlockDraft& draft);

// DSpark's sequential heads: a low-rank transition from one guess to the next, whole on every rank,
// and the estimate of acceptance in fp32 where the config has one.
struct MarkovHead {
  int64_t rank = 0;
  int64_t words = 0;
  int64_t confidence_inputs = 0;  // 0: no confidence head
};
MarkovHead ReadMarkovHead(ConfigReader& config, const Architecture& arch, int64_t words);
void AddMarkovHead(TableBuilder& t, const Architecture& arch, const MarkovHead& head);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_DRAFT_PARTS_H_
