// Whether a draft suits its target and its method: what vLLM refuses, and what it doesn't look at
// and fails on later.
#ifndef SHARDPLAN_ENGINE_VLLM_DRAFT_FIT_H_
#define SHARDPLAN_ENGINE_VLLM_DRAFT_FIT_H_

#include <optional>
#include <string>
#include <vector>

#include "engine/vllm/draft.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

// The method that vLLM loads a draft of this shape for: "eagle3", "medusa", …; "draft_model" for
// what is no head.
std::string MethodOfShape(const Architecture& arch);

// Why vLLM cannot load a draft of this shape for `method`, as kUsage; nothing where it may. Classes
// that are rebuilt for the method (EAGLE's) are of its shape.
// Source: vllm/config/speculative.py, transformers_utils/configs/eagle.py (main of November 2026).
std::optional<Error> RefuseShape(const std::string& method, const Architecture& arch);

// Findings of a draft of its own, for its target:
//
//   speculative.method        the config is of another kind than the method, or names none and the
//                             path neither, which vLLM takes for a whole draft model
//   speculative.vocabulary    words that the target, or the draft itself, has not
//   speculative.hidden_size   hidden states or an embedding of another width than the target's
//   speculative.target_layers layers that the target has not, or as many as `fc` doesn't join
//   speculative.draft_tp      a whole model in a group of another size
//
// Errors are what vLLM raises, or fails on by shapes that are known; what hangs on the words of a
// vocabulary is a warning.
std::vector<Finding> CheckFit(const Speculation& speculation, const DraftSource& source,
                              const Draft& draft, const ParallelSizes& sizes);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_DRAFT_FIT_H_
