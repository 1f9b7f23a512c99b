#include "hardware/facts/smi_log.h"

#include <fmt/format.h>

#include <utility>

#include "hardware/facts/fact_text.h"
#include "shardplan/base/units.h"

namespace shardplan::facts {
namespace {

constexpr size_t kIndent = 4;
constexpr size_t kDeepest = 8;

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Result<std::vector<CardFacts>> Read(std::string_view text) {
    const std::vector<std::string> lines = LinesOf(text);
    for (size_t i = 0; i < lines.size(); ++i) SHARDPLAN_RETURN_IF_ERROR(Take(lines[i], i));
    const size_t last = lines.empty() ? 0 : lines.size() - 1;
    if (attached_ && static_cast<size_t>(*attached_) != cards_.size()) {
      return FailAt(
          file_, last,
          fmt::format("expected the {} attached GPUs, found {}", *attached_, cards_.size()),
          "is the file whole?");
    }
    if (cards_.empty()) {
      return FailAt(file_, last, "expected the output of nvidia-smi -q, found no GPU in it");
    }
    for (size_t i = 0; i < cards_.size(); ++i) {
      if (!cards_[i].name.empty() && cards_[i].total && *cards_[i].total > Bytes()) continue;
      return FailAt(file_, last,
                    fmt::format("expected Product Name and FB Memory Usage, Total of GPU {}, found "
                                "none",
                                i),
                    "is the file whole?");
    }
    for (CardFacts& card : cards_) card.driver = driver_;
    return std::move(cards_);
  }

 private:
  Status Take(const std::string& text, size_t number) {
    const size_t spaces = text.find_first_not_of(' ');
    if (spaces == std::string::npos) return {};
    const size_t depth = spaces / kIndent;
    const size_t colon = text.find(" : ");
    const std::string name(Trim(std::string_view(text).substr(0, colon)));
    const std::string value(
        colon == std::string::npos ? "" : Trim(std::string_view(text).substr(colon + 3)));
    if (depth == 0) {
      headings_.clear();
      return TakeTop(name, value, number);
    }
    if (cards_.empty() || depth > kDeepest) return {};
    if (headings_.size() >= depth) headings_.resize(depth - 1);
    if (colon == std::string::npos) {
      headings_.push_back(name);
      return {};
    }
    std::string path;
    for (const std::string& heading : headings_) path += heading + "/";
    TakeValue(path + name, value, &cards_.back());
    return {};
  }

  Status TakeTop(const std::string& name, const std::string& value, size_t number) {
    if (name == "Driver Version") driver_ = value;
    if (name == "Attached GPUs") attached_ = ParseInt(value);
    if (!name.starts_with("GPU ") || name.find(':') == std::string::npos) return {};
    if (cards_.size() == kMostCards) {
      return FailAt(file_, number, fmt::format("expected at most {} cards", kMostCards));
    }
    cards_.emplace_back();
    return {};
  }

  static void TakeValue(const std::string& path, const std::string& value, CardFacts* card) {
    if (path == "Product Name") card->name = value;
    if (path == "FB Memory Usage/Total") card->total = ParseSize(value, kMiB);
    if (path == "FB Memory Usage/Reserved") card->reserved = ParseSize(value, kMiB);
    if (path == "FB Memory Usage/Used") card->used = ParseSize(value, kMiB);
    if (path == "MIG Mode/Current") card->mig = value == "Enabled";
    if (path == "PCI/GPU Link Info/PCIe Generation/Max") card->pcie_generation = ParseInt(value);
    if (path == "PCI/GPU Link Info/Link Width/Max") {
      card->pcie_width = ParseInt(value.substr(0, value.find('x')));
    }
  }

  const std::string& file_;
  std::vector<CardFacts> cards_;
  std::vector<std::string> headings_;
  std::string driver_;
  std::optional<int> attached_;
};

}  // namespace

Result<std::vector<CardFacts>> ParseSmiLog(std::string_view text, const std::string& file) {
  return Reader(file).Read(text);
}

}  // namespace shardplan::facts
