// Drafters that are files of their own: heads of several kinds, or a whole second model.
#ifndef SHARDPLAN_ENGINE_VLLM_OWN_DRAFT_H_
#define SHARDPLAN_ENGINE_VLLM_OWN_DRAFT_H_

#include <optional>
#include <string>
#include <vector>

#include "engine/vllm/draft.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

// Why a method has no plan, whatever its draft; nothing where it may have one.
std::optional<Error> MethodRefusal(const std::string& method);

// Makes the drafter that `source` is, and checks it against its target (engine/vllm/draft_fit.h).
// Word tables are the target's where the files store none, or a copy that was never trained. As
// MakeDraft in its errors.
Result<std::optional<Draft>> MakeOwnDraft(const Speculation& speculation, const DraftSource& source,
                                          const ParallelSizes& sizes,
                                          std::vector<Finding>* findings);

// One embedding of `rows` words and this width, on the last stage.
ModuleRow DraftEmbedding(const Architecture& arch, int64_t rows, int64_t width);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_OWN_DRAFT_H_
