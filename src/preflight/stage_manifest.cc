#include "preflight/stage_manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "checkpoint/index.h"
#include "model/config_reader.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

using Json = nlohmann::json;

constexpr Bytes kMaxManifest(64 * kMiB);

const Json* Field(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

bool ReadText(const Json& object, std::string_view key, std::string* out) {
  const Json* const value = Field(object, key);
  if (value == nullptr || !value->is_string()) return false;
  *out = value->get<std::string>();
  return true;
}

bool ReadCount(const Json& object, std::string_view key, int64_t* out) {
  const Json* const value = Field(object, key);
  if (value == nullptr || !value->is_number_integer()) return false;
  *out = value->get<int64_t>();
  return *out >= 0 && (!value->is_number_unsigned() ||
                       value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
}

bool Read(const Json& json, const std::string& directory, StageManifest* out) {
  int64_t version = 0;
  std::string kind, name;
  const Json* const source = Field(json, "source");
  const Json* const index = Field(json, "index");
  const Json* const files = Field(json, "files");
  const Json* const stages = Field(json, "stages");
  if (!ReadCount(json, "schema_version", &version) || version != 1) return false;
  if (!ReadText(json, "kind", &kind) || kind != "stage_index") return false;
  if (source == nullptr || !ReadText(*source, "sha256", &out->source_sha256)) return false;
  if (index == nullptr || !ReadText(*index, "sha256", &out->index_sha256)) return false;
  if (!ReadText(*index, "name", &name) || !IsPlainFileName(name)) return false;
  out->index_path = JoinPath(directory, name);
  if (stages == nullptr || !stages->is_array() || files == nullptr || !files->is_array()) {
    return false;
  }
  for (const Json& stage : *stages) {
    if (!ReadCount(stage, "stage", &out->stages.emplace_back())) return false;
  }
  for (const Json& file : *files) {
    int64_t bytes = 0;
    if (!ReadText(file, "name", &name) || !IsPlainFileName(name)) return false;
    if (!ReadCount(file, "bytes", &bytes)) return false;
    out->files.emplace_back(name, Bytes(bytes));
  }
  std::sort(out->files.begin(), out->files.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  return !out->files.empty() &&
         std::adjacent_find(out->files.begin(), out->files.end(), same) == out->files.end();
}

}  // namespace

Result<StageManifest> ReadStageManifest(const std::string& directory) {
  const std::string path = JoinPath(directory, "manifest.json");
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxManifest));
  SHARDPLAN_ASSIGN_OR_RETURN(const Json json, ParseConfigObject(text, Printable(path)));
  StageManifest manifest;
  if (Read(json, directory, &manifest)) return manifest;
  return Fail(ErrorCode::kInvalidInput, Printable(path),
              "expected the manifest of a stage index, found something else",
              "give a directory such as stage-0 that `shardplan launch stage-index` wrote");
}

}  // namespace shardplan
