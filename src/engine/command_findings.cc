#include "engine/command_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "engine/command.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

// The row of a flag or, of an object's field, of the narrowest thing around it.
const FlagRow* RowOf(const FlagTable& table, std::string name) {
  while (true) {
    if (const FlagRow* const row = table.Find(name)) return row;
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) return nullptr;
    name.resize(dot);
  }
}

bool MayChangeMemory(const FlagRow& row, const GivenFlag& flag, const Architecture& arch,
                     const EngineSettings& settings) {
  const bool harmless =
      std::find(row.harmless.begin(), row.harmless.end(), flag.value) != row.harmless.end();
  if (harmless) return false;
  // A quantized checkpoint has its own method, and engines refuse another one.
  if (row.name == "--quantization" && !arch.quantization.empty()) return false;
  if (row.effect == FlagEffect::kVision) {
    return arch.vision.present && !settings.language_model_only;
  }
  return row.effect == FlagEffect::kMemory;
}

// What quantizes while it loads leaves weights of another size than the files': --precision plans
// them. Empty for another flag or method.
std::string_view PrecisionOf(const FlagRow& row, std::string_view method) {
  if (row.name != "--quantization") return "";
  if (method == "fp8" || method == "fp8_per_tensor") return "experts=fp8,attention=fp8,mlp=fp8";
  if (method == "fp8_per_channel" || method == "ptpc_fp8") {
    return "experts=fp8:channel,attention=fp8:channel,mlp=fp8:channel";
  }
  if (method == "fp8_per_block") {
    return "experts=fp8:128x128,attention=fp8:128x128,mlp=fp8:128x128";
  }
  if (method == "experts_int8" || method == "int8_per_channel_weight_only") return "experts=int8";
  return "";
}

std::string Subject(const GivenFlag& flag) {
  if (flag.value.empty() || flag.value == "true") return Printable(flag.name);
  return fmt::format("{} {}", Printable(flag.name), Printable(flag.value, 60));
}

void CheckVersion(const Dialect& engine, const FlagRow& row, const GivenFlag& flag,
                  std::string_view version, std::vector<Finding>* out) {
  const std::string subject = fmt::format("{} {}", engine.name, Printable(version));
  if (!row.since.empty() && IsOlder(version, row.since)) {
    out->push_back(
        {"command.flag_too_new", Severity::kWarning, Printable(flag.name),
         fmt::format("{} does not have it: it came with {}", subject, row.since),
         fmt::format("leave it out, or plan for --engine {}@{}", engine.engine, row.since)});
  } else if (!row.until.empty() && IsOlder(row.until, version)) {
    out->push_back({"command.flag_removed", Severity::kWarning, Printable(flag.name),
                    fmt::format("{} does not have it any more: {} was the last version that did",
                                subject, row.until),
                    row.note.empty() ? "leave it out" : "instead: " + row.note});
  }
}

void NoteIgnored(const std::vector<std::string>& ignored, const std::vector<std::string>& replaced,
                 std::vector<Finding>* out) {
  std::string message;
  if (!ignored.empty()) {
    message = fmt::format("without effect on memory: {}", fmt::join(ignored, ", "));
  }
  if (!replaced.empty()) {
    message += fmt::format("{}as the launch commands have it: {}", message.empty() ? "" : "; ",
                           fmt::join(replaced, ", "));
  }
  if (message.empty()) return;
  out->push_back({"command.ignored", Severity::kNote, "--from-command", std::move(message), ""});
}

}  // namespace

std::vector<Finding> CheckCommand(const FlagTable& table, std::string_view version,
                                  const Architecture& arch, const EngineSettings& settings) {
  std::vector<Finding> findings;
  std::vector<std::string> ignored;
  std::vector<std::string> replaced;
  for (const GivenFlag& flag : settings.command_flags) {
    const FlagRow* const row = RowOf(table, flag.name);
    if (row == nullptr) continue;
    CheckVersion(table.dialect(), *row, flag, version, &findings);
    if (flag.modelled) continue;
    if (!MayChangeMemory(*row, flag, arch, settings)) {
      (row->effect == FlagEffect::kPlace ? replaced : ignored).push_back(Printable(flag.name));
    } else if (row->name == "--prefill-context-parallel-size") {
      // The world is TP × PP × PCP (vllm/config/parallel.py, world_size): more than memory changes.
      findings.push_back({"command.ranks_not_modelled", Severity::kError, Subject(flag),
                          "multiplies the ranks, and this plan counts TP, PP and DP alone: no part "
                          "of it holds for this command",
                          "plan without it"});
    } else {
      const std::string_view becomes = PrecisionOf(*row, flag.value);
      findings.push_back(
          {"command.not_modelled", Severity::kWarning, Subject(flag),
           "may change memory in a way that this plan does not know",
           becomes.empty()
               ? std::string("compare with what a start prints")
               : fmt::format("plan the weights as they become: --precision {}", becomes)});
    }
  }
  NoteIgnored(ignored, replaced, &findings);
  for (const auto& [name, value] : settings.env) {
    if (table.EffectOfVariable(name) != FlagEffect::kMemory) continue;
    findings.push_back({"environment.not_modelled", Severity::kWarning,
                        fmt::format("{}={}", Printable(name), Printable(value, 60)),
                        "may change memory in a way that this plan does not know",
                        "compare with what a start prints"});
  }
  return findings;
}

std::vector<Finding> CheckLaunch(const FlagTable& table, std::string_view version,
                                 const std::vector<std::string>& argv) {
  std::string missing;
  for (const std::string& word : argv) {
    if (!word.starts_with("--")) continue;
    const FlagRow* const row = table.Find(word.starts_with("--no-") ? "--" + word.substr(5) : word);
    if (row == nullptr || row->since.empty() || !IsOlder(version, row->since)) continue;
    missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", word, row->since);
  }
  if (missing.empty()) return {};
  return {{"launch.flag_too_new", Severity::kWarning,
           fmt::format("{} {}", table.dialect().name, Printable(version)),
           "does not have flags of the launch command yet, which came with: " + missing,
           "plan a later version, or start it in another way"}};
}

std::vector<Finding> CheckEmitted(const FlagTable& table, std::string_view version,
                                  const std::vector<std::string>& argv) {
  const Dialect& engine = table.dialect();
  // `vllm serve …`, `python3 -m MODULE …`
  const size_t begin = std::min<size_t>(engine.model_is_word ? 2 : 3, argv.size());
  std::vector<CommandWord> words;
  for (size_t i = begin; i < argv.size(); ++i) words.push_back({argv[i]});
  const Result<ParsedCommand> command = ParseArguments(table, words, version);
  if (!command) {
    return {{"launch.flag_unknown", Severity::kError, command.error().subject,
             command.error().message, command.error().hint}};
  }
  std::vector<Finding> findings;
  for (const ParsedFlag& flag : command->flags) {
    CheckVersion(engine, *flag.row, {flag.row->name, flag.ValueText(), true}, version, &findings);
  }
  for (Finding& finding : findings) {
    finding.severity = Severity::kError;
    finding.id.replace(0, finding.id.find('.'), "launch");
  }
  return findings;
}

}  // namespace shardplan
