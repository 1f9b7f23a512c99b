#include "launch/group_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

// "<NAME>" and "<NAME>:5000".
bool IsPlaceholder(std::string_view word) {
  const size_t end = word.find('>');
  if (!word.starts_with('<') || end == std::string_view::npos || end < 2) return false;
  const std::string_view name = word.substr(1, end - 1);
  const auto in_name = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (!std::all_of(name.begin(), name.end(), in_name)) return false;
  std::string_view rest = word.substr(end + 1);
  if (rest.empty()) return true;
  if (rest[0] != ':') return false;
  rest.remove_prefix(1);
  return std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
}

tl::unexpected<Error> RefusePlaceholder(const std::string& name, const std::string& value) {
  return Fail(ErrorCode::kUsage, Printable(name),
              fmt::format("expected a value, found the placeholder {}", Printable(value)),
              "give the value where the deployment is described");
}

// Flags whose value is the address of node 0: vllm/engine/arg_utils.py (v0.28),
// sglang/srt/server_args.py (v0.5.17). SGLang's holds a port as well.
bool IsMasterFlag(std::string_view flag) {
  return flag == "--master-addr" || flag == "--data-parallel-address";
}
bool IsMasterFlagWithPort(std::string_view flag) { return flag == "--dist-init-addr"; }

// The words of a command of a group of several; `first` is node 0's.
std::vector<GroupWord> ReadWords(const std::vector<std::string>& argv,
                                 const std::vector<std::string>& first, std::string* master) {
  std::vector<GroupWord> words;
  for (size_t i = 0; i < argv.size(); ++i) {
    GroupWord word;
    word.text = argv[i];
    const std::string_view flag = i > 0 ? std::string_view(argv[i - 1]) : std::string_view();
    if (flag == "--node-rank") {
      word = {GroupWord::Kind::kRank, "", 1, false};
    } else if (flag == "--data-parallel-start-rank") {
      int64_t factor = 0;
      const std::string& text = argv[i];
      const auto read = std::from_chars(text.data(), text.data() + text.size(), factor);
      if (read.ec == std::errc() && read.ptr == text.data() + text.size()) {
        word = {GroupWord::Kind::kStartRank, "", factor, false};
      }
    } else if (IsMasterFlag(flag)) {
      *master = argv[i];
      word = {GroupWord::Kind::kMaster, "", 1, false};
    } else if (IsMasterFlagWithPort(flag) && argv[i].find(':') != std::string::npos) {
      const size_t colon = argv[i].rfind(':');
      *master = argv[i].substr(0, colon);
      word = {GroupWord::Kind::kMaster, argv[i].substr(colon), 1, false};
    } else if (word.text == "--headless") {
      word.workers_only = std::find(first.begin(), first.end(), word.text) == first.end();
    }
    words.push_back(std::move(word));
  }
  return words;
}

Status CheckPlaceholders(const GroupCommand& command) {
  std::string flag;
  for (const GroupWord& word : command.words) {
    if (word.kind == GroupWord::Kind::kText && IsPlaceholder(word.text)) {
      return RefusePlaceholder(flag.empty() ? "command" : flag, word.text);
    }
    flag = word.kind == GroupWord::Kind::kText ? word.text : "";
  }
  for (const auto& [name, value] : command.env) {
    if (IsPlaceholder(value)) return RefusePlaceholder(name, value);
  }
  return {};
}

}  // namespace

Result<GroupCommand> MakeGroupCommand(const Plan& plan) {
  if (plan.launch.empty()) {
    return Fail(ErrorCode::kUnsupported, Printable(plan.source),
                "expected a layout that the engine can start, found an illegal one",
                "see what `shardplan plan` says with the same options");
  }
  GroupCommand command;
  command.nodes = static_cast<int64_t>(plan.launch.size());
  command.env = plan.launch.front().env;
  const std::vector<std::string>& first = plan.launch.front().argv;
  std::string master;
  if (command.nodes == 1) {
    for (const std::string& word : first) command.words.push_back({GroupWord::Kind::kText, word});
  } else {
    command.words = ReadWords(plan.launch[1].argv, first, &master);
  }
  for (const LaunchPlan& launch : plan.launch) {
    if (WordsOf(command, launch.node, master) == launch.argv && launch.env == command.env) continue;
    return Fail(ErrorCode::kUnsupported, Printable(plan.source),
                fmt::format("expected commands that differ in the node's number alone, found node "
                            "{} to differ in more",
                            launch.node),
                "use `shardplan launch commands`");
  }
  SHARDPLAN_RETURN_IF_ERROR(CheckPlaceholders(command));
  return command;
}

std::vector<std::string> WordsOf(const GroupCommand& command, int64_t node,
                                 const std::string& master) {
  std::vector<std::string> words;
  for (const GroupWord& word : command.words) {
    if (word.workers_only && node == 0) continue;
    switch (word.kind) {
      case GroupWord::Kind::kText:
        words.push_back(word.text);
        break;
      case GroupWord::Kind::kRank:
        words.push_back(std::to_string(node));
        break;
      case GroupWord::Kind::kStartRank:
        words.push_back(std::to_string(node * word.factor));
        break;
      case GroupWord::Kind::kMaster:
        words.push_back(master + word.text);
        break;
    }
  }
  return words;
}

}  // namespace shardplan
