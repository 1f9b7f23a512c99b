#include "shardplan/report/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

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

// What --vary gave it, behind the name of its layout: "TP8 × PP2, kv-cache-dtype fp8". Sizes stand
// in the name, engines in a column of their own.
std::string WithSettings(std::string name, const Candidate& c) {
  for (const auto& [option, value] : c.settings) {
    static const std::set<std::string> kNamed = {"engine",
                                                 "tp",
                                                 "pp",
                                                 "dp",
                                                 "dcp",
                                                 "ep-size",
                                                 "tensor-parallel-size",
                                                 "pipeline-parallel-size",
                                                 "data-parallel-size",
                                                 "decode-context-parallel-size",
                                                 "tp-size",
                                                 "pp-size",
                                                 "dp-size",
                                                 "dcp-size",
                                                 "enable-expert-parallel",
                                                 "pp-partition"};
    if (kNamed.contains(option)) continue;
    name += ", " + Printable(option) + (value.empty() ? "" : " " + Printable(value, 40));
  }
  return name;
}

std::string NameOf(const Candidate& c) { return WithSettings(DescribeLayout(c.plan), c); }

bool IsUnsure(const Candidate& c) { return c.plan.verdict_high != Verdict::kFits; }

// What the pinned allocator takes on the node that takes most.
Bytes HostOf(const Plan& plan) {
  Bytes most;
  for (const HostPlan& host : plan.host) most = std::max(most, host.pinned_allocated);
  return most;
}

// How the table of candidates is drawn: as wide as it is, with shorter words, or with the layout
// last, where it wraps.
enum class Drawing { kWide, kShort, kLayoutLast };

TextTable MakeTable(const SearchResult& result, Drawing drawing) {
  const bool is_short = drawing != Drawing::kWide;
  const bool last = drawing == Drawing::kLayoutLast;
  const auto engine = [](const Candidate& c) {
    return fmt::format("{}@{}", Printable(c.plan.engine), Printable(c.plan.engine_version));
  };
  const auto differs = [&](const auto& of) {
    return std::any_of(result.candidates.begin(), result.candidates.end(),
                       [&](const Candidate& c) { return of(c) != of(result.candidates[0]); });
  };
  const bool engines = differs(engine);
  // Without versions where each engine has one alone.
  const bool names =
      std::none_of(result.candidates.begin(), result.candidates.end(), [&](const Candidate& a) {
        return std::any_of(result.candidates.begin(), result.candidates.end(),
                           [&](const Candidate& b) {
                             return a.plan.engine == b.plan.engine && engine(a) != engine(b);
                           });
      });
  std::vector<Align> columns = {Align::kRight, Align::kLeft};
  if (engines) columns.push_back(Align::kLeft);
  if (!last) columns.push_back(Align::kLeft);
  columns.insert(columns.end(), 6, Align::kRight);
  if (last) columns.push_back(Align::kLeft);
  TextTable table(columns);
  const auto add = [&](std::vector<std::string> cells, std::string layout, std::string of_engine) {
    cells.insert(last ? cells.end() : cells.begin() + 2, std::move(layout));
    if (engines) cells.insert(cells.begin() + 2, std::move(of_engine));
    table.AddRow(std::move(cells));
  };
  add({"", "", "cards", "requests", "window", "offload", "host", "to spare"}, "layout", "engine");
  const auto gib = [](Bytes bytes) { return fmt::format("{:.1f}", InGiB(bytes).value()); };
  for (size_t i = 0; i < result.candidates.size(); ++i) {
    const Candidate& c = result.candidates[i];
    const RankPlan* const tightest = TightestRank(c.plan);
    std::string layout = WithoutPartition(c.plan);
    constexpr std::string_view kExperts = " with expert parallel";
    if (const size_t at = layout.find(kExperts); is_short && at != std::string::npos) {
      layout.replace(at, kExperts.size(), ", EP");
    }
    layout = WithSettings(std::move(layout), c);
    if (c.narrowed) layout += ", FP8 cache";
    add({fmt::format("{}{}", c.pareto ? "*" : "", i + 1), IsUnsure(c) ? "?" : "",
         FormatCount(c.score.gpus), FormatTimes(c.score.concurrency), FormatCount(c.score.window),
         gib(c.score.offload), gib(HostOf(c.plan)),
         tightest == nullptr ? "" : gib(tightest->headroom)},
        layout, is_short && names ? Printable(c.plan.engine) : engine(c));
  }
  return table;
}

