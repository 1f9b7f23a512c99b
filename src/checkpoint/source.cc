#include "checkpoint/source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

constexpr std::string_view kShardSuffix = ".safetensors";
constexpr std::string_view kIndexSuffix = ".index.json";
constexpr std::string_view kShardIndexSuffix = ".safetensors.index.json";
constexpr std::string_view kUsualIndex = "model.safetensors.index.json";
constexpr std::string_view kAccepted =
    "a model directory, a model.safetensors.index.json, a .safetensors file or a config.json";

tl::unexpected<Error> SystemFault(const std::string& path, int error) {
  return Fail(ErrorCode::kIo, Printable(path),
              fmt::format("cannot open: {}", std::generic_category().message(error)));
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void FindConfigs(Source* source) {
  const std::string config = JoinPath(source->directory, "config.json");
  if (Exists(config)) source->config_path = config;
  const std::string quant = JoinPath(source->directory, "hf_quant_config.json");
  if (Exists(quant)) source->quant_config_path = quant;
}

void FindShards(const std::vector<std::string>& names, Source* source) {
  for (const std::string& name : names) {
    if (name.ends_with(kShardSuffix) && name[0] != '.') source->shards.push_back(name);
  }
}

// Why a directory without a config or shards is no model, where the names tell.
std::string HintFor(const std::vector<std::string>& names) {
  const auto has = [&](auto predicate) {
    return std::any_of(names.begin(), names.end(), predicate);
  };
  if (has([](const std::string& name) { return name == "snapshots"; })) {
    return "this is a repository of the Hugging Face cache; give one of the folders in snapshots/";
  }
  if (has([](const std::string& name) {
        return name.ends_with(".gguf") || name.ends_with(".bin") || name.ends_with(".pth");
      })) {
    return "only safetensors weights are read";
  }
  return "check the path";
}

Result<Source> LocateDirectory(const std::string& path) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(path));
  Source source;
  source.kind = SourceKind::kDirectory;
  source.directory = path;
  FindConfigs(&source);
  FindShards(names, &source);
  std::vector<std::string> indexes;
  for (const std::string& name : names) {
    if (name == kUsualIndex) {
      indexes = {name};
      break;
    }
    if (name.ends_with(kShardIndexSuffix) && name[0] != '.') indexes.push_back(name);
  }
  if (indexes.size() > 1) {
    return Fail(
        ErrorCode::kInvalidInput, Printable(path),
        fmt::format("expected one index, found {}: {}, {}{}", indexes.size(), Printable(indexes[0]),
                    Printable(indexes[1]), indexes.size() > 2 ? " …" : ""),
        "give the path of the one that is meant");
  }
  if (!indexes.empty()) source.index_path = JoinPath(path, indexes[0]);
  if (indexes.empty() && source.shards.empty()) {
    if (source.config_path.empty()) {
      return Fail(ErrorCode::kInvalidInput, Printable(path),
                  fmt::format("expected a config.json or .safetensors files, found {}",
                              names.empty() ? "an empty directory"
                                            : fmt::format("{} other {}", names.size(),
                                                          names.size() == 1 ? "entry" : "entries")),
                  HintFor(names));
    }
    source.kind = SourceKind::kConfig;
  }
  return source;
}

Result<Source> LocateFile(const std::string& path) {
  const std::string name = BaseName(path);
  Source source;
  source.directory = ParentOf(path);
  if (name.ends_with(kShardSuffix)) {
    source.kind = SourceKind::kSingleShard;
    source.shards = {name};
    FindConfigs(&source);
  } else if (name.ends_with(kIndexSuffix)) {
    source.kind = SourceKind::kIndex;
    source.index_path = path;
    SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                               ListDirectory(source.directory));
    FindShards(names, &source);
    FindConfigs(&source);
  } else if (name.ends_with(".json")) {
    source.kind = SourceKind::kConfig;
    FindConfigs(&source);
    source.config_path = path;
  } else {
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                fmt::format("expected {}, found a file named otherwise", kAccepted));
  }
  return source;
}

}  // namespace

Result<Source> LocateCheckpoint(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return SystemFault(path, errno);
  if (S_ISDIR(info.st_mode)) return LocateDirectory(path);
  if (S_ISREG(info.st_mode)) return LocateFile(path);
  return Fail(ErrorCode::kInvalidInput, Printable(path),
              fmt::format("expected {}, found a special file", kAccepted));
}

Result<bool> IsPresent(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT) return false;
  return SystemFault(path, errno);
}

}  // namespace shardplan
