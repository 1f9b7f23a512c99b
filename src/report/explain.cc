#include "shardplan/report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/document.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string Arithmetic(const WeightItem& item) {
  if (item.count > 1 && item.bytes.count() % item.count == 0) {
    return fmt::format("{} × {}", FormatCount(item.count),
                       FormatBytes(Bytes(item.bytes.count() / item.count)));
  }
  return FormatBytes(item.bytes);
}

Document ToDocument(const Explanation& explanation) {
  Document items = Document::array();
  for (const ExplainItem& item : explanation.items) {
    items.push_back({{"name", item.name},
                     {"rule", item.rule},
                     {"shape", item.shape.empty() ? Document(nullptr) : Document(item.shape)},
                     {"arithmetic", item.arithmetic},
                     {"bytes", item.bytes.count()},
                     {"basis", ToString(item.basis)},
                     {"source", item.source}});
  }
  return {{"schema_version", 1},
          {"rank", explanation.rank},
          {"account", explanation.account},
          {"bytes", explanation.bytes.count()},
          {"items", items}};
}

}  // namespace

Explanation ExplanationOfWeights(const RankPlan& rank, const std::vector<WeightItem>& items) {
  Explanation out;
  out.rank = rank.place.rank;
  out.account = ToString(Account::kWeights);
  for (const WeightItem& item : items) {
    out.items.push_back(
        {item.name, item.rule, item.shape, Arithmetic(item), item.bytes, item.basis, item.source});
  }
  const auto add = [&](std::string name, std::string rule, Bytes bytes, std::string source) {
    if (bytes == Bytes()) return;
    out.items.push_back({std::move(name), std::move(rule), "", FormatBytes(bytes), bytes,
                         Basis::kDerived, std::move(source)});
  };
  // A measured figure has what it tells beyond parameters and buffers in the same place.
  const std::vector<Entry>& entries = rank.ledger.entries();
  const auto weights = std::find_if(entries.begin(), entries.end(), [](const Entry& entry) {
    return entry.account == Account::kWeights;
  });
  if (weights != entries.end() && weights->basis == Basis::kMeasured) {
    out.items.push_back({"measured beyond parameters and buffers", "the printed figure less them",
                         "", FormatBytes(rank.detail.rounding), rank.detail.rounding,
                         Basis::kMeasured, weights->source});
  } else {
    add("allocator rounding",
        "tensors of 10 MiB or more: a rest of at most 1 MiB in their last 2 MiB is kept",
        rank.detail.rounding, "engine profile");
  }
  add("offloaded to host memory",
      "whole parameters in the engine's order until the budget is passed", -rank.offloaded,
      "--cpu-offload-gb");
  for (const ExplainItem& item : out.items) out.bytes += item.bytes;
  std::stable_sort(out.items.begin(), out.items.end(),
                   [](const ExplainItem& a, const ExplainItem& b) {
                     return std::tie(b.bytes, a.name) < std::tie(a.bytes, b.name);
                   });
  return out;
}

Explanation ExplanationOfAccount(const RankPlan& rank, Account account) {
  Explanation out;
  out.rank = rank.place.rank;
  out.account = ToString(account);
  for (const Entry& entry : rank.ledger.entries()) {
    if (entry.account != account) continue;
    std::string arithmetic = FormatBytes(entry.bytes.central);
    if (entry.bytes.low != entry.bytes.high) {
      arithmetic +=
          fmt::format(" ({} to {})", FormatBytes(entry.bytes.low), FormatBytes(entry.bytes.high));
    }
    out.bytes += entry.bytes.central;
    const std::string side =
        entry.in_budget ? "counted by the engine, in its budget" : "outside the engine's budget";
    if (entry.parts.empty()) {
      out.items.push_back({out.account, side, "", std::move(arithmetic), entry.bytes.central,
                           entry.basis, entry.source});
      continue;
    }
    for (const Part& part : entry.parts) {
      out.items.push_back({part.name, side, "", part.rule, part.bytes, entry.basis, entry.source});
    }
  }
  return out;
}

std::string RenderExplanationTable(const Explanation& explanation, int width) {
  const auto columns = static_cast<size_t>(std::max(width, 40));
  std::string out =
      fmt::format("{} of rank {}: {} = {}\n", Printable(explanation.account), explanation.rank,
                  FormatBytes(explanation.bytes), FormatGiB(explanation.bytes));
  if (explanation.items.empty()) return out + "  nothing: the rank's ledger has no such entry\n";
  constexpr size_t kNumber = 12;  // "-123.456 GiB"
  for (const ExplainItem& item : explanation.items) {
    out += PadLeft(FormatAuto(item.bytes), kNumber) + "  ";
    const std::vector<std::string> name =
        WrapLines(Printable(item.name, 400), columns - kNumber - 2, 0, 2);
    const std::string margin(kNumber + 2, ' ');
    for (size_t i = 0; i < name.size(); ++i) out += (i > 0 ? margin : "") + name[i] + "\n";
    if (name.empty()) out += "\n";
    std::string detail = Printable(item.arithmetic, 400);
    if (!item.shape.empty()) detail += " · " + Printable(item.shape, 400);
    if (!item.rule.empty()) detail += " · " + Printable(item.rule, 400);
    out += Wrap(detail, columns, margin.size(), margin.size());
    std::string source(ToString(item.basis));
    if (!item.source.empty()) source += ": " + Printable(item.source, 1000);
    out += Wrap(source, columns, margin.size(), margin.size());
  }
  return out;
}

std::string RenderExplanationJson(const Explanation& explanation) {
  return DumpJson(ToDocument(explanation));
}
std::string RenderExplanationYaml(const Explanation& explanation) {
  return DumpYaml(ToDocument(explanation));
}

}  // namespace shardplan
