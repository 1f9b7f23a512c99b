#include "engine/flag_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

enum class Form {
  kInteger,  // from least to most
  kShare,    // above 0, and at most 1
};

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kLastPort = 65'535;

struct Rule {
  std::string_view engine;
  std::string_view flag;
  Form form;
  int64_t least = 0;
  int64_t most = kAny;
};

// vLLM: vllm/config/{cache,model,parallel,scheduler}.py, vllm/engine/arg_utils.py,
// vllm/entrypoints/openai/cli_args.py (d29f7f5c). SGLang: python/sglang/srt/server_args.py
// (0bda0b168).
constexpr std::array kRules = {
    Rule{"vllm", "--port", Form::kInteger, 0, kLastPort},
    Rule{"vllm", "--master-port", Form::kInteger, 0, kLastPort},
    Rule{"vllm", "--data-parallel-rpc-port", Form::kInteger, 0, kLastPort},
    Rule{"vllm", "--node-rank", Form::kInteger},
    Rule{"vllm", "--data-parallel-rank", Form::kInteger},
    Rule{"vllm", "--data-parallel-start-rank", Form::kInteger},
    Rule{"vllm", "--api-server-count", Form::kInteger},
    Rule{"vllm", "--seed", Form::kInteger, -kAny},
    Rule{"vllm", "--max-logprobs", Form::kInteger, -1},
    Rule{"vllm", "--stream-interval", Form::kInteger, 1},
    Rule{"vllm", "--ssl-cert-reqs", Form::kInteger},
    Rule{"vllm", "--max-num-partial-prefills", Form::kInteger, 1},
    Rule{"vllm", "--max-long-partial-prefills", Form::kInteger, 1},
    Rule{"vllm", "--gpu-memory-utilization", Form::kShare},
    Rule{"sglang", "--port", Form::kInteger, 0, kLastPort},
    Rule{"sglang", "--nccl-port", Form::kInteger, 0, kLastPort},
    Rule{"sglang", "--node-rank", Form::kInteger},
    Rule{"sglang", "--random-seed", Form::kInteger, -kAny},
    Rule{"sglang", "--stream-interval", Form::kInteger, 1},
    Rule{"sglang", "--base-gpu-id", Form::kInteger},
    Rule{"sglang", "--gpu-id-step", Form::kInteger, 1},
    Rule{"sglang", "--pp-max-micro-batch-size", Form::kInteger, 1},
    Rule{"sglang", "--tokenizer-worker-num", Form::kInteger, 1},
    Rule{"sglang", "--max-loras-per-batch", Form::kInteger, 1},
};

// As Python's int() reads it, underscores aside: nothing where it is none, or leaves 64 bits.
bool ReadInteger(std::string_view text, int64_t* value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), *value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

std::string Expected(const Rule& rule) {
  if (rule.form == Form::kShare) return "a number above 0 and at most 1";
  if (rule.least == -kAny) return "a whole number";
  if (rule.most == kAny) return fmt::format("a whole number, at least {}", rule.least);
  return fmt::format("a whole number from {} to {}", rule.least, FormatCount(rule.most));
}

bool Takes(const Rule& rule, const std::string& value) {
  if (rule.form == Form::kInteger) {
    int64_t number = 0;
    return ReadInteger(value, &number) && number >= rule.least && number <= rule.most;
  }
  double number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  // What is no number at all, its own option refuses.
  if (read.ec != std::errc() || read.ptr != value.data() + value.size()) return true;
  return number > 0 && number <= 1;
}

std::string Subject(const FlagValue& given) {
  return fmt::format("{} {}", given.flag, Printable(given.value, 40));
}

// What the version takes, nearest first.
std::string Nearest(const ChoiceRow& row, std::string_view version, const std::string& value) {
  const std::vector<std::string> names = row.NamesAt(version);
  const std::vector<std::string> close = CloseNames(row.Compared(value), names);
  return close.empty() ? "one of " + JoinWithOr(names) : "did you mean " + JoinWithOr(close) + "?";
}

