#include "report/comparison_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "report/sections.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr char kNone[] = "-";
constexpr size_t kWidestValue = 40;  // of an option, in bytes

// What one variant has to say in a row; nothing where it has no such thing.
using Cell = std::function<std::optional<std::string>(const Plan&)>;

class Builder {
 public:
  explicit Builder(const std::vector<Variant>& variants) : variants_(variants) {}

  void Group(std::string heading) { groups_.push_back({std::move(heading), {}}); }

  void Add(std::string label, std::string unit, const Cell& cell, bool always = false) {
    ComparisonRow row = {std::move(label), std::move(unit), {}, always, false};
    bool any = false;
    for (const Variant& variant : variants_) {
      std::optional<std::string> text = cell(variant.plan);
      any = any || text.has_value();
      const bool illegal = variant.plan.verdict == Verdict::kIllegal;
      row.cells.push_back(text ? std::move(*text) : illegal ? "" : kNone);
    }
    if (any) groups_.back().rows.push_back(std::move(row));
  }

  // The same for what the fullest rank has.
  void AddRank(std::string label, std::string unit,
               const std::function<std::optional<std::string>(const RankPlan&)>& cell) {
    Add(std::move(label), std::move(unit), [&](const Plan& plan) -> std::optional<std::string> {
      const RankPlan* const rank = FullestRank(plan);
      return rank == nullptr ? std::nullopt : cell(*rank);
    });
  }

  void AddOptions() {
    if (variants_.empty()) return;
    ComparisonRow numbers = {"variant", "", {}, true, false};
    for (size_t i = 0; i < variants_.size(); ++i) numbers.cells.push_back(std::to_string(i + 1));
    groups_.back().rows.push_back(std::move(numbers));
    for (size_t i = 0; i < variants_[0].options.size(); ++i) {
      ComparisonRow row = {Printable(variants_[0].options[i].first), "", {}, true, false};
      for (const Variant& variant : variants_) {
        row.cells.push_back(Printable(variant.options[i].second, kWidestValue));
      }
      // A single value is no difference, but one of the things that are the same.
      row.always = !row.IsSameInAll();
      groups_.back().rows.push_back(std::move(row));
    }
  }

  // What the last row says is to be seen from the options' rows as well.
  void LastOnlyIfSame() { groups_.back().rows.back().only_same = true; }

  void DropLastIfAnOptionSaysIt() {
    std::vector<ComparisonRow>& rows = groups_.back().rows;
    const bool said = !rows.empty() && std::any_of(groups_[0].rows.begin(), groups_[0].rows.end(),
                                                   [&](const ComparisonRow& option) {
                                                     return option.cells == rows.back().cells;
                                                   });
    if (said) rows.pop_back();
  }

  std::vector<ComparisonGroup> Take() {
    std::erase_if(groups_, [](const ComparisonGroup& group) { return group.rows.empty(); });
    return std::move(groups_);
  }

 private:
  const std::vector<Variant>& variants_;
  std::vector<ComparisonGroup> groups_;
};

std::string InWords(Verdict verdict) {
  return verdict == Verdict::kFits         ? "fits"
         : verdict == Verdict::kDoesNotFit ? "does not fit"
                                           : "illegal";
}

// "65.546": the unit stands in the heading.
std::string Gib(Bytes bytes) {
  const std::string text = FormatGiB(bytes);
  return text.substr(0, text.find(' '));
}

void AddVerdicts(Builder* b) {
  b->Add(
      "verdict", "", [](const Plan& p) { return InWords(p.verdict); }, true);
  const auto end = [&](const char* label, Verdict Plan::*verdict) {
    b->Add(label, "", [verdict](const Plan& p) -> std::optional<std::string> {
      if (p.*verdict == p.verdict) return std::nullopt;
      return InWords(p.*verdict);
    });
  };
  end("  at the cheap end of the ranges", &Plan::verdict_low);
  end("  at the dear end of the ranges", &Plan::verdict_high);
  b->Add("what is short", "", [](const Plan& p) -> std::optional<std::string> {
    if (!p.limiting) return std::nullopt;
    return std::string(ToString(p.limiting->account));
  });
  b->Add("  on rank", "", [](const Plan& p) -> std::optional<std::string> {
    if (!p.limiting) return std::nullopt;
    return std::to_string(p.limiting->rank);
  });
  b->Add("  by", "", [](const Plan& p) -> std::optional<std::string> {
    if (!p.limiting) return std::nullopt;
    return FormatGiB(p.limiting->short_by);
  });
}

