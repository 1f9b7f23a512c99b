#include "shardplan/report/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/plan_document.h"
#include "report/sections.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"
#include "shardplan/launch/shell.h"

namespace shardplan {
namespace {

// The rank that is left the least.
const RankPlan* TightestRank(const Plan& plan) {
  const auto at = std::min_element(
      plan.ranks.begin(), plan.ranks.end(),
      [](const RankPlan& a, const RankPlan& b) { return a.headroom < b.headroom; });
  return at == plan.ranks.end() ? nullptr : &*at;
}

std::string TitleOf(const SearchResult& result, const SearchRequest& request) {
  return fmt::format("Layouts on {} × {} {} at most", Plural(request.nodes, "node", "nodes"),
                     result.cards_per_node, Printable(result.gpu_name));
}

std::string Overview(const SearchResult& result, size_t width) {
  return Wrap(
      fmt::format("Looked at {} in {}: {}", Plural(result.layouts, "layout", "layouts"),
                  Plural(result.evaluated, "evaluation", "evaluations"),
                  result.feasible == 0 ? "none fits"
                                       : Plural(result.feasible, "of them fits", "of them fit")),
      width, 0, 2);
}

// The partition stands among the options.
std::string WithoutPartition(const Plan& plan) {
  std::string text = DescribeLayout(plan);
  const size_t open = text.find(" (");
  if (open != std::string::npos) text.erase(open, text.find(')', open) + 1 - open);
  return text;
}

bool IsUnsure(const Candidate& c) { return c.plan.verdict_high != Verdict::kFits; }

// What the pinned allocator takes on the node that takes most.
Bytes HostOf(const Plan& plan) {
  Bytes most;
  for (const HostPlan& host : plan.host) most = std::max(most, host.pinned_allocated);
  return most;
}

std::string CandidateTable(const SearchResult& result, size_t width) {
  const auto engine = [](const Candidate& c) {
    return fmt::format("{}@{}", Printable(c.plan.engine), Printable(c.plan.engine_version));
  };
  const bool engines =
      std::any_of(result.candidates.begin(), result.candidates.end(),
                  [&](const Candidate& c) { return engine(c) != engine(result.candidates[0]); });
  std::vector<Align> columns = {Align::kRight, Align::kLeft, Align::kLeft};
  if (engines) columns.push_back(Align::kLeft);
  columns.insert(columns.end(), 6, Align::kRight);
  TextTable table(columns);
  const auto add = [&](std::vector<std::string> cells, std::string of_engine) {
    if (engines) cells.insert(cells.begin() + 2, std::move(of_engine));
    table.AddRow(std::move(cells));
  };
  add({"", "", "layout", "cards", "requests", "window", "offload", "host", "to spare"}, "engine");
  const auto gib = [](Bytes bytes) { return fmt::format("{:.1f}", InGiB(bytes).value()); };
  for (size_t i = 0; i < result.candidates.size(); ++i) {
    const Candidate& c = result.candidates[i];
    const RankPlan* const tightest = TightestRank(c.plan);
    add({fmt::format("{}{}", c.pareto ? "*" : "", i + 1), IsUnsure(c) ? "?" : "",
         WithoutPartition(c.plan), FormatCount(c.score.gpus), FormatTimes(c.score.concurrency),
         FormatCount(c.score.window), gib(c.score.offload), gib(HostOf(c.plan)),
         tightest == nullptr ? "" : gib(tightest->headroom)},
        engine(c));
  }
  std::string out = table.Render(width);
  out += Wrap("GiB: offload of a card, host memory pinned for it on a node, to spare on a card",
              width, 2, 4);
  const auto& all = result.candidates;
  if (std::any_of(all.begin(), all.end(), [](const Candidate& c) { return c.pareto; })) {
    const char* const traffic = all[0].score.network_per_token ? ", traffic between nodes" : "";
    out += Wrap(fmt::format("* of all layouts, none is better in cards, requests, window{} or "
                            "offload and as good in the rest",
                            traffic),
                width, 2, 4);
  }
  if (std::any_of(all.begin(), all.end(), IsUnsure)) {
    out += Wrap("? fits, but not at the dear end of the ranges", width, 2, 4);
  }
  return out;
}

// What limits it, what it costs, and how to plan it.
std::string Details(const Candidate& c, size_t number, size_t width) {
  std::string out = Wrap(fmt::format("{}. {}", number, DescribeLayout(c.plan)), width, 0, 4);
  if (const RankPlan* const rank = TightestRank(c.plan)) {
    out +=
        Wrap(fmt::format("limited by rank {} on stage {}: {} of weights and {} for the cache in a "
                         "budget of {}",
                         rank->place.rank, rank->place.stage, FormatGiB(rank->weights),
                         FormatGiB(rank->kv_available.central), FormatGiB(rank->budget)),
             width, 2, 4);
  }
  if (c.score.network_per_token) {
    const auto each = Bytes(std::llround(*c.score.network_per_token));
    out += Wrap(each == Bytes()
                    ? std::string("nothing crosses between nodes")
                    : fmt::format("between nodes: {} for each decoded token", FormatAuto(each)),
                width, 2, 4);
  }
  for (const Finding& finding : c.plan.findings) {
    if (finding.severity != Severity::kWarning) continue;
    out += Wrap(fmt::format("warning {}: {}", finding.id, Printable(finding.message, 300)), width,
                2, 4);
  }
  if (c.alike > 0) {
    out += Wrap(c.alike == 1
                    ? "another layout of the same TP, PP and DP fits and ranks below"
                    : fmt::format("{} more layouts of the same TP, PP and DP fit and rank below",
                                  FormatCount(c.alike)),
                width, 2, 4);
  }
  std::string command;
  for (const std::string& word : CommandOf(c)) {
    command += (command.empty() ? "  " : " ") + ShellQuote(word);
  }
  return out + command + "\n";
}

std::string Rejections(const SearchResult& result, size_t width) {
  TextTable table({Align::kRight, Align::kLeft, Align::kLeft});
  for (const Rejection& r : result.rejected) {
    table.AddRow({FormatCount(r.count), Printable(r.reason_id), Printable(r.example, 300)});
  }
  return "Rejected, by reason\n" + table.Render(width);
}

Document ToDocument(const SearchResult& result) {
  Document candidates = Document::array();
  for (const Candidate& c : result.candidates) {
    Document plan = PlanDocument(c.plan);
    Document settings = Document::object();
    for (const auto& [option, value] : c.settings) settings[option] = value;
    for (const auto& [option, value] : c.chosen) {
      settings[option] = value.empty() ? "true" : value;
    }
    Document limiting = nullptr;
    if (const RankPlan* const rank = TightestRank(c.plan)) {
      limiting = {{"rank", rank->place.rank},
                  {"account", ToString(Account::kKvCache)},
                  {"headroom_bytes", rank->headroom.count()}};
    }
    candidates.push_back(
        {{"engine", plan["engine"]},
         {"nodes", c.plan.nodes},
         {"layout", plan["layout"]},
         {"engine_settings", std::move(settings)},
         {"kv_cache", plan["kv_cache"]},
         {"limiting", std::move(limiting)},
         {"score",
          {{"concurrency", c.score.concurrency},
           {"window", c.score.window},
           {"gpus", c.score.gpus},
           {"offloaded_bytes", c.score.offload.count()},
           {"network_bytes_per_token",
            c.score.network_per_token ? Document(*c.score.network_per_token) : Document(nullptr)},
           {"pareto", c.pareto}}},
         {"verdict", ToString(c.plan.verdict)},
         {"findings", plan["findings"]},
         {"argv", CommandOf(c)}});
  }
  Document rejected = Document::array();
  for (const Rejection& r : result.rejected) {
    rejected.push_back({{"reason_id", r.reason_id}, {"count", r.count}, {"example", r.example}});
  }
  Document nearest = Document::array();
  for (const Finding& f : result.nearest) {
    nearest.push_back({{"id", f.id},
                       {"severity", ToString(f.severity)},
                       {"subject", f.subject},
                       {"message", f.message},
                       {"fix", f.fix}});
  }
  return {{"schema_version", 1},
          {"layouts", result.layouts},
          {"evaluated", result.evaluated},
          {"feasible", result.feasible},
          {"candidates", std::move(candidates)},
          {"rejected", std::move(rejected)},
          {"nearest", std::move(nearest)}};
}

}  // namespace

std::vector<std::string> CommandOf(const Candidate& candidate) {
  const Deployment& d = candidate.deployment;
  std::vector<std::string> words = {"shardplan", "plan"};
  words.insert(words.end(), candidate.words.begin(), candidate.words.end());
  const auto add = [&](std::string name, std::string value) {
    words.push_back(std::move(name));
    words.push_back(std::move(value));
  };
  const auto add_size = [&](const char* name, int64_t value) {
    if (value > 1) add(name, std::to_string(value));
  };
  add("--nodes", std::to_string(d.nodes.value_or(1)));
  add("--tp", std::to_string(d.sizes.tp));
  add_size("--pp", d.sizes.pp);
  if (d.partition) add("--pp-partition", fmt::format("{}", fmt::join(*d.partition, ",")));
  add_size("--dp", d.sizes.dp);
  add_size("--dcp", d.sizes.dcp);
  if (d.engine == "sglang") {
    if (d.sglang.enable_dp_attention) words.emplace_back("--enable-dp-attention");
    add_size("--ep-size", d.sglang.ep_size);
  } else if (d.sizes.expert_parallel) {
    words.emplace_back("--enable-expert-parallel");
  }
  for (const auto& [option, value] : candidate.chosen) {
    words.push_back("--" + option);
    if (!value.empty()) words.push_back(value);
  }
  return words;
}

std::string RenderSearchTable(const SearchResult& result, const SearchRequest& request,
                              const TableOptions& options) {
  const auto width = static_cast<size_t>(std::max(options.width, 40));
  std::string by;
  for (const Objective objective : request.objectives) {
    by += fmt::format("{}{}", by.empty() ? "" : ", ", ToString(objective));
  }
  std::string out = Wrap(TitleOf(result, request), width, 0, 2) + Overview(result, width) + "\n";
  if (!result.candidates.empty()) {
    out += Wrap("Best first, by " + by, width, 0, 2) + CandidateTable(result, width) + "\n";
    for (size_t i = 0; i < result.candidates.size(); ++i) {
      out += Details(result.candidates[i], i + 1, width) + "\n";
    }
  }
  if (!result.rejected.empty()) out += Rejections(result, width) + "\n";
  const size_t told = result.candidates.size();
  for (const Finding& f : result.nearest) {
    out += Wrap(fmt::format("nearest: {}: {}", f.id, Printable(f.message, 600)), width, 0, 2);
    if (!f.fix.empty()) out += Wrap("fix: " + Printable(f.fix, 600), width, 4, 6);
  }
  if (!result.nearest.empty()) out += "\n";
  std::string closing = "no layout fits";
  if (told > 0) {
    closing = fmt::format("best: {}; {} windows of {} tokens at once",
                          DescribeLayout(result.candidates[0].plan),
                          FormatTimes(result.candidates[0].score.concurrency),
                          FormatCount(result.candidates[0].score.window));
  }
  std::string last = Wrap(closing, width, 0, 2);
  if (options.color) {
    last = (told > 0 ? "\x1b[1;32m" : "\x1b[1;31m") + last.substr(0, last.size() - 1) + "\x1b[0m\n";
  }
  return out + last;
}

std::string RenderSearchJson(const SearchResult& result) { return DumpJson(ToDocument(result)); }

std::string RenderSearchYaml(const SearchResult& result) { return DumpYaml(ToDocument(result)); }

}  // namespace shardplan
