#include "shardplan/preflight/directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "checkpoint/padded_text.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAriaSuffix = ".aria2";

// What tools name a file that they are still fetching: the hub's client, wget and curl wrappers,
// browsers; rsync hides its own as ".NAME.XXXXXX".
bool IsPart(std::string_view name) {
  if (name.ends_with(kAriaSuffix)) return true;
  for (const std::string_view suffix :
       {".incomplete", ".part", ".partial", ".crdownload", ".download"}) {
    if (name.ends_with(suffix)) return true;
  }
  constexpr size_t kRandom = 7;  // ".XXXXXX"
  return name.starts_with('.') && name.size() > kRandom &&
         name.substr(0, name.size() - kRandom).ends_with(".safetensors") &&
         name[name.size() - kRandom] == '.';
}

// Whether an engine opens files with such names: weights, configs, tokenizers, custom code.
bool IsLoaded(std::string_view name) {
  for (const std::string_view suffix :
       {".safetensors", ".json", ".model", ".py", ".jinja", ".tiktoken", ".txt"}) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

// Entries that are wrong in one way.
struct Findings {
  std::vector<std::string> leftovers;
  std::vector<std::string> unfinished;
  std::vector<std::string> dangling;
  std::vector<std::string> unreadable;
  std::vector<std::string> pointers;
  std::vector<std::string> outside;
  std::string reason;  // why the first unreadable one is so
};

Result<bool> IsPointer(const std::string& path) {
  SHARDPLAN_ASSIGN_OR_RETURN(const File file, File::Open(path));
  constexpr int64_t kLargestPointer = 1024;  // git-lfs' own limit
  if (file.size().count() > kLargestPointer) return false;
  SHARDPLAN_ASSIGN_OR_RETURN(const PaddedText text, ReadPadded(file, 0, file.size().count()));
  return IsLfsPointer(text.view());
}

// A link whose text leads out of the directory that it is in.
bool LeadsOutside(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  if (error) return false;
  if (target.is_absolute()) return true;
  const fs::path plain = target.lexically_normal();
  return !plain.empty() && *plain.begin() == "..";
}

void LookAt(const std::string& directory, const std::string& name, Findings* found) {
  const std::string path = JoinPath(directory, name);
  if (IsPart(name)) {
    found->leftovers.push_back(name);
    const std::string whole = name.substr(0, name.size() - kAriaSuffix.size());
    if (name.ends_with(kAriaSuffix) && Exists(JoinPath(directory, whole))) {
      found->unfinished.push_back(whole);
    }
    return;
  }
  struct stat link = {}, info = {};
  if (::lstat(path.c_str(), &link) != 0) return;  // gone since it was listed
  if (S_ISLNK(link.st_mode)) {
    // Reaching no file: a link to nothing, or a loop of links.
    if (::stat(path.c_str(), &info) != 0) {
      if (IsLoaded(name)) found->dangling.push_back(name);
      return;
    }
    if (IsLoaded(name) && LeadsOutside(path)) found->outside.push_back(name);
  } else {
    info = link;
  }
  if (!S_ISREG(info.st_mode) || !IsLoaded(name)) return;
  const Result<bool> pointer = IsPointer(path);
  if (!pointer) {
    if (found->unreadable.empty()) found->reason = pointer.error().message;
    found->unreadable.push_back(name);
  } else if (*pointer) {
    found->pointers.push_back(name);
  }
}

// Unfinished downloads in a directory that need not be there.
void LookForParts(const std::string& directory, const std::string& shown, Findings* found) {
  const Result<std::vector<std::string>> names = ListDirectory(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    if (IsPart(name)) found->leftovers.push_back(shown + name);
  }
}

std::string Count(size_t count, std::string_view one, std::string_view many) {
  return count == 1 ? std::string(one) : fmt::format("{} {}", count, many);
}

std::vector<Finding> Tell(const std::string& directory, const Findings& found) {
  std::vector<Finding> out;
  const auto add = [&](std::string id, Severity severity, const std::vector<std::string>& names,
                       std::string message, std::string fix) {
    if (names.empty()) return;
    out.push_back({std::move(id), severity, Printable(directory),
                   std::move(message) + ": " + NameSome(names), std::move(fix)});
  };
  add("model.unfinished_file", Severity::kError, found.unfinished,
      Count(found.unfinished.size(),
            "a file is still being fetched by aria2, its missing parts "
            "are zeros",
            "files are still being fetched by aria2, their missing parts are zeros"),
      "let the download end; aria2c -c goes on where it stopped");
  add("model.download_leftover", Severity::kWarning, found.leftovers,
      Count(found.leftovers.size(), "a part of an unfinished download",
            "parts of unfinished downloads"),
      "go on with the download, or delete them once the files are whole");
  add("model.dangling_link", Severity::kError, found.dangling,
      Count(found.dangling.size(), "a link to nothing", "links to nothing"),
      "fetch the files again, or mount what the links point to as well (a Hugging Face cache keeps "
      "the files in blobs/ beside snapshots/)");
  add("model.unreadable", Severity::kError, found.unreadable,
      Count(found.unreadable.size(), "a file cannot be read (" + found.reason + ")",
            "files cannot be read (" + found.reason + ")"),
      "give the user who starts the engine the right to read them");
  add("model.lfs_pointer", Severity::kError, found.pointers,
      Count(found.pointers.size(), "a Git LFS pointer in the place of a file",
            "Git LFS pointers in the place of files"),
      "run git lfs pull there, or fetch them with hf download");
  add("model.links_outside", Severity::kNote, found.outside,
      Count(found.outside.size(), "a link out of the directory", "links out of the directory"),
      "a container must mount what they point to as well: of a Hugging Face cache the whole "
      "models--… folder");
  return out;
}

}  // namespace

std::string NameSome(const std::vector<std::string>& names, size_t limit) {
  std::string out;
  // One that would be left over alone is named, too.
  const size_t shown = names.size() == limit + 1 ? names.size() : std::min(limit, names.size());
  for (size_t i = 0; i < shown; ++i) out += (i > 0 ? ", " : "") + Printable(names[i]);
  if (shown < names.size()) out += fmt::format(" and {} more", names.size() - shown);
  return out;
}

Result<std::vector<Finding>> DirectoryFindings(const std::string& directory) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  Findings found;
  for (const std::string& name : names) LookAt(directory, name, &found);
  constexpr std::string_view kLocalDir = ".cache/huggingface/download";
  LookForParts(JoinPath(directory, kLocalDir), std::string(kLocalDir) + "/", &found);
  std::error_code error;
  const fs::path real = fs::canonical(directory, error);
  if (!error && real.parent_path().filename() == "snapshots") {
    LookForParts((real.parent_path().parent_path() / "blobs").string(), "../../blobs/", &found);
  }
  return Tell(directory, found);
}

}  // namespace shardplan
