#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "report/sections.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// One pipeline stage, shown by its fullest rank.
struct StageColumn {
  int64_t stage = 0;
  std::vector<int64_t> ranks;
  const RankPlan* shown = nullptr;
  bool differ = false;  // some rank of the stage has other numbers
};

bool SameNumbers(const RankPlan& a, const RankPlan& b) {
  const auto key = [](const Entry& e) {
    return std::make_tuple(e.account, e.in_budget, e.bytes.low, e.bytes.central, e.bytes.high);
  };
  const std::vector<Entry>& x = a.ledger.entries();
  const std::vector<Entry>& y = b.ledger.entries();
  return x.size() == y.size() &&
         std::equal(x.begin(), x.end(), y.begin(),
                    [&](const Entry& p, const Entry& q) { return key(p) == key(q); });
}

std::vector<StageColumn> StageColumns(const Plan& plan) {
  std::vector<StageColumn> columns;
  for (const RankPlan& rank : plan.ranks) {
    auto it = std::find_if(columns.begin(), columns.end(), [&](const StageColumn& column) {
      return column.stage == rank.place.stage;
    });
    if (it == columns.end()) {
      columns.push_back({rank.place.stage, {rank.place.rank}, &rank, false});
      continue;
    }
    it->ranks.push_back(rank.place.rank);
    it->differ = it->differ || !SameNumbers(*it->shown, rank);
    if (rank.headroom < it->shown->headroom) it->shown = &rank;
  }
  std::sort(columns.begin(), columns.end(),
            [](const StageColumn& a, const StageColumn& b) { return a.stage < b.stage; });
  return columns;
}

// An account on one side of the budget, summed over its entries.
struct Cell {
  bool present = false;
  Range bytes;
  Basis basis = Basis::kExact;
};

Cell SumOf(const RankPlan& rank, Account account, bool in_budget) {
  Cell cell;
  for (const Entry& entry : rank.ledger.entries()) {
    if (entry.account != account || entry.in_budget != in_budget) continue;
    cell.present = true;
    cell.bytes += entry.bytes;
    cell.basis = Softer(cell.basis, entry.basis);
  }
  return cell;
}

// "65.546": the unit stands above the table.
std::string Gib(Bytes bytes) {
  std::string text = FormatGiB(bytes);
  return text.substr(0, text.find(' '));
}

std::string RangeText(const Range& bytes) {
  if (Gib(bytes.low) == Gib(bytes.high)) return "";
  return fmt::format("{} to {}", Gib(bytes.low), Gib(bytes.high));
}

// The accounts of a ledger, in the order of the enum.
constexpr Account kAccounts[] = {
    Account::kDriverReserved, Account::kInUseByOthers, Account::kCudaContext,
    Account::kCommunication,  Account::kWeights,       Account::kActivations,
    Account::kCudaGraphs,     Account::kWorkspace,     Account::kKvCache,
    Account::kStateCache,     Account::kHeadroom};

// Columns: label, basis, then number and range of each stage.
class LedgerTable {
 public:
  explicit LedgerTable(std::vector<StageColumn> stages)
      : stages_(std::move(stages)), table_(Columns(stages_.size()), 4) {
    std::vector<std::string> names = {"", ""};
    std::vector<std::string> ranks = {"", "basis"};
    for (const StageColumn& column : stages_) {
      names.insert(names.end(), {fmt::format("stage {}", column.stage), ""});
      ranks.insert(ranks.end(), {fmt::format("{} {}", column.ranks.size() == 1 ? "rank" : "ranks",
                                             FormatRuns(column.ranks)),
                                 "low to high"});
    }
    table_.AddRow(std::move(names));
    table_.AddRow(std::move(ranks));
    AddSide("counted by the engine, in its budget", true);
    AddTotal("= budget", [](const RankPlan& rank) { return rank.budget; });
    AddSide("outside the budget", false);
    AddTotal("= card", [](const RankPlan& rank) { return rank.device_total; });
    AddWeights();
  }

  size_t NaturalWidth() const { return table_.NaturalWidth(); }
  std::string Render(size_t width) const { return table_.Render(width); }

