// What vLLM refuses before it looks at a model or a card.
#ifndef SHARDPLAN_ENGINE_VLLM_SETTINGS_CHECK_H_
#define SHARDPLAN_ENGINE_VLLM_SETTINGS_CHECK_H_

#include <optional>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/engine/settings.h"
#include "shardplan/layout/layout.h"

namespace shardplan::vllm {

// Counts of at least one, and a share of a card. Fails with kUsage.
Status CheckNumbers(const EngineSettings& settings);

// A size of decode context parallelism that does not divide TP: layout.dcp (error).
// Source: vllm/config/parallel.py (d29f7f5c).
std::optional<Finding> DcpRefusal(const ParallelSizes& sizes);

// All that settings and sizes tell alone, as a plan tells it: DCP, EPLB, LoRA, and batches of which
// every number was given (defaults hang on the card).
std::vector<Finding> CheckSettings(const ParallelSizes& sizes, const EngineSettings& settings);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_SETTINGS_CHECK_H_
