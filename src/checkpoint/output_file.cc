#include "checkpoint/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

tl::unexpected<Error> SystemFault(const std::string& path, std::string_view action, int error) {
  return Fail(ErrorCode::kIo, Printable(path),
              fmt::format("cannot {}: {}", action, std::generic_category().message(error)));
}

std::string RandomSuffix() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::string suffix;
  for (int i = 0; i < 6; ++i) suffix += kLetters[device() % kLetters.size()];
  return suffix;
}

// Nothing there, or an empty directory.
Status CheckTarget(const std::string& target) {
  struct stat info = {};
  if (::lstat(target.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return SystemFault(target, "write", errno);
  }
  const auto refuse = [&](std::string_view found) {
    return Fail(ErrorCode::kInvalidInput, Printable(target),
                fmt::format("expected a new or empty directory, found {}", found),
                "choose another path; nothing is ever overwritten");
  };
  if (S_ISLNK(info.st_mode)) return refuse("a symbolic link");
  if (!S_ISDIR(info.st_mode)) return refuse("a file");
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(target));
  if (!names.empty()) return refuse(fmt::format("one that holds {}", Printable(names[0])));
  return {};
}

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return SystemFault(path, "create", errno);
  return OutputFile(fd, path);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemFault(path_, "write", errno);
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status OutputFile::Extend(Bytes size) {
  if (::ftruncate(fd_, static_cast<off_t>(size.count())) == 0) return {};
  return SystemFault(path_, fmt::format("make {} bytes long", size.count()), errno);
}

Status OutputFile::Close() {
  if (::close(std::exchange(fd_, -1)) == 0) return {};
  return SystemFault(path_, "write", errno);
}

Result<StagedDirectory> StagedDirectory::Create(const std::string& target) {
  std::string trimmed = target;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  const std::string name = BaseName(trimmed);
  if (name.empty() || name == "." || name == ".." || name == "/") {
    return Fail(ErrorCode::kInvalidInput, Printable(target),
                "expected the path of a new directory, found one without a name",
                "name the directory to create");
  }
  SHARDPLAN_RETURN_IF_ERROR(CheckTarget(trimmed));
  const std::string parent = trimmed.substr(0, trimmed.size() - name.size());
  // Not mkdtemp: its directories are closed to everyone else whatever the umask says.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string path = fmt::format("{}.{}.tmp-{}", parent, name, RandomSuffix());
    if (::mkdir(path.c_str(), 0777) == 0) return StagedDirectory(trimmed, path);
    if (errno == ENOENT) {
      return Fail(ErrorCode::kIo, Printable(trimmed),
                  fmt::format("expected a new directory in one that is there, found no {}",
                              Printable(parent.empty() ? "." : parent)),
                  "create that first");
    }
    if (errno != EEXIST) return SystemFault(trimmed, "create", errno);
  }
  return SystemFault(trimmed, "create", EEXIST);
}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : target_(std::move(other.target_)), path_(std::exchange(other.path_, {})) {}

StagedDirectory::~StagedDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Status StagedDirectory::Publish() {
  // Fails when someone else has put something there in the meantime.
  if (::rename(path_.c_str(), target_.c_str()) != 0) return SystemFault(target_, "create", errno);
  path_.clear();
  return {};
}

}  // namespace shardplan
