#include "report/review_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "report/sections.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"
#include "shardplan/launch/shell.h"

namespace shardplan {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kWhole = 4000;  // of texts that are shown uncut, within reason

// Text as it is, between fences that are longer than any in it.
std::string Fenced(std::string_view text) {
  size_t longest = 0;
  size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(std::max<size_t>(3, longest + 1), '`');
  std::string out = fence + "text\n" + std::string(text);
  if (!out.ends_with('\n')) out += '\n';
  return out + fence + "\n";
}

// The same within a line: a value that may hold anything.
std::string Code(std::string_view text) {
  const std::string shown = Printable(text, kWhole);
  size_t longest = 0;
  size_t run = 0;
  for (const char c : shown) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string tick(longest + 1, '`');
  const bool padded = longest > 0;
  return tick + (padded ? " " : "") + shown + (padded ? " " : "") + tick;
}

std::string Section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format("\n## {}\n\n{}", title, text);
}

std::string Files(const Bundle& bundle) {
  std::string out;
  for (const Artefact& file : bundle.files) {
    out += "- " + Code(file.path);
    if (!file.purpose.empty()) out += ": " + Printable(file.purpose, kWhole);
    out += "\n";
  }
  return out +
         "- `README.md`: this sheet\n- `plan.json`: the evaluation that all of this comes from\n";
}

std::string Variables(const Bundle& bundle) {
  if (bundle.variables.empty()) return "";
  std::string known;
  std::string open;
  for (const SiteVariable& variable : bundle.variables) {
    std::string line = fmt::format("- {}: {}", Code(variable.name), variable.what);
    if (!variable.known()) {
      open += fmt::format("{}, such as {}\n", line, Code(variable.example));
      continue;
    }
    line += ":";
    for (const std::string& value : variable.values) line += " " + Code(value);
    known += line + "\n";
  }
  std::string out;
  if (!open.empty()) {
    out += "To be set in the environment of every node; nothing starts without them:\n\n" + open;
  }
  if (!known.empty()) out += (out.empty() ? "" : "\n") + ("Filled in:\n\n" + known);
  return out;
}

// The rank of each stage that has the least to spare.
std::map<int64_t, const RankPlan*> FullestByStage(const Plan& plan) {
  std::map<int64_t, const RankPlan*> out;
  for (const RankPlan& rank : plan.ranks) {
    const RankPlan*& shown = out[rank.place.stage];
    if (shown == nullptr || rank.headroom < shown->headroom) shown = &rank;
  }
  return out;
}

std::string AssumptionsText(const Plan& plan, const Bundle& bundle) {
  TextTable table(
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft, Align::kRight, Align::kLeft}, 0);
  table.AddRow({"stage", "account", "GiB", "low to high", "of the card", "how it is made up"});
  bool any = false;
  std::string shares;
  for (const auto& [stage, rank] : FullestByStage(plan)) {
    shares += fmt::format("{}stage {}: {:.1f} %", shares.empty() ? "" : ", ", stage,
                          100 * rank->ledger.AssumedShare());
    for (const Entry& entry : rank->ledger.entries()) {
      if (entry.basis != Basis::kAssumed || entry.account == Account::kHeadroom) continue;
      any = true;
      table.AddRow({std::to_string(stage), std::string(ToString(entry.account)),
                    fmt::format("{:.3f}", InGiB(entry.bytes.central).value()),
                    fmt::format("{:.3f} to {:.3f}", InGiB(entry.bytes.low).value(),
                                InGiB(entry.bytes.high).value()),
                    fmt::format("{:.2f} %", 100 * static_cast<double>(entry.bytes.central.count()) /
                                                static_cast<double>(std::max<int64_t>(
                                                    1, rank->device_total.count()))),
                    Printable(entry.source, kWhole)});
    }
  }
  std::string out;
  if (any) {
    out =
        "Entries of the ledger that are neither exact nor derived nor measured. Their share of "
        "what is claimed on a card: " +
        shares + ".\n\n" + Fenced(table.Render(kWidth));
  }
  if (bundle.assumptions.empty()) return out;
  out += (out.empty() ? "" : "\n") + std::string("In the files:\n\n");
  for (const std::string& text : bundle.assumptions) out += "- " + Printable(text, kWhole) + "\n";
  return out;
}

std::string Notes(const Bundle& bundle) {
  std::string out;
  for (const std::string& text : bundle.notes) out += "- " + Printable(text, kWhole) + "\n";
  return out;
}

constexpr const char* kNotPromised =
    "The plan is arithmetic on memory. It does not say:\n\n"
    "- what the links carry: NVLink generations and NIC rates are facts about hardware, not "
    "measured "
    "bandwidth\n"
    "- how fast it answers: neither throughput nor latency, nor whether a batch of that size is "
    "worth having\n"
    "- how many requests can be served well at once: its concurrency is what memory holds\n"
    "- that the engine, its image and the driver work together, or that kernels exist for this "
    "card\n";

// What was typed, less where the answer went.
std::string Command(const std::vector<std::string>& line) {
  std::string out = "shardplan";
  for (size_t i = 0; i < line.size(); ++i) {
    const std::string& word = line[i];
    if (word == "-o" || word == "--output") {
      ++i;
    } else if (!word.starts_with("--output=") && !(word.starts_with("-o") && word.size() > 2)) {
      out += " " + ShellQuote(word);
    }
  }
  return Fenced(out);
}

}  // namespace

std::string RenderReviewSheet(const Plan& plan, const std::string& target, const Bundle& bundle,
                              const std::vector<Finding>& findings,
                              const std::vector<std::string>& line) {
  std::string out = fmt::format("# Review sheet: launch {}\n\n", target);
  out += Fenced(TitleSection(plan, kWidth));
  out += Section("Verdict", Fenced(VerdictSection(plan, kWidth, false)));
  out += Section("Files", Files(bundle));
  out += Section("To fill in", Variables(bundle));
  out += Section("Before it is used", Notes(bundle));
  out += Section("Memory of a rank, by stage", Fenced(RankSection(plan, kWidth)));
  const std::string host = HostSection(plan, kWidth);
  if (!host.empty()) out += Section("Host memory", Fenced(host));
  out += Section("Assumptions", AssumptionsText(plan, bundle));
  const std::string of_plan = FindingsSection(plan, kWidth);
  const std::string of_files = findings.empty() ? "" : FindingsSection(findings, kWidth);
  if (!of_files.empty()) out += Section("Findings about the files", Fenced(of_files));
  out += Section("Findings", of_plan.empty() ? "None.\n" : Fenced(of_plan));
  out += Section("What the plan does not promise", kNotPromised);
  return out + Section("Made by", Command(line));
}

}  // namespace shardplan
