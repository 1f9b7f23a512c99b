#include "launch/stage_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "shardplan/base/units.h"

namespace shardplan {

std::string StageCut::Name() const {
  std::string name = stages.size() == 1 ? "stage" : "stages";
  for (const int64_t stage : stages) name += fmt::format("-{}", stage);
  return name;
}

std::vector<StageCut> CutsOf(const Plan& plan) {
  std::map<int64_t, std::set<int64_t>> stages_of;  // by node
  for (const RankPlan& rank : plan.ranks) stages_of[rank.place.node].insert(rank.place.stage);
  std::vector<StageCut> cuts;
  for (const auto& [node, set] : stages_of) {
    const std::vector<int64_t> stages(set.begin(), set.end());
    const auto at = std::find_if(cuts.begin(), cuts.end(),
                                 [&](const StageCut& cut) { return cut.stages == stages; });
    if (at != cuts.end()) {
      at->nodes.push_back(node);
    } else {
      cuts.push_back({stages, {node}});
    }
  }
  return cuts;
}

std::vector<StageRange> RangesOf(const StageCut& cut, const Plan& plan) {
  std::vector<StageRange> ranges;
  for (const int64_t stage : cut.stages) ranges.push_back(plan.stages[static_cast<size_t>(stage)]);
  return ranges;
}

std::string LayersText(const std::vector<StageRange>& ranges) {
  std::string text;
  for (size_t i = 0; i < ranges.size(); ++i) {
    size_t last = i;  // neighbours are one run
    while (last + 1 < ranges.size() && ranges[last + 1].first == ranges[last].end()) ++last;
    text +=
        fmt::format("{}{}–{}", text.empty() ? "" : ", ", ranges[i].first, ranges[last].end() - 1);
    i = last;
  }
  return text;
}

std::string NumbersText(const std::vector<int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::string SizeText(Bytes size) {
  return fmt::format("{} ({})", FormatGiB(size), FormatBytes(size));
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace shardplan
