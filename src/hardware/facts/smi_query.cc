#include "hardware/facts/smi_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hardware/facts/fact_text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::facts {
namespace {

constexpr std::string_view kHow =
    "nvidia-smi --query-gpu=name,memory.total,memory.reserved,memory.used,driver_version "
    "--format=csv prints it";

// A value of a column by its name, whatever unit stands behind it in the header; empty without.
class Row {
 public:
  Row(const std::vector<std::string>& header, const std::vector<std::string>& cells)
      : header_(header), cells_(cells) {}

  std::string Of(std::string_view name) const {
    for (size_t i = 0; i < header_.size(); ++i) {
      if (std::string_view(header_[i]).substr(0, header_[i].find(' ')) == name) return cells_[i];
    }
    return "";
  }
  std::optional<Bytes> Size(std::string_view name) const { return ParseSize(Of(name), kMiB); }

 private:
  const std::vector<std::string>& header_;
  const std::vector<std::string>& cells_;
};

}  // namespace

Result<std::vector<CardFacts>> ParseSmiQuery(std::string_view text, const std::string& file) {
  const std::vector<std::string> lines = LinesOf(text);
  size_t at = 0;
  while (at < lines.size() && Trim(lines[at]).empty()) ++at;
  if (at == lines.size())
    return FailAt(file, 0, "expected a header, found nothing", std::string(kHow));
  const std::vector<std::string> header = Split(lines[at], ',');
  const auto has = [&](std::string_view name) {
    return std::any_of(header.begin(), header.end(), [&](const std::string& column) {
      return std::string_view(column).substr(0, column.find(' ')) == name;
    });
  };
  for (const char* const name : {"name", "memory.total"}) {
    if (has(name)) continue;
    return FailAt(file, at, fmt::format("expected a column {}, found none", name),
                  std::string(kHow));
  }
  std::vector<CardFacts> cards;
  for (++at; at < lines.size(); ++at) {
    if (Trim(lines[at]).empty()) continue;
    const std::vector<std::string> cells = Split(lines[at], ',');
    if (cells.size() != header.size()) {
      return FailAt(file, at,
                    fmt::format("expected {} columns, found {}", header.size(), cells.size()),
                    "is the file whole?");
    }
    if (cards.size() == kMostCards) {
      return FailAt(file, at, fmt::format("expected at most {} cards", kMostCards));
    }
    const Row row(header, cells);
    CardFacts card;
    card.name = row.Of("name");
    card.total = row.Size("memory.total");
    if (card.name.empty() || !card.total || *card.total <= Bytes()) {
      return FailAt(file, at,
                    fmt::format("expected a card's name and memory.total, found {}",
                                Printable(Trim(lines[at]), 60)));
    }
    card.reserved = row.Size("memory.reserved");
    card.used = row.Size("memory.used");
    card.driver = row.Of("driver_version");
    card.pcie_generation = ParseInt(row.Of("pcie.link.gen.max"));
    card.pcie_width = ParseInt(row.Of("pcie.link.width.max"));
    card.mig = row.Of("mig.mode.current") == "Enabled";
    cards.push_back(std::move(card));
  }
  if (cards.empty()) return FailAt(file, 0, "expected a line for each card, found none");
  return cards;
}

}  // namespace shardplan::facts
