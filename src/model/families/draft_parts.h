// What drafts for --speculative-config have in common. All of a draft stands on the last stage,
// next to the head whose place it takes (engine/vllm/draft.h); its names are the published files',
// its parameters vLLM's.
#ifndef SHARDPLAN_MODEL_FAMILIES_DRAFT_PARTS_H_
#define SHARDPLAN_MODEL_FAMILIES_DRAFT_PARTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/families/decoder_parts.h"

namespace shardplan::families {

// The layers' numbers of a dense draft, with attention like Llama's or latent attention; its head
// is its own. Returns how many layers there are.
enum class DraftAttention { kGrouped, kLatent };
int64_t ReadDraftLayers(ConfigReader& config, DraftAttention attention, Architecture* arch);

// What published files do with the embedding: leave it out, for the target's; store a copy of the
// target's that training never changed; or store one of the draft's own.
enum class DraftWords { kLeftOut, kFrozenCopy, kOwn };

// As the widths and the format say: a draft of another width than its target's needs its own, those
// of the speculators format store it and say whether it was trained (`embed_requires_grad`), and of
// the rest it is as `usual`: left out of Llama's EAGLE-3 heads
// (yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, SpecForge) and z-lab's DFlash drafts, a frozen copy in
// Kimi-K2's (lightseekorg, k-l-lambda).
DraftWords WordsOf(ConfigReader& config, const Architecture& arch, DraftWords usual);

// "embed_tokens.weight" of the draft's vocabulary.
void AddDraftEmbedding(TableBuilder& t, const Architecture& arch, DraftWords words);

// "lm_head.weight" over `words` of the target's, and which these are ("d2t"; "t2d", the reverse, is
// not loaded). A file may leave them out; `left_out`: published ones do.
void AddDraftHead(TableBuilder& t, const Architecture& arch, int64_t words, bool left_out = false);

// The layers of an EAGLE-3 head. A head of one layer calls it "midlayer." or, in the speculators
// format, "layers.0."; of several "layers.N.". `add` gets where names begin and whether the layer
// is the first, which sees twice the width.
void AddEagle3Layers(TableBuilder& t, TensorTable* table, const Architecture& arch, bool numbered,
                     const std::function<void(const std::string& prefix, bool first)>& add);

// How many hidden states of the target an EAGLE-3 head joins: three unless the config says
// otherwise (models/llama_eagle3.py, models/deepseek_eagle3.py, main of November 2026).
int64_t ReadJoined(ConfigReader& config);

// After how many layers of the target a draft takes hidden states, in the order in which vLLM looks
// for them (gpu/spec_decode/eagle/eagle3_utils.py:get_eagle3_aux_layers_from_config, 0cfdd2e1):
// target_layer_ids count from one layer less. Empty where the config has no list.
std::vector<int64_t> ReadTargetLayers(ConfigReader& config);

// What the draft takes of its target and the words of its head, where it joins `joined` hidden
// states.
void ReadDraftShape(ConfigReader& config, int64_t joined, Architecture* arch);

// The backbone of DFlash and Qwen3 DSpark: Qwen3's layers, which write keys and values of the
// target's hidden states into their cache and then guess a whole block at once. Beside its
// parameters vLLM keeps the key and value projections of all layers once more, as one matrix.
struct BlockDraft {
  int64_t features = 0;  // hidden states of the target that `fc` joins; 0: no fc
  int64_t target_hidden = 0;
  int64_t words = 0;
  bool bias = false;
  bool sinks = false;
  DraftWords embedding = DraftWords::kLeftOut;

  // Files leave the head out where its words are all of the target's (models/qwen3_dflash.py,
  // qwen3_dspark.py: has_own_lm_head).
  bool LeavesHeadOut(const Architecture& arch) const {
    return embedding == DraftWords::kLeftOut && words == arch.vocabulary;
  }
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
