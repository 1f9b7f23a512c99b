#include "hardware/facts/nvlink.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "hardware/facts/fact_text.h"

namespace shardplan::facts {
namespace {

// The number of "GPU 3: NVIDIA H200 (UUID: …)".
std::optional<int> GpuOf(std::string_view line) {
  constexpr std::string_view kGpu = "GPU ";
  if (!line.starts_with(kGpu)) return std::nullopt;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return ParseInt(line.substr(kGpu.size(), colon - kGpu.size()));
}

// The rate of "Link 3: 26.562 GB/s"; nothing for other lines ("Link 3: <inactive>").
std::optional<double> RateOf(std::string_view line) {
  const std::vector<std::string> words = Words(line);
  if (words.size() != 4 || words[0] != "Link" || words[3] != "GB/s") return std::nullopt;
  double rate = 0;
  const char* const stop = words[2].data() + words[2].size();
  const auto [end, error] = std::from_chars(words[2].data(), stop, rate, std::chars_format::fixed);
  if (error != std::errc() || end != stop || !(rate > 0 && rate < 1e5)) return std::nullopt;
  return rate;
}

}  // namespace

Result<std::vector<NvlinkFacts>> ParseNvlink(std::string_view text, const std::string& file) {
  const std::vector<std::string> lines = LinesOf(text);
  std::vector<NvlinkFacts> cards;
  std::optional<size_t> current;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = Trim(lines[i]);
    if (const std::optional<int> gpu = GpuOf(line)) {
      const auto number = static_cast<size_t>(*gpu);
      // Outputs of other options behind it begin at GPU 0 again.
      if (number > cards.size() || number >= kMostCards) {
        return FailAt(file, i, fmt::format("expected GPU {}, found GPU {}", cards.size(), number),
                      "is the file whole?");
      }
      if (number == cards.size()) cards.emplace_back();
      current = number;
      continue;
    }
    const std::optional<double> rate = RateOf(line);
    if (!rate || !current) continue;
    NvlinkFacts& card = cards[*current];
    card.gb_per_s = card.active == 0 ? *rate : std::min(card.gb_per_s, *rate);
    ++card.active;
  }
  if (cards.empty()) {
    return FailAt(file, 0, "expected the output of nvidia-smi nvlink -s, found no GPU in it");
  }
  return cards;
}

}  // namespace shardplan::facts
