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

// Whether Markdown takes a line that begins with the word for more text of its paragraph. A list, a
// heading, a quotation or a fence would begin with the others.
bool MayBeginLine(std::string_view word) {
  if (word.empty()) return false;
  const char first = word[0];
  if (first >= '0' && first <= '9') {
    const size_t end = word.find_first_not_of("0123456789");
    return end == word.npos || end + 1 != word.size() || (word[end] != '.' && word[end] != ')');
  }
  if (first == '`') return word.size() > 1 && word[1] != '`';
  if (first == '-') return word.find_first_not_of('-') != word.npos;
  const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  const bool beyond_ascii = (static_cast<unsigned char>(first) & 0x80U) != 0;
  return letter || beyond_ascii || std::string_view("/(\"'$").find(first) != std::string_view::npos;
}

// A paragraph, broken at blanks where Markdown reads a line break as one. Words stay whole.
std::string Paragraph(std::string_view text, size_t hanging) {
  std::string out;
  std::string line;
  size_t may_break = 0;  // the blank of the line in front of the last word that may begin one
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (at > 0) {
      if (MayBeginLine(word) && !line.ends_with(' ')) may_break = line.size();
      line += ' ';
    }
    line += word;
    if (DisplayWidth(line) > kWidth && may_break > hanging) {
      out += line.substr(0, may_break) + "\n";
      line = std::string(hanging, ' ') + line.substr(may_break + 1);
      may_break = 0;
    }
    at = end + 1;
  }
  return out + line + "\n";
}

std::string Item(const std::string& text) { return Paragraph("- " + text, 2); }

std::string Section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format("\n## {}\n\n{}", title, text);
}

std::string Files(const Bundle& bundle) {
  std::string out;
  for (const Artefact& file : bundle.files) {
    out += Item(Code(file.path) +
                (file.purpose.empty() ? "" : ": " + Printable(file.purpose, kWhole)));
  }
  return out +
         "- `README.md`: this sheet\n- `plan.json`: the evaluation that all of this comes from\n";
}

std::string Variables(const Bundle& bundle) {
  if (bundle.variables.empty()) return "";
  std::string known;
  std::string open;
  for (const SiteVariable& variable : bundle.variables) {
    std::string line = fmt::format("{}: {}", Code(variable.name), variable.what);
    if (!variable.known()) {
      open += Item(fmt::format("{}, such as {}", line, Code(variable.example)));
      continue;
    }
    line += ":";
    for (const std::string& value : variable.values) line += " " + Code(value);
    known += Item(line);
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
    out = Paragraph(
              "Entries of the ledger that are neither exact nor derived nor measured. Their share "
              "of what is claimed on a card: " +
                  shares + ".",
              0) +
          "\n" + Fenced(table.Render(kWidth));
  }
  if (bundle.assumptions.empty()) return out;
  out += (out.empty() ? "" : "\n") + std::string("In the files:\n\n");
  for (const std::string& text : bundle.assumptions) out += Item(Printable(text, kWhole));
  return out;
}

std::string Notes(const Bundle& bundle) {
  std::string out;
  for (const std::string& text : bundle.notes) out += Item(Printable(text, kWhole));
  return out;
}

std::string NotPromised() {
  return "The plan is arithmetic on memory. It does not say:\n\n" +
         Item(
             "what the links carry: NVLink generations and NIC rates are facts about hardware, not "
             "measured bandwidth") +
         Item(
             "how fast it answers: neither throughput nor latency, nor whether a batch of that "
             "size is worth having") +
         Item(
             "how many requests can be served well at once: its concurrency is what memory holds") +
         Item(
             "that the engine, its image and the driver work together, or that kernels exist for "
             "this card");
}

// What was typed, less where the answer went; lines go on behind a backslash, as a shell reads
// them.
std::string Command(const std::vector<std::string>& line) {
  std::string out = "shardplan";
  size_t column = out.size();
  const auto add = [&](const std::string& word) {
    const size_t width = DisplayWidth(word);
    if (column + 1 + width + 2 > kWidth) {
      out += " \\\n   ";
      column = 3;
    }
    out += " " + word;
    column += 1 + width;
  };
  for (size_t i = 0; i < line.size(); ++i) {
    const std::string& word = line[i];
    if (word == "-o" || word == "--output") {
      ++i;
    } else if (!word.starts_with("--output=") && !(word.starts_with("-o") && word.size() > 2)) {
      add(ShellQuote(word));
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
  out += Section("What the plan does not promise", NotPromised());
  return out + Section("Made by", Command(line));
}

}  // namespace shardplan
