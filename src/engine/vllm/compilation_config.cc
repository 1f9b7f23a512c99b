#include "engine/vllm/compilation_config.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/vllm/capture_sizes.h"
#include "model/config_reader.h"
#include "shardplan/base/file.h"

namespace shardplan::vllm {
namespace {

constexpr int64_t kHighest = int64_t{1} << 31;

// In the order of CompilationMode's values. Source: vllm/config/compilation.py (d29f7f5c).
constexpr std::array<std::string_view, 4> kModes = {"NONE", "STOCK_TORCH_COMPILE",
                                                    "DYNAMO_TRACE_ONCE", "VLLM_COMPILE"};

tl::unexpected<Error> Unusable(std::string message) {
  return Fail(ErrorCode::kUsage, "--compilation-config", std::move(message));
}

Result<int64_t> ReadMode(const nlohmann::json& value) {
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (number >= 0 && number < static_cast<int64_t>(kModes.size())) return number;
  }
  if (value.is_string()) {
    const auto name = value.get<std::string>();
    for (size_t i = 0; i < kModes.size(); ++i) {
      if (kModes[i] == name) return static_cast<int64_t>(i);
    }
  }
  return Unusable(
      "mode: expected 0 to 3, NONE, STOCK_TORCH_COMPILE, DYNAMO_TRACE_ONCE or "
      "VLLM_COMPILE");
}

}  // namespace

Status ReadCompilationConfig(const std::string& json, EngineSettings* settings) {
  const Result<nlohmann::json> object = ParseConfigObject(json, "--compilation-config");
  if (!object) return Unusable(object.error().message);
  ConfigReader reader(*object, "--compilation-config");
  for (const auto& [key, value] : object->items()) {
    if (value.is_null()) continue;
    if (key == "mode") {
      SHARDPLAN_ASSIGN_OR_RETURN(settings->compilation_mode, ReadMode(value));
    } else if (key == "cudagraph_mode") {
      SHARDPLAN_ASSIGN_OR_RETURN(
          const GraphMode mode,
          ParseGraphMode(value.is_string() ? value.get<std::string>() : value.dump()));
      settings->cudagraph_mode = std::string(ToString(mode));
    } else if (key == "cudagraph_capture_sizes") {
      settings->cudagraph_capture_sizes = reader.IntList(key, 1, kHighest);
    } else if (key == "max_cudagraph_capture_size") {
      settings->max_cudagraph_capture_size = reader.Int(key, 1, kHighest);
    } else if (key == "pass_config") {
      ConfigReader passes = reader.Object(key);
      settings->sequence_parallel_pass = passes.BoolOr("enable_sp", false);
      reader.Adopt(passes);
    } else {
      settings->compilation_keys_ignored.push_back(Printable(key));
    }
  }
  if (!reader.ok()) return Unusable(reader.error().message);
  return {};
}

std::optional<std::string> CompilationConfigOf(const EngineSettings& settings) {
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", key, value);
  };
  if (settings.compilation_mode) add("mode", std::to_string(*settings.compilation_mode));
  if (settings.cudagraph_mode) add("cudagraph_mode", "\"" + *settings.cudagraph_mode + "\"");
  if (settings.sequence_parallel_pass) add("pass_config", "{\"enable_sp\":true}");
  if (text.empty()) return std::nullopt;
  return "{" + text + "}";
}

}  // namespace shardplan::vllm
