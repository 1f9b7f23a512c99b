#include "preflight/command_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/command_findings.h"
#include "plan/issue_facts.h"
#include "plan/issue_match.h"
#include "plan/placement.h"
#include "plan/settings_check.h"
#include "preflight/command_notes.h"
#include "preflight/flag_relations.h"
#include "preflight/flag_rules.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

class Checker {
 public:
  Checker(const ConfigStore& store, const CommandUnderCheck& command)
      : store_(store), c_(command), d_(*command.deployment) {}

  Result<std::vector<Finding>> Run() {
    Problems();
    for (const std::string& flag : c_.repeated) {
      Add("command.repeated", Severity::kWarning, Printable(flag),
          "stands in the command twice, with other values: the last one counts",
          "leave one of them out");
    }
    Versions();
    Planned();
    SHARDPLAN_RETURN_IF_ERROR(Settings());
    Rules();
    Notes();
    Defaults();
    SHARDPLAN_RETURN_IF_ERROR(Issues());
    NotLookedAt();
    return Sorted();
  }

 private:
  void Add(std::string id, Severity severity, std::string subject, std::string message,
           std::string fix) {
    findings_.push_back(
        {std::move(id), severity, std::move(subject), std::move(message), std::move(fix)});
  }

  bool Has(std::string_view id) const {
    return std::any_of(findings_.begin(), findings_.end(),
                       [&](const Finding& finding) { return finding.id == id; });
  }

  void Problems() {
    constexpr std::string_view kOption = "--from-command ";
    for (const CommandProblem& problem : c_.problems) {
      std::string subject = problem.error.subject;
      if (subject.starts_with(kOption)) subject.erase(0, kOption.size());
      const bool shell = problem.id == "command.shell_variable";
      Add(problem.id, shell ? Severity::kWarning : Severity::kError, std::move(subject),
          shell ? "is not looked at: only a shell knows its value" : problem.error.message,
          problem.error.hint);
    }
  }

  // An engine's parser refuses what its version does not have; a plan warns, and goes on.
  static bool IsValueOfVersion(const Finding& finding) {
    return finding.id == "command.value_too_new" || finding.id == "command.value_removed";
  }
  static bool IsOfVersion(const Finding& finding) {
    return finding.id == "command.flag_too_new" || finding.id == "command.flag_removed";
  }

  void Versions() {
    static const Architecture kNone{};
    for (Finding& finding :
         CheckCommand(*c_.table, c_.version, c_.arch != nullptr ? *c_.arch : kNone, d_.settings)) {
      if (!IsOfVersion(finding)) continue;
      finding.severity = Severity::kError;
      findings_.push_back(std::move(finding));
    }
    if (c_.version_given) return;
    Add("check.version", Severity::kNote, "--engine",
        fmt::format("no version was named: flags are those of {} {}, the newest known",
                    c_.table->dialect().name, c_.version),
        fmt::format("--engine {}@VERSION", c_.table->dialect().engine));
  }

  void Planned() {
    const std::vector<Finding>& told = c_.plan != nullptr ? c_.plan->findings : d_.findings;
    for (const Finding& finding : told) {
      if (finding.id == "command.ignored" || IsOfVersion(finding)) continue;
      findings_.push_back(finding);
      if (IsValueOfVersion(finding)) findings_.back().severity = Severity::kError;
    }
    if (!c_.not_planned) return;
    const Error& error = *c_.not_planned;
    const bool refused = error.code == ErrorCode::kUsage;
    Add(refused ? "command.refused" : "check.not_planned",
        refused ? Severity::kError : Severity::kNote, error.subject,
        refused ? error.message : "not planned: " + error.message, error.hint);
  }

  // Whether every size of the layout is what the command says.
  bool KnowsSizes() const {
    static constexpr std::array<std::string_view, 11> kSizes = {
        "-tp", "tensor", "-pp",  "pipeline",         "-dp",   "data-parallel",
        "-ep", "expert", "-dcp", "context-parallel", "nnodes"};
    return std::none_of(c_.problems.begin(), c_.problems.end(), [](const CommandProblem& problem) {
      return std::any_of(kSizes.begin(), kSizes.end(), [&](std::string_view size) {
        return problem.error.subject.find(size) != std::string::npos;
      });
    });
  }

  // What a plan would say of the settings alone, where there is none.
  Status Settings() {
    if (c_.plan != nullptr) return {};
    const bool sizes = KnowsSizes();
    for (Finding& finding : CheckSettings(d_)) {
      if (sizes || !finding.id.starts_with("layout.")) findings_.push_back(std::move(finding));
    }
    if (!sizes) return {};
    if (c_.gpu != nullptr) {
      SHARDPLAN_ASSIGN_OR_RETURN(std::vector<Finding> found,
                                 CheckPlacement(*c_.gpu, *c_.catalog, d_));
      for (Finding& finding : found) findings_.push_back(std::move(finding));
      return {};
    }
    // Ray finds the cards of a cluster, whatever this node shows.
    const std::vector<GivenFlag>& flags = d_.settings.command_flags;
    const bool ray = std::any_of(flags.begin(), flags.end(), [](const GivenFlag& flag) {
      return flag.name == "--distributed-executor-backend" && flag.value == "ray";
    });
    if (!ray) CheckVisibleCards(d_, RanksOfNode(d_), &findings_);
    return {};
  }

