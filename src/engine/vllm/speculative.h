// Speculative decoding: what a drafter adds to the last pipeline stage.
//
// The drafter is loaded by the ranks of the last stage alone, after the model and inside the
// measurement of "Model loading took" (vllm/v1/worker/gpu_model_runner.py:load_model). MTP layers
// come out of the model's own checkpoint; their embedding is the model's where there is one stage
// and a copy of their own otherwise, their head is always the model's, whatever the checkpoint
// stores again (vllm/v1/spec_decode/llm_base_proposer.py:_maybe_share_embeddings and
// _maybe_share_lm_head; gpu/spec_decode/eagle/utils.py:load_eagle_model of the second runner).
#ifndef SHARDPLAN_ENGINE_VLLM_SPECULATIVE_H_
#define SHARDPLAN_ENGINE_VLLM_SPECULATIVE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/vllm/context.h"
#include "engine/vllm/draft.h"
#include "engine/vllm/weights.h"
#include "shardplan/base/finding.h"
#include "shardplan/sharding/device_weights.h"

namespace shardplan::vllm {

// The tokens ahead and the caches of MTP layers; the findings are of keys and sizes. Looks at
// context.settings, sizes and draft.
void ResolveSpeculation(const Context& context, Resolved* resolved, std::vector<Finding>* findings);

// Methods that guess on the host (ngram, suffix) or otherwise keep scheduling synchronous and the
// first model runner. Source: vllm/config/vllm.py (d29f7f5c) and its golden rows.
bool DraftsOnHost(const EngineSettings& settings);

// Whether a drafter decides the runner: DSpark and DFlash drafts of mixed windows exist in the
// second one alone, methods on the host, draft models and EAGLE-3 across stages that don't hand on
// its states in the first. Nothing where the model decides.
// Source: VllmConfig.use_v2_model_runner (v0.27.1) and vllm/v1/worker/gpu/spec_decode/__init__.py
// (01af92e1).
std::optional<bool> RunnerOfDrafter(const Context& context);

// What a rank of the last stage holds of the drafter.
struct DraftOnRank {
  DeviceWeights weights;
  StageRange layers;
  Bytes parameters;
  std::vector<ExtraBytes> buffers;
  std::vector<ExtraBytes> post_load;
  Bytes rounding;

  Bytes Resident() const;
};

// Dimensions of the drafter that the layout cannot divide, as findings; empty without a drafter.
std::vector<Finding> CheckDraft(const Context& context);

// context.draft must be set and pass CheckDraft; `ep_rank` as in RulesFor.
DraftOnRank PlaceDraft(const Context& context, int64_t ep_rank);

// Buffers that the drafter keeps from before the profile run: the hidden states it continues, and
// the probabilities of its guesses where it samples them.
// Source: vllm/v1/spec_decode/llm_base_proposer.py, gpu/spec_decode/speculator.py.
std::vector<ExtraBytes> DrafterBuffers(const Context& context);

// Rows of logits that verification takes at once: every running request's next token and its
// guesses.
int64_t VerifiedRows(const Context& context);

// What verifying takes beyond `counted`, the peak that the profile run saw: fp32 copies of the rows
// of logits. The dummy run of the first runner verifies one guess a request
// (gpu_model_runner.py:_dummy_sampler_run), that of the second none. A range, assumed.
Range VerificationBeyond(const Context& context, Bytes counted);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_SPECULATIVE_H_
