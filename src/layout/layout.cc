#include "shardplan/layout/layout.h"

#include <charconv>

#include "shardplan/base/file.h"

namespace shardplan {

std::vector<StageRange> DefaultPartition(int64_t layers, int64_t stages) {
  std::vector<int64_t> counts(static_cast<size_t>(stages), layers / stages);
  const int64_t remainder = layers % stages;
  // Python's partitions[-(2 + i)]: with a remainder of stages - 1 it reaches the first stage.
  for (int64_t i = 0; i < remainder; ++i) {
    counts[static_cast<size_t>(stages - 2 - i)] += 1;
  }
  return PartitionFrom(counts);
}

Result<std::vector<int64_t>> ParsePartition(std::string_view text) {
  std::vector<int64_t> counts;
  size_t start = 0;
  while (start <= text.size()) {
    size_t comma = text.find(',', start);
    if (comma == std::string_view::npos) comma = text.size();
    std::string_view part = text.substr(start, comma - start);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    int64_t count = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), count);
    if (error != std::errc() || end != part.data() + part.size() || count < 1 ||
        count > 1'000'000) {
      return Fail(ErrorCode::kUsage, "--pp-partition " + Printable(text),
                  "expected the layers of each stage as positive numbers",
                  "write them with commas, such as 48,45");
    }
    counts.push_back(count);
    start = comma + 1;
  }
  return counts;
}

std::string FormatPartition(const std::vector<StageRange>& stages) {
  std::string out;
  for (const StageRange& stage : stages) {
    if (!out.empty()) out += ',';
    out += std::to_string(stage.count);
  }
  return out;
}

std::vector<StageRange> PartitionFrom(const std::vector<int64_t>& counts) {
  std::vector<StageRange> stages;
  int64_t first = 0;
  for (const int64_t count : counts) {
    stages.push_back({first, count});
    first += count;
  }
  return stages;
}

std::vector<RankPlace> PlaceRanks(const ParallelSizes& sizes, int64_t gpus_per_node) {
  std::vector<RankPlace> places;
  for (int64_t dp = 0; dp < sizes.dp; ++dp) {
    for (int64_t stage = 0; stage < sizes.pp; ++stage) {
      for (int64_t tp = 0; tp < sizes.tp; ++tp) {
        RankPlace place;
        place.rank = (dp * sizes.pp + stage) * sizes.tp + tp;
        place.node = place.rank / gpus_per_node;
        place.gpu = place.rank % gpus_per_node;
        place.stage = stage;
        place.tp_rank = tp;
        place.dp_rank = dp;
        place.ep_rank = sizes.expert_parallel ? dp * sizes.tp + tp : 0;
        places.push_back(place);
      }
    }
  }
  return places;
}

}  // namespace shardplan