std::string CandidateTable(const SearchResult& result, size_t width) {
  Drawing drawing = Drawing::kWide;
  if (MakeTable(result, drawing).NaturalWidth() > width) drawing = Drawing::kShort;
  if (MakeTable(result, drawing).NaturalWidth() > width) drawing = Drawing::kLayoutLast;
  std::string out = MakeTable(result, drawing).Render(width);
  if (drawing != Drawing::kWide) {
    out += Wrap("EP: whole experts, over all ranks that hold a layer", width, 2, 4);
  }
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
std::string Limits(const Candidate& c, size_t width, size_t indent = 2) {
  std::string out;
  if (const RankPlan* const rank = TightestRank(c.plan)) {
    out +=
        Wrap(fmt::format("limited by rank {} on stage {}: {} of weights and {} for the cache in a "
                         "budget of {}",
                         rank->place.rank, rank->place.stage, FormatGiB(rank->weights),
                         FormatGiB(rank->kv_available.central), FormatGiB(rank->budget)),
             width, indent, indent + 2);
  }
  if (c.score.network_per_token) {
    const auto each = Bytes(std::llround(*c.score.network_per_token));
    out += Wrap(each == Bytes()
                    ? std::string("nothing crosses between nodes")
                    : fmt::format("between nodes: {} for each decoded token", FormatAuto(each)),
                width, indent, indent + 2);
  }
  if (c.narrowed) {
    out += Wrap(fmt::format("changes precision: its cache holds FP8 (--kv-cache-dtype {}), which "
                            "nobody asked for; nothing milder was enough",
                            c.deployment.engine == "sglang"
                                ? c.deployment.sglang.kv_cache_dtype
                                : c.deployment.settings.kv_cache_dtype.value_or("auto")),
                width, indent, indent + 2);
  }
  return out;
}

std::string CommandLine(const Candidate& c) {
  std::string command;
  for (const std::string& word : CommandOf(c)) {
    command += (command.empty() ? "  " : " ") + ShellQuote(word);
  }
  return command + "\n";
}

std::string Details(const Candidate& c, size_t number, size_t width) {
  std::string out = Wrap(fmt::format("{}. {}", number, NameOf(c)), width, 0, 4);
  out += Limits(c, width);
  for (const Finding& finding : c.plan.findings) {
    if (finding.severity != Severity::kWarning) continue;
    const std::string subject =
        finding.subject.empty() ? "" : Printable(finding.subject, 80) + ": ";
    out +=
        Wrap(fmt::format("warning {}: {}{}", finding.id, subject, Printable(finding.message, 300)),
             width, 2, 4);
  }
  if (c.alike > 0) {
    out += Wrap(c.alike == 1
                    ? "another layout of the same TP, PP and DP fits and ranks below"
                    : fmt::format("{} more layouts of the same TP, PP and DP fit and rank below",
                                  FormatCount(c.alike)),
                width, 2, 4);
  }
  return out + CommandLine(c);
}

std::string Capacity(const Candidate& c) {
  return fmt::format("{} windows of {} tokens at once", FormatTimes(c.score.concurrency),
                     FormatCount(c.score.window));
}

// By their ids: whoever takes it plans it.
std::string Warnings(const Candidate& c) {
  std::string ids;
  for (const Finding& finding : c.plan.findings) {
    if (finding.severity != Severity::kWarning) continue;
    if (ids.find(finding.id) != std::string::npos) continue;
    ids += (ids.empty() ? "" : ", ") + finding.id;
  }
  return ids;
}

// What the other kinds of layout would do.
std::string Instead(const SearchResult& result, size_t width) {
  if (result.instead.empty()) return "";
  std::string out = "Instead\n";
  for (const Alternative& other : result.instead) {
    const std::string kind(ToString(other.kind));
    if (!other.candidate) {
      out += Wrap(fmt::format("{}: none fits; the nearest, {}", kind, Printable(other.miss, 300)),
                  width, 2, 4);
      continue;
    }
    const Candidate& c = *other.candidate;
    std::string text = fmt::format("{}: {} on {}; {}", kind, NameOf(c),
                                   Plural(c.score.gpus, "card", "cards"), Capacity(c));
    if (c.score.offload > Bytes()) {
      text += fmt::format(", with {} of a card's weights in host memory",
                          FormatGiB(c.score.offload, 1));
    }
    out += Wrap(text, width, 2, 4) + Limits(c, width, 4);
    if (const std::string ids = Warnings(c); !ids.empty()) {
      out += Wrap("warnings: " + Printable(ids, 300), width, 4, 6);
    }
    out += "  " + CommandLine(c);
  }
  return out + "\n";
}

// What runs now, where a command was given, and what of it the search left open.
std::string Today(const SearchResult& result, const SearchRequest& request, size_t width) {
  std::string out;
  if (result.today) {
    const Candidate& c = *result.today;
    std::string text = "today: " + DescribeLayout(c.plan);
    if (c.plan.verdict == Verdict::kFits) {
      text += fmt::format(" on {}; {}", Plural(c.score.gpus, "card", "cards"), Capacity(c));
      if (c.score.offload > Bytes()) {
        text += fmt::format(", {} of a card offloaded", FormatGiB(c.score.offload, 1));
      }
    } else {
      const auto error =
          std::find_if(c.plan.findings.begin(), c.plan.findings.end(),
                       [](const Finding& f) { return f.severity == Severity::kError; });
      text += error == c.plan.findings.end() ? std::string("; does not fit")
                                             : "; " + Printable(error->message, 300);
    }
    out += Wrap(text, width, 0, 2);
  }
  if (!request.freed.empty()) {
    out += Wrap(fmt::format("free in this search, although the command gives them: {}; the rest of "
                            "it stays. Give one beside the command to keep it",
                            Printable(fmt::format("{}", fmt::join(request.freed, ", ")), 400)),
                width, 0, 2);
  }
  return out;
}

std::string Rejections(const SearchResult& result, size_t width) {
  TextTable table({Align::kRight, Align::kLeft, Align::kLeft});
  for (const Rejection& r : result.rejected) {
    table.AddRow({FormatCount(r.count), Printable(r.reason_id), Printable(r.example, 300)});
  }
  return "Rejected, by reason\n" + table.Render(width);
}

Document ToDocument(const Candidate& c) {
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
  return {{"engine", plan["engine"]},
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
          {"precision_changed", c.narrowed},
          {"verdict", ToString(c.plan.verdict)},
          {"findings", plan["findings"]},
          {"argv", CommandOf(c)}};
}

Document ToDocument(const SearchResult& result) {
  Document candidates = Document::array();
  for (const Candidate& c : result.candidates) candidates.push_back(ToDocument(c));
  Document instead = Document::array();
  for (const Alternative& other : result.instead) {
    instead.push_back(
        {{"kind", ToString(other.kind)},
         {"candidate", other.candidate ? ToDocument(*other.candidate) : Document(nullptr)},
         {"miss", other.candidate ? Document(nullptr) : Document(other.miss)}});
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
          {"today", result.today ? ToDocument(*result.today) : Document(nullptr)},
          {"candidates", std::move(candidates)},
          {"instead", std::move(instead)},
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
  std::string out = Wrap(TitleOf(result, request), width, 0, 2) + Overview(result, width) +
                    Today(result, request, width) + "\n";
  if (!result.candidates.empty()) {
    out += Wrap("Best first, by " + by, width, 0, 2) + CandidateTable(result, width) + "\n";
    for (size_t i = 0; i < result.candidates.size(); ++i) {
      out += Details(result.candidates[i], i + 1, width) + "\n";
    }
    out += Instead(result, width);
  }
  if (!result.rejected.empty()) out += Rejections(result, width) + "\n";
  const size_t told = result.candidates.size();
  for (const Finding& f : result.nearest) {
    out += Wrap(fmt::format("nearest: {}: {}", f.id, Printable(f.message, 600)), width, 0, 2);
    out += FixLines(f.fix, 600, width);
  }
  if (!result.nearest.empty()) out += "\n";
  std::string closing = "no layout fits";
  if (told > 0) {
    const Candidate& best = result.candidates[0];
    closing = fmt::format("best: {}; {}", NameOf(best), Capacity(best));
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
