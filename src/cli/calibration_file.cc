#include "cli/calibration_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/deployment_options.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

constexpr int64_t kLargestFile = kMiB;
constexpr size_t kMostRuns = 1000;

// A size as a log prints it, known to half of its last digit.
struct Term {
  std::string_view name;
  std::optional<Range> CalibrationRun::*field;
};
constexpr std::array<Term, 6> kTerms = {{{"weights", &CalibrationRun::weights},
                                         {"activation_peak", &CalibrationRun::activation_peak},
                                         {"non_torch_growth", &CalibrationRun::non_torch_growth},
                                         {"graph_reserve", &CalibrationRun::graph_reserve},
                                         {"baseline", &CalibrationRun::baseline},
                                         {"available_kv", &CalibrationRun::available_kv}}};

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Result<Calibration> Read(const YAML::Node& document) {
    Calibration calibration;
    calibration.file = path_;
    SHARDPLAN_RETURN_IF_ERROR(CheckKeys(document, "the file", {"runs"}));
    const YAML::Node runs = document["runs"];
    if (!runs || !runs.IsSequence() || runs.size() == 0) {
      return Refuse(runs ? runs : document, "expected runs, a list of at least one");
    }
    if (runs.size() > kMostRuns) {
      return Refuse(runs,
                    fmt::format("expected at most {} runs, found {}", kMostRuns, runs.size()));
    }
    for (const YAML::Node& node : runs) {
      where_ = fmt::format("run {}", calibration.runs.size() + 1);
      SHARDPLAN_ASSIGN_OR_RETURN(CalibrationRun run, ReadRun(node));
      calibration.runs.push_back(std::move(run));
    }
    return calibration;
  }

 private:
  tl::unexpected<Error> Refuse(const YAML::Node& node, const std::string& message,
                               std::string hint = "") const {
    std::string at;
    if (node.Mark().line >= 0) at = fmt::format("line {}: ", node.Mark().line + 1);
    if (!where_.empty()) at += where_ + ": ";
    return Fail(ErrorCode::kInvalidInput, Printable(path_), at + message, std::move(hint));
  }

  // A mapping whose keys are known, each once.
  Status CheckKeys(const YAML::Node& node, const std::string& what,
                   const std::vector<std::string>& known) const {
    if (!node || !node.IsMap()) return Refuse(node, "expected " + what + " to be a mapping");
    std::vector<std::string> seen;
    for (const auto& member : node) {
      if (!member.first.IsScalar()) return Refuse(member.first, "expected a word for a key");
      const std::string key = member.first.Scalar();
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
        return Refuse(member.first, fmt::format("expected {} once", Printable(key)));
      }
      seen.push_back(key);
      if (known.empty() || std::find(known.begin(), known.end(), key) != known.end()) continue;
      const std::vector<std::string> close = CloseNames(key, known);
      return Refuse(member.first, fmt::format("unknown key {}", Printable(key)),
                    close.empty() ? fmt::format("{} has {}", what, fmt::join(known, ", "))
                                  : "did you mean " + JoinWithOr(close) + "?");
    }
    return {};
  }

  // "a, b" of a list, the text of a scalar.
  Result<std::string> TextOf(const YAML::Node& node, const std::string& key) const {
    if (node.IsScalar() && !node.Scalar().empty()) return node.Scalar();
    std::string text;
    if (node.IsSequence()) {
      for (const YAML::Node& item : node) {
        if (!item.IsScalar()) return Refuse(item, fmt::format("expected {} to be a value", key));
        text += (text.empty() ? "" : ",") + item.Scalar();
      }
    }
    if (text.empty()) return Refuse(node, fmt::format("expected {} to be a value", key));
    return text;
  }

  Result<int64_t> CountOf(const YAML::Node& node, const std::string& key, int64_t least) const {
    SHARDPLAN_ASSIGN_OR_RETURN(std::string text, TextOf(node, key));
    std::erase(text, ',');  // as logs print it: 1,234,955
    const Result<int64_t> count = ParseCount(text, least);
    if (!count) {
      return Refuse(node,
                    fmt::format("{}: {}, found {}", key, count.error().message, Printable(text)));
    }
    return *count;
  }

  Result<Range> SizeOf(const YAML::Node& node, const std::string& key) const {
    SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, TextOf(node, key));
    const Result<Bytes> bytes = ParseBytes(text);
    if (!bytes) {
      return Refuse(node, fmt::format("{} {}: {}", key, Printable(text), bytes.error().message),
                    bytes.error().hint);
    }
    // Half of the last digit: of "16.12GiB", 0.005 GiB.
    const size_t digits = text.find_first_not_of("0123456789.");
    const size_t point = text.find('.');
    const size_t decimals = point < digits ? digits - point - 1 : 0;
    const Result<Bytes> unit = ParseBytes("1" + text.substr(digits));
    const double half = unit ? static_cast<double>(unit->count()) *
                                   std::pow(10.0, -static_cast<double>(decimals)) / 2
                             : 0;
    const Bytes rounding(static_cast<int64_t>(half));
    return Range(*bytes - rounding, *bytes, *bytes + rounding);
  }

  Result<CalibrationRun> ReadRun(const YAML::Node& node) {
    SHARDPLAN_RETURN_IF_ERROR(
        CheckKeys(node, "a run", {"name", "model", "deployment", "stage", "measured"}));
    CalibrationRun run;
    run.name = where_;
    if (node["name"]) {
      SHARDPLAN_ASSIGN_OR_RETURN(run.name, TextOf(node["name"], "name"));
    }
    if (!node["model"]) {
      return Refuse(node, "expected model, a family or the architecture of config.json");
    }
    SHARDPLAN_ASSIGN_OR_RETURN(run.model, TextOf(node["model"], "model"));
    SHARDPLAN_RETURN_IF_ERROR(ReadDeployment(node["deployment"], node, &run.deployment));
    if (node["stage"]) {
      SHARDPLAN_ASSIGN_OR_RETURN(run.stage, CountOf(node["stage"], "stage", 0));
    }
    SHARDPLAN_RETURN_IF_ERROR(ReadMeasured(node["measured"], node, &run));
    return run;
  }

  // Options as the line has them, read by the same readers.
  Status ReadDeployment(const YAML::Node& node, const YAML::Node& parent, Deployment* out) const {
    if (!node) return Refuse(parent, "expected deployment, the options of the run");
    SHARDPLAN_RETURN_IF_ERROR(CheckKeys(node, "deployment", {}));
    const std::shared_ptr<CLI::App> app = DetachedApp();
    OptionSet set(app.get());
    DeploymentOptions options;
    AddDeploymentOptions(&set, &options);
    std::vector<std::string> names;
    for (const OptionSet::Known& option : set.known()) {
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
    std::erase(names, "calibration");
    std::erase(names, "cluster");
    bool has_version = false;
    for (const auto& member : node) {
      const std::string key = member.first.Scalar();
      if (std::find(names.begin(), names.end(), key) == names.end()) {
        const std::vector<std::string> close = CloseNames(key, names);
        return Refuse(member.first, fmt::format("deployment has no option {}", Printable(key)),
                      close.empty() ? "its keys are options of `shardplan plan`, without dashes"
                                    : "did you mean " + JoinWithOr(close) + "?");
      }
      SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, TextOf(member.second, key));
      if (const Status status = set.Find(key)->read(text); !status) {
        return Refuse(member.second,
                      fmt::format("{} {}: {}", key, Printable(text), status.error().message),
                      status.error().hint);
      }
      has_version = has_version || (key == "engine" && text.find('@') != std::string::npos);
    }
    *out = std::move(options.deployment);
    if (out->gpu.empty()) return Refuse(node, "expected gpu, the id of the card it ran on");
    if (!has_version) return Refuse(node, "expected engine with its version, such as vllm@0.31.0");
    return {};
  }

  Status ReadMeasured(const YAML::Node& node, const YAML::Node& parent, CalibrationRun* run) const {
    if (!node) return Refuse(parent, "expected measured, what the run's log printed");
    std::vector<std::string> names = {"num_blocks", "kv_tokens"};
    for (const Term& term : kTerms) names.emplace_back(term.name);
    SHARDPLAN_RETURN_IF_ERROR(CheckKeys(node, "measured", names));
    if (node.size() == 0) {
      return Refuse(node, fmt::format("expected a figure: one of {}", fmt::join(names, ", ")));
    }
    bool of_one_rank = false;
    for (const Term& term : kTerms) {
      const std::string name(term.name);
      if (!node[name]) continue;
      SHARDPLAN_ASSIGN_OR_RETURN(run->*term.field, SizeOf(node[name], name));
      of_one_rank = true;
    }
    if (node["num_blocks"]) {
      SHARDPLAN_ASSIGN_OR_RETURN(run->num_blocks, CountOf(node["num_blocks"], "num_blocks", 1));
    }
    if (node["kv_tokens"]) {
      SHARDPLAN_ASSIGN_OR_RETURN(run->kv_tokens, CountOf(node["kv_tokens"], "kv_tokens", 1));
    }
    if (run->available_kv.has_value() + run->num_blocks.has_value() + run->kv_tokens.has_value() >
        1) {
      return Refuse(node, "expected one of available_kv, num_blocks and kv_tokens, found several",
                    "they are the same figure: give the one with most digits");
    }
    if (of_one_rank && run->deployment.sizes.pp > 1 && !run->stage) {
      return Refuse(parent, "expected stage: the figures are of one rank, and stages differ",
                    "stage: 0 is the first");
    }
    return {};
  }

  std::string path_;
  std::string where_;  // "run 2"
};

}  // namespace

Result<std::shared_ptr<const Calibration>> ReadCalibration(const std::string& path) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, Bytes(kLargestFile)));
  try {
    SHARDPLAN_ASSIGN_OR_RETURN(Calibration calibration, Reader(path).Read(YAML::Load(text)));
    return std::make_shared<const Calibration>(std::move(calibration));
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                fmt::format("line {}: {}", error.mark.line + 1, Printable(error.msg)),
                "expected YAML with a list of runs");
  }
}

}  // namespace shardplan::cli