bool IsLikeOne(const ChoiceRow& row, std::string_view version, const std::string& value) {
  return !CloseNames(row.Compared(value), row.NamesAt(version)).empty();
}

}  // namespace

Status CheckFlagValue(const ChoiceTable& choices, std::string_view version,
                      const FlagValue& given) {
  for (const Rule& rule : kRules) {
    if (rule.engine != choices.engine() || rule.flag != given.flag || Takes(rule, given.value)) {
      continue;
    }
    return Fail(ErrorCode::kUsage, fmt::format("{} {}", given.flag, Printable(given.value)),
                "expected " + Expected(rule));
  }
  const ChoiceRow* const row = choices.Find(given.flag);
  if (row == nullptr || row->form == ChoiceForm::kOpen || row->Find(given.value) != nullptr) {
    return {};
  }
  if (row->form == ChoiceForm::kParser) {
    // Every release brings parsers: what is like none of those known is no misspelling, and may be
    // a newer one's.
    if (given.plugin || !IsLikeOne(*row, version, given.value)) return {};
    return Fail(ErrorCode::kUsage, Subject(given),
                fmt::format("expected a parser of the engine's own, or {} with the file that "
                            "registers it",
                            row->plugin),
                Nearest(*row, version, given.value));
  }
  const std::vector<std::string> names = row->NamesAt(version);
  const std::vector<std::string> close = CloseNames(row->Compared(given.value), names);
  return Fail(ErrorCode::kUsage, fmt::format("{} {}", given.flag, Printable(given.value)),
              "expected " + JoinWithOr(names),
              close.empty() ? "" : "did you mean " + JoinWithOr(close) + "?");
}

std::optional<Finding> CheckOpenValue(const ChoiceTable& choices, std::string_view version,
                                      const FlagValue& given) {
  const ChoiceRow* const row = choices.Find(given.flag);
  if (row == nullptr) return std::nullopt;
  if (row->form == ChoiceForm::kParser && !given.plugin && row->Find(given.value) == nullptr &&
      !IsLikeOne(*row, version, given.value)) {
    return Finding{"command.plugin_value", Severity::kWarning, Subject(given),
                   fmt::format("is no parser of the releases known, and stops a start unless {} "
                               "or a later release adds it",
                               row->plugin),
                   Nearest(*row, version, given.value)};
  }
  if (row->form != ChoiceForm::kOpen) return std::nullopt;
  const bool is_class = given.value.find('.') != std::string::npos;
  if (is_class || row->Find(given.value) != nullptr) return std::nullopt;
  return Finding{"command.plugin_value", Severity::kWarning, Subject(given),
                 "is none of the built-in choices, and stops a start unless a plugin adds it",
                 Nearest(*row, version, given.value)};
}

std::optional<Finding> CheckValueVersion(const ChoiceTable& choices, std::string_view name,
                                         std::string_view version, const FlagValue& given) {
  const ChoiceRow* const row = choices.Find(given.flag);
  const Choice* const choice = row == nullptr ? nullptr : row->Find(given.value);
  if (choice == nullptr || given.plugin) return std::nullopt;
  const std::string engine =
      version.empty() ? fmt::format("the newest {}", name) : fmt::format("{} {}", name, version);
  const auto told = [&](const char* id, std::string message) {
    return Finding{id, Severity::kWarning, Subject(given), std::move(message),
                   "one of " + JoinWithOr(row->NamesAt(version))};
  };
  if (IsBefore(version, *choice)) {
    return told("command.value_too_new",
                fmt::format("{} does not take it: {} is the last version known without it", engine,
                            choice->after));
  }
  if (IsPast(version, *choice)) {
    return told("command.value_removed",
                fmt::format("{} does not take it any more: {} is the first version known without "
                            "it",
                            engine, choice->gone));
  }
  return std::nullopt;
}

std::vector<std::string> NumberFlags(std::string_view engine) {
  std::vector<std::string> out;
  for (const Rule& rule : kRules) {
    if (rule.engine == engine) out.emplace_back(rule.flag);
  }
  return out;
}

}  // namespace shardplan
