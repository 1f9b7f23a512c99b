// Nodes that run the same pipeline stages need the same files.
#ifndef SHARDPLAN_LAUNCH_STAGE_CUT_H_
#define SHARDPLAN_LAUNCH_STAGE_CUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/layout/layout.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

struct StageCut {
  std::vector<int64_t> stages;  // sorted
  std::vector<int64_t> nodes;   // that run just these; sorted

  std::string Name() const;  // "stage-0", "stages-0-1"
};

// One for each set of stages that a node runs, by their first nodes. Of a plan with ranks.
std::vector<StageCut> CutsOf(const Plan& plan);

// The layers of a cut's stages.
std::vector<StageRange> RangesOf(const StageCut& cut, const Plan& plan);

// "0–47", "0–22, 47–92"
std::string LayersText(const std::vector<StageRange>& ranges);

// "0, 1"
std::string NumbersText(const std::vector<int64_t>& numbers);

// "746.386 GiB (801,425,747,240 B)"
std::string SizeText(Bytes size);

// A table row's cells as Markdown: "| a | b |\n".
std::string MarkdownRow(const std::vector<std::string>& cells);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_STAGE_CUT_H_
