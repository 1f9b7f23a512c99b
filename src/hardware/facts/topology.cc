#include "hardware/facts/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "hardware/facts/fact_text.h"
#include "shardplan/base/file.h"

namespace shardplan::facts {
namespace {

constexpr size_t kMostColumns = 256;  // cards and network ports

// Cells of a line: between tabs where there are any, else between spaces.
std::vector<std::string> CellsOf(const std::string& line) {
  return line.find('\t') == std::string::npos ? Words(line) : Split(line, '\t');
}

bool IsGpu(const std::string& name) {
  return name.starts_with("GPU") && ParseInt(std::string_view(name).substr(3)).has_value();
}

// The number behind "NV"; zero for other links.
int NvlinksOf(const std::string& link) {
  return link.starts_with("NV") ? ParseInt(std::string_view(link).substr(2)).value_or(0) : 0;
}

bool IsLink(const std::string& cell) {
  static const std::vector<std::string> kinds = {"X", "SYS", "NODE", "PHB", "PXB", "PIX"};
  return NvlinksOf(cell) > 0 || std::find(kinds.begin(), kinds.end(), cell) != kinds.end();
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Result<TopologyFacts> Read(std::string_view text) {
    const std::vector<std::string> lines = LinesOf(text);
    size_t at = 0;
    while (at < lines.size() && !TakeHeader(lines[at])) ++at;
    if (at == lines.size()) {
      return FailAt(file_, 0, "expected the matrix of nvidia-smi topo -m, found none");
    }
    const size_t header = at;
    if (columns_.size() > kMostColumns || gpus_ > kMostCards) {
      return FailAt(file_, header, fmt::format("expected at most {} cards", kMostCards));
    }
    for (++at; at < lines.size(); ++at) SHARDPLAN_RETURN_IF_ERROR(TakeRow(lines[at], at));
    if (out_.links.size() != gpus_) {
      return FailAt(
          file_, header,
          fmt::format("expected a line for each of {} cards, found {}", gpus_, out_.links.size()),
          "is the file whole?");
    }
    for (size_t i = 0; i < gpus_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (out_.links[i][j] == out_.links[j][i]) continue;
        return FailAt(file_, header,
                      fmt::format("expected one link between GPU{} and GPU{}, found {} and {}", j,
                                  i, out_.links[j][i], out_.links[i][j]));
      }
    }
    for (NicFacts& nic : out_.nics) {
      if (const auto name = legend_.find(nic.name); name != legend_.end()) nic.name = name->second;
    }
    return std::move(out_);
  }

 private:
  // The names of cards and ports, up to "CPU Affinity".
  bool TakeHeader(const std::string& line) {
    columns_.clear();
    gpus_ = 0;
    for (const std::string& cell : CellsOf(line)) {
      if (cell.starts_with("CPU")) break;
      if (cell.empty()) continue;
      columns_.push_back(cell);
      if (IsGpu(cell)) ++gpus_;
    }
    return gpus_ > 0 && IsGpu(columns_[0]) && columns_[0] == "GPU0";
  }

  Status TakeRow(const std::string& line, size_t number) {
    std::vector<std::string> cells = CellsOf(line);
    if (cells.empty() || cells[0].empty()) return {};
    if (TakeLegend(line)) return {};
    const auto column = std::find(columns_.begin(), columns_.end(), cells[0]);
    if (column == columns_.end()) return {};
    if (cells.size() < columns_.size() + 1 ||
        !std::all_of(cells.begin() + 1,
                     cells.begin() + 1 + static_cast<std::ptrdiff_t>(columns_.size()), IsLink)) {
      return FailAt(file_, number,
                    fmt::format("expected {} links such as NV18, PIX or SYS in the line of {}",
                                columns_.size(), Printable(cells[0], 20)),
                    "is the file whole?");
    }
    std::vector<std::string> to_cards;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (IsGpu(columns_[i])) to_cards.push_back(cells[i + 1]);
    }
    if (!IsGpu(cells[0])) {
      out_.nics.push_back({cells[0], std::move(to_cards)});
      return {};
    }
    if (cells[0] != fmt::format("GPU{}", out_.links.size())) {
      return FailAt(file_, number,
                    fmt::format("expected the line of GPU{}, found {}", out_.links.size(),
                                Printable(cells[0], 20)));
    }
    out_.links.push_back(std::move(to_cards));
    const size_t rest = columns_.size() + 1;
    out_.cpus.push_back(rest < cells.size() ? cells[rest] : "");
    // "0-1" and "N/A" name no node.
    out_.numa.push_back(rest + 1 < cells.size() ? ParseInt(cells[rest + 1]) : std::nullopt);
    return {};
  }

  // "NIC0: mlx5_0"
  bool TakeLegend(const std::string& line) {
    const std::vector<std::string> words = Words(line);
    if (words.size() != 2 || !words[0].ends_with(':')) return false;
    const std::string name = words[0].substr(0, words[0].size() - 1);
    if (std::find(columns_.begin(), columns_.end(), name) == columns_.end()) return false;
    legend_[name] = words[1];
    return true;
  }

  const std::string& file_;
  std::vector<std::string> columns_;
  size_t gpus_ = 0;
  std::map<std::string, std::string> legend_;
  TopologyFacts out_;
};

}  // namespace

std::vector<int> TopologyFacts::NvlinkGroups() const {
  std::vector<int> group(links.size(), -1);
  int next = 0;
  for (size_t first = 0; first < links.size(); ++first) {
    if (group[first] >= 0) continue;
    std::vector<size_t> reached = {first};
    for (size_t i = 0; i < reached.size(); ++i) {
      for (size_t j = 0; j < links.size(); ++j) {
        if (NvlinksOf(links[reached[i]][j]) == 0) continue;
        if (std::find(reached.begin(), reached.end(), j) == reached.end()) reached.push_back(j);
      }
    }
    if (reached.size() == 1) continue;
    for (const size_t i : reached) group[i] = next;
    ++next;
  }
  return group;
}

std::string TopologyFacts::NvlinkName() const {
  int least = 0;
  for (const std::vector<std::string>& row : links) {
    for (const std::string& link : row) {
      const int lanes = NvlinksOf(link);
      if (lanes > 0 && (least == 0 || lanes < least)) least = lanes;
    }
  }
  return least == 0 ? "" : fmt::format("NV{}", least);
}

Result<TopologyFacts> ParseTopology(std::string_view text, const std::string& file) {
  return Reader(file).Read(text);
}

}  // namespace shardplan::facts