void AddDeployment(Builder* b) {
  b->Group("deployment");
  b->Add("engine", "", [](const Plan& p) {
    return fmt::format("{}@{}", Printable(p.engine), Printable(p.engine_version));
  });
  b->DropLastIfAnOptionSaysIt();
  b->Add("layout", "", [](const Plan& p) { return DescribeLayout(p); });
  b->LastOnlyIfSame();
  b->Add("card", "", [](const Plan& p) { return Printable(p.gpu, kWidestValue); });
  b->LastOnlyIfSame();
  b->Add("nodes × cards", "",
         [](const Plan& p) { return fmt::format("{} × {}", p.nodes, p.gpus_per_node); });
  b->Add("window", " tokens", [](const Plan& p) -> std::optional<std::string> {
    if (p.window.max_model_len <= 0) return std::nullopt;
    return FormatCount(p.window.max_model_len);
  });
}

void AddLedger(Builder* b, bool in_budget) {
  b->Group(in_budget ? "fullest rank: in the engine's budget, GiB"
                     : "fullest rank: outside the budget, GiB");
  const std::string unit = in_budget ? " GiB in the budget" : " GiB outside the budget";
  if (in_budget) {
    b->AddRank("rank", " is the fullest",
               [](const RankPlan& r) { return std::to_string(r.place.rank); });
  }
  for (int i = 0; i <= static_cast<int>(Account::kHeadroom); ++i) {
    const auto account = static_cast<Account>(i);
    b->AddRank(std::string(ToString(account)), unit,
               [&](const RankPlan& r) -> std::optional<std::string> {
                 Bytes sum;
                 bool present = false;
                 for (const Entry& entry : r.ledger.entries()) {
                   if (entry.account != account || entry.in_budget != in_budget) continue;
                   present = true;
                   sum += entry.bytes.central;
                 }
                 if (!present) return std::nullopt;
                 return Gib(sum);
               });
  }
  b->AddRank(in_budget ? "= budget" : "= card", " GiB",
             [&](const RankPlan& r) { return Gib(in_budget ? r.budget : r.device_total); });
}

void AddWeights(Builder* b) {
  b->AddRank("offloaded to the host", " GiB", [](const RankPlan& r) -> std::optional<std::string> {
    if (r.offloaded == Bytes()) return std::nullopt;
    return Gib(r.offloaded);
  });
  b->AddRank("to spare after what is asked", " GiB",
             [](const RankPlan& r) { return Gib(r.headroom); });
}

void AddCache(Builder* b) {
  b->Group("KV cache");
  const auto add = [&](const char* label, const char* unit, auto text) {
    b->Add(label, unit, [&](const Plan& p) -> std::optional<std::string> {
      if (!p.kv) return std::nullopt;
      return text(*p.kv);
    });
  };
  add("cache dtype", "", [](const KvPlan& kv) { return Printable(kv.dtype, kWidestValue); });
  add("tokens a block", "", [](const KvPlan& kv) { return FormatCount(kv.block_tokens); });
  add("bytes a block", "",
      [](const KvPlan& kv) { return FormatCount(kv.bytes_per_block.count()); });
  add("blocks", "", [](const KvPlan& kv) { return FormatCount(kv.num_blocks); });
  add("blocks a request", "", [](const KvPlan& kv) { return FormatCount(kv.blocks_per_request); });
  add("tokens", "", [](const KvPlan& kv) { return FormatCount(kv.tokens); });
  add("concurrency", "", [](const KvPlan& kv) { return FormatTimes(kv.max_concurrency); });
  add("full-window requests", "",
      [](const KvPlan& kv) { return FormatCount(kv.full_window_requests); });
  b->Add("concurrency, typical length", "", [](const Plan& p) -> std::optional<std::string> {
    if (!p.kv || !p.kv->typical_concurrency) return std::nullopt;
    return FormatTimes(*p.kv->typical_concurrency);
  });
}

