#include "shardplan/launch/bundle.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "checkpoint/output_file.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

// Whether a path stays below its directory: plain components, joined by single slashes.
bool IsPlain(const std::string& path) {
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != part.npos) return false;
    if (end == path.size()) return true;
    begin = end + 1;
  }
}

Status WriteArtefact(const std::string& directory, const Artefact& file) {
  namespace fs = std::filesystem;
  if (!IsPlain(file.path)) {
    return Fail(ErrorCode::kInternal, Printable(file.path),
                "expected a path below the directory, found one that leaves it");
  }
  const std::string path = JoinPath(directory, file.path);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return Fail(ErrorCode::kIo, Printable(path), error.message());
  SHARDPLAN_ASSIGN_OR_RETURN(OutputFile out, OutputFile::Create(path));
  SHARDPLAN_RETURN_IF_ERROR(out.Write(file.text));
  SHARDPLAN_RETURN_IF_ERROR(out.Close());
  if (!file.executable) return {};
  // As far as the umask lets others read it.
  fs::perms bits = fs::status(path, error).permissions();
  if (!error) {
    if ((bits & fs::perms::owner_read) != fs::perms::none) bits |= fs::perms::owner_exec;
    if ((bits & fs::perms::group_read) != fs::perms::none) bits |= fs::perms::group_exec;
    if ((bits & fs::perms::others_read) != fs::perms::none) bits |= fs::perms::others_exec;
    fs::permissions(path, bits, error);
  }
  if (error) return Fail(ErrorCode::kIo, Printable(path), error.message());
  return {};
}

}  // namespace

std::string SiteVariable::ValueOf(int64_t node) const {
  if (values.empty()) return "";
  return values.size() == 1 ? values[0] : values.at(static_cast<size_t>(node));
}

Status WriteBundle(const Bundle& bundle, const std::string& directory) {
  SHARDPLAN_ASSIGN_OR_RETURN(StagedDirectory staged, StagedDirectory::Create(directory));
  for (const Artefact& file : bundle.files) {
    SHARDPLAN_RETURN_IF_ERROR(WriteArtefact(staged.path(), file));
  }
  return staged.Publish();
}

std::string RenderBundle(const Bundle& bundle) {
  std::string out;
  for (const Artefact& file : bundle.files) {
    if (!out.empty()) out += "\n";
    out += "==> " + Printable(file.path) + " <==\n" + file.text;
    if (!file.text.empty() && !file.text.ends_with('\n')) out += "\n";
  }
  return out;
}

}  // namespace shardplan