 private:
  static std::vector<Align> Columns(size_t stages) {
    std::vector<Align> columns = {Align::kLeft, Align::kLeft};
    for (size_t i = 0; i < stages; ++i) {
      columns.insert(columns.end(), {Align::kRight, Align::kLeft});
    }
    return columns;
  }

  void AddSide(std::string heading, bool in_budget) {
    table_.AddHeading(std::move(heading));
    for (const Account account : kAccounts) {
      std::vector<std::string> row = {std::string(ToString(account)), ""};
      Basis basis = Basis::kExact;
      bool present = false;
      for (const StageColumn& column : stages_) {
        const Cell cell = SumOf(*column.shown, account, in_budget);
        present = present || cell.present;
        if (cell.present) basis = Softer(basis, cell.basis);
        row.insert(row.end(), {cell.present ? Gib(cell.bytes.central) : "",
                               cell.present ? RangeText(cell.bytes) : ""});
      }
      if (!present) continue;
      row[1] = ToString(basis);
      table_.AddRow(std::move(row));
    }
  }

  template <typename Pick>
  void AddTotal(std::string label, Pick pick) {
    std::vector<std::string> row = {std::move(label), ""};
    for (const StageColumn& column : stages_) row.insert(row.end(), {Gib(pick(*column.shown)), ""});
    table_.AddRow(std::move(row));
  }

  void AddWeights() {
    table_.AddHeading("weights in detail");
    AddTotal("parameters, as created", [](const RankPlan& r) { return r.detail.parameters; });
    AddTotal("buffers", [](const RankPlan& r) { return r.detail.buffers; });
    AddTotal("post-load processing", [](const RankPlan& r) { return r.detail.post_load; });
    AddTotal("allocator rounding", [](const RankPlan& r) { return r.detail.rounding; });
    AddTotal("- offloaded to the host", [](const RankPlan& r) { return -r.offloaded; });
    AddTotal("= resident", [](const RankPlan& r) { return r.weights; });
    AddTotal("peak while loading", [](const RankPlan& r) { return r.load_peak; });
  }

  std::vector<StageColumn> stages_;
  TextTable table_;
};

}  // namespace

std::string RankSection(const Plan& plan, size_t width) {
  std::vector<StageColumn> columns = StageColumns(plan);
  if (columns.empty()) return "";
  std::string out = "Memory of one rank, GiB\n";
  for (size_t begin = 0; begin < columns.size();) {
    // As many stages side by side as fit, one at least.
    size_t end = begin + 1;
    LedgerTable table({columns.begin() + static_cast<ptrdiff_t>(begin),
                       columns.begin() + static_cast<ptrdiff_t>(end)});
    while (end < columns.size()) {
      LedgerTable wider({columns.begin() + static_cast<ptrdiff_t>(begin),
                         columns.begin() + static_cast<ptrdiff_t>(end) + 1});
      if (wider.NaturalWidth() > width) break;
      table = std::move(wider);
      ++end;
    }
    if (begin > 0) out += '\n';
    out += table.Render(width);
    begin = end;
  }
  for (const StageColumn& column : columns) {
    if (!column.differ) continue;
    out += Wrap(fmt::format("The ranks of stage {} differ; shown is the fullest, rank {}.",
                            column.stage, column.shown->place.rank),
                width, 2, 2);
  }
  double assumed = 0;
  for (const RankPlan& rank : plan.ranks) assumed = std::max(assumed, rank.ledger.AssumedShare());
  return out + Wrap(fmt::format("{:.1f} % of these bytes rest on assumptions, headroom aside.",
                                100 * assumed),
                    width, 2, 2);
}

std::string SourcesSection(const Plan& plan, size_t width) {
  std::string out;
  std::set<std::string> said;
  TextTable table({Align::kLeft, Align::kLeft, Align::kLeft});
  for (const StageColumn& column : StageColumns(plan)) {
    for (const Entry& entry : column.shown->ledger.entries()) {
      const std::string account(ToString(entry.account));
      if (!said.insert(account + entry.source).second) continue;
      table.AddRow({account, std::string(ToString(entry.basis)), Printable(entry.source, 2000)});
    }
  }
  return said.empty() ? "" : "Where the numbers come from\n" + table.Render(width);
}

}  // namespace shardplan
