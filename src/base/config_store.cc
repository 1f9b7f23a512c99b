#include "shardplan/base/config_store.h"

#include <fmt/format.h>

#include "base/embedded_files.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr Bytes kLargestFile(16 * kMiB);
constexpr int kDeepest = 8;          // configs/engines/vllm/… is three
constexpr size_t kMostFiles = 4096;  // a directory with more is not a catalogue

bool IsConfigName(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".tsv");
}

// Appends the names of the files below `directory` to `out`, each with `prefix` in front. Names
// that begin with a dot are skipped: editors' leftovers, and the versions behind a mounted
// Kubernetes ConfigMap.
Status Walk(const std::string& directory, const std::string& prefix, int depth,
            std::vector<std::string>& out) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    if (name.starts_with('.')) continue;
    const std::string path = JoinPath(directory, name);
    if (IsDirectory(path)) {
      if (depth == kDeepest) {
        return Fail(ErrorCode::kInvalidInput, Printable(path),
                    fmt::format("expected at most {} levels of directories", kDeepest),
                    "give --configs a directory laid out like the catalogue's configs/");
      }
      SHARDPLAN_RETURN_IF_ERROR(Walk(path, prefix + name + "/", depth + 1, out));
    } else if (IsConfigName(name)) {
      if (out.size() == kMostFiles) {
        return Fail(ErrorCode::kInvalidInput, Printable(directory),
                    fmt::format("expected at most {} .yaml and .tsv files", kMostFiles),
                    "give --configs a directory laid out like the catalogue's configs/");
      }
      out.push_back(prefix + name);
    }
  }
  return {};
}

}  // namespace

ConfigStore ConfigStore::BuiltIn() {
  ConfigStore store;
  for (const internal::EmbeddedFile& file : internal::EmbeddedFiles()) {
    store.files_.emplace(file.name, Entry{std::string(file.text), "built in"});
  }
  return store;
}

Result<ConfigStore> ConfigStore::WithOverrides(const std::string& directory) {
  if (Exists(directory) && !IsDirectory(directory)) {
    return Fail(ErrorCode::kInvalidInput, Printable(directory),
                "expected a directory, found a file",
                "give --configs a directory laid out like the catalogue's configs/");
  }
  std::vector<std::string> names;
  SHARDPLAN_RETURN_IF_ERROR(Walk(directory, "", 1, names));
  if (names.empty()) {
    // A mistyped directory must not pass for an override.
    return Fail(ErrorCode::kInvalidInput, Printable(directory),
                "expected .yaml or .tsv files in it or below, found none",
                "lay it out like the catalogue's configs/, such as gpus/h20-96.yaml");
  }
  ConfigStore store = BuiltIn();
  for (const std::string& name : names) {
    const std::string path = JoinPath(directory, name);
    SHARDPLAN_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, kLargestFile));
    store.files_.insert_or_assign(name, Entry{std::move(text), path});
  }
  return store;
}

Result<std::string_view> ConfigStore::Get(std::string_view name) const {
  const auto it = files_.find(name);
  if (it != files_.end()) return std::string_view(it->second.text);
  const std::vector<std::string> close = CloseNames(name, List(""));
  return Fail(ErrorCode::kInvalidInput, Printable(name), "no such file in the catalogue",
              close.empty() ? "" : "did you mean " + JoinWithOr(close) + "?");
}

std::vector<std::string> ConfigStore::List(std::string_view prefix) const {
  std::vector<std::string> names;
  for (auto it = files_.lower_bound(prefix); it != files_.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    names.push_back(it->first);
  }
  return names;
}

std::string ConfigStore::Origin(std::string_view name) const {
  const auto it = files_.find(name);
  return it == files_.end() ? "not in the catalogue" : it->second.origin;
}

}  // namespace shardplan