void AddHost(Builder* b) {
  b->Group("host memory of all nodes, GiB");
  const auto add = [&](const char* label, Bytes HostPlan::*bytes) {
    b->Add(label, " GiB of host memory", [bytes](const Plan& p) -> std::optional<std::string> {
      Bytes sum;
      for (const HostPlan& host : p.host) sum += host.*bytes;
      if (sum == Bytes()) return std::nullopt;
      return Gib(sum);
    });
  };
  add("pinned", &HostPlan::pinned);
  add("pinned, really taken", &HostPlan::pinned_allocated);
}

void AddTraffic(Builder* b) {
  b->Group("links: MiB of a step, in the busier direction");
  const auto add = [&](const std::string& label, auto bytes) {
    b->Add(label, " MiB", [bytes](const Plan& p) -> std::optional<std::string> {
      if (!p.traffic) return std::nullopt;
      const double amount = bytes(*p.traffic) / static_cast<double>(kMiB);
      if (amount <= 0) return std::nullopt;
      return fmt::format("{:.{}f}", amount, amount < 10 ? 3 : 1);
    });
  };
  const auto node = [](const StepTraffic& s) {
    return static_cast<double>(s.node_network.count());
  };
  const auto card = [](const StepTraffic& s) { return static_cast<double>(s.rank_inside.count()); };
  add("network, prefill: a node", [=](const TrafficPlan& t) { return node(t.prefill); });
  add("network, decode: a node", [=](const TrafficPlan& t) { return node(t.decode); });
  add("network, a decoded token: all",
      [](const TrafficPlan& t) { return t.decode.NetworkPerToken(); });
  add("inside, prefill: a card", [=](const TrafficPlan& t) { return card(t.prefill); });
  add("inside, decode: a card", [=](const TrafficPlan& t) { return card(t.decode); });
  add("inside, a decoded token: all",
      [](const TrafficPlan& t) { return t.decode.InsidePerToken(); });
}

void AddLoading(Builder* b) {
  b->Group("loading, of the node with most");
  b->Add("tensors to read", " GiB", [](const Plan& p) -> std::optional<std::string> {
    if (!p.loading) return std::nullopt;
    Bytes most;
    for (const NodeLoading& node : p.loading->nodes) most = std::max(most, node.tensors);
    return Gib(most);
  });
}

}  // namespace

bool ComparisonRow::IsSameInAll() const {
  std::string_view seen;
  for (const std::string& cell : cells) {
    if (!cell.empty() && !seen.empty() && cell != seen) return false;
    if (!cell.empty()) seen = cell;
  }
  return true;
}

std::string ComparisonRow::Common() const {
  for (const std::string& cell : cells) {
    if (!cell.empty()) return cell;
  }
  return "";
}

const RankPlan* FullestRank(const Plan& plan) {
  if (plan.verdict == Verdict::kIllegal || plan.ranks.empty()) return nullptr;
  for (const RankPlan& rank : plan.ranks) {
    if (plan.limiting && rank.place.rank == plan.limiting->rank) return &rank;
  }
  return &*std::min_element(
      plan.ranks.begin(), plan.ranks.end(),
      [](const RankPlan& a, const RankPlan& b) { return a.headroom < b.headroom; });
}

std::vector<ComparisonGroup> ComparisonRows(const std::vector<Variant>& variants) {
  Builder builder(variants);
  builder.Group("");
  builder.AddOptions();
  AddVerdicts(&builder);
  AddDeployment(&builder);
  AddLedger(&builder, /*in_budget=*/true);
  AddLedger(&builder, /*in_budget=*/false);
  builder.Group("fullest rank: beside them, GiB");
  AddWeights(&builder);
  AddCache(&builder);
  AddHost(&builder);
  AddTraffic(&builder);
  AddLoading(&builder);
  return builder.Take();
}

}  // namespace shardplan