  // What a plan has said already is not said again.
  void Rules() {
    std::vector<Finding> found = CheckFlagRules(d_.engine, d_.settings.command_flags);
    for (Finding& finding : CheckFlagRelations(d_.engine, d_.settings.command_flags)) {
      found.push_back(std::move(finding));
    }
    for (Finding& finding : found) {
      const bool told = std::any_of(findings_.begin(), findings_.end(), [&](const Finding& known) {
        return known.subject == finding.subject && known.id != "command.not_modelled";
      });
      if (!told) findings_.push_back(std::move(finding));
    }
  }

  void Notes() {
    for (Finding& note : NoteSurroundings(c_.text, d_)) findings_.push_back(std::move(note));
    if (c_.arch != nullptr) NoteOwnCode(*c_.arch, d_, &findings_);
    if (c_.plan == nullptr) return;
    for (Finding& note : NoteReadings(*c_.arch, *c_.plan)) findings_.push_back(std::move(note));
  }

  void Defaults() {
    if (c_.plan == nullptr) return;
    std::string others;
    for (const auto& [option, value] : c_.plan->defaults) {
      const std::string subject = "--" + option;
      if (option == "max-num-seqs" && c_.arch->has_state()) {
        Sequences(value);
      } else if (option == "kv-cache-dtype") {
        Add("default.kv_cache_dtype", Severity::kNote, subject,
            "not given: the cache is kept as " + Printable(value),
            "name it, where the figures of the plan rest on it");
      } else if (option == "max-model-len" || option == "context-length") {
        Add("default.max_model_len", Severity::kNote, subject,
            fmt::format("not given: the model's own window of {} tokens", Printable(value)),
            "the window that is served");
      } else if (option == "max-num-batched-tokens" || option == "chunked-prefill-size") {
        Add("default.max_num_batched_tokens", Severity::kNote, subject,
            fmt::format("not given: {} tokens in a batch, which activations are sized for",
                        Printable(value)),
            "a smaller one leaves more to the cache");
      } else {
        others += fmt::format("{}{} {}", others.empty() ? "" : ", ", subject, Printable(value));
      }
    }
    if (others.empty()) return;
    Add("default.others", Severity::kNote, "defaults", "not given, and so: " + others, "");
  }

  void Sequences(const std::string& value) {
    Add("default.max_num_seqs", Severity::kWarning, "--max-num-seqs",
        fmt::format("not given: {} sequences, and this model keeps a state for each of them: a "
                    "block of the cache before graphs are captured, and workspaces that grow with "
                    "their number",
                    Printable(value)),
        "as many as are served at once");
  }

  // A plan has told those that match. Where only the driver, or the CUDA of an image, is missing,
  // that is a note.
  Status Issues() {
    SHARDPLAN_ASSIGN_OR_RETURN(std::vector<KnownIssue> all, LoadKnownIssues(store_));
    IssueFacts facts = FactsOfPlace(c_.arch, c_.gpu, d_, c_.version);
    AddGivenFacts(d_, &facts);
    const std::vector<KnownIssue> issues = IssuesOf(std::move(all), d_.engine, c_.version, facts);
    for (const KnownIssue& issue : issues) {
      Finding finding = FindingOf(issue, c_.version);
      if (Has(finding.id)) continue;
      if (MatchIssue(issue, facts) == IssueMatch::kYes) {
        // With a plan, every fact is known to it.
        if (c_.plan == nullptr) findings_.push_back(std::move(finding));
        continue;
      }
      if (OpenFacts(issue, facts) != std::vector<std::string>{"driver"}) continue;
      finding.severity = Severity::kNote;
      finding.message = "hangs on the driver, which is not known: " + finding.message;
      finding.fix = "--driver VERSION, as nvidia-smi tells it";
      findings_.push_back(std::move(finding));
    }
    return {};
  }

  void NotLookedAt() {
    if (c_.arch != nullptr && c_.gpu != nullptr) return;
    const bool neither = c_.arch == nullptr && c_.gpu == nullptr;
    Add("check.not_looked_at", Severity::kNote,
        neither              ? "MODEL, --gpu"
        : c_.arch == nullptr ? "MODEL"
                             : "--gpu",
        fmt::format("without {} only the flags are checked: not what they make of the model, of "
                    "memory and of the cards",
                    neither              ? "a model and a card"
                    : c_.arch == nullptr ? "a model"
                                         : "a card"),
        "shardplan check command '…' MODEL --gpu ID");
  }

  std::vector<Finding> Sorted() {
    std::set<std::tuple<std::string, std::string, std::string>> said;
    std::erase_if(findings_, [&](const Finding& f) {
      return !said.emplace(f.id, f.subject, f.message).second;
    });
    SortFindings(findings_);
    return std::move(findings_);
  }

  const ConfigStore& store_;
  const CommandUnderCheck& c_;
  const Deployment& d_;
  std::vector<Finding> findings_;
};

}  // namespace

Result<std::vector<Finding>> CheckCommandText(const ConfigStore& store,
                                              const CommandUnderCheck& command) {
  return Checker(store, command).Run();
}

}  // namespace shardplan
