#include "shardplan/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

tl::unexpected<Error> SystemError(const std::string& path, std::string_view action, int error) {
  return Fail(ErrorCode::kIo, Printable(path),
              fmt::format("cannot {}: {}", action, std::generic_category().message(error)));
}

}  // namespace

File::File(int fd, std::string path, Bytes size) : fd_(fd), path_(std::move(path)), size_(size) {}

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), size_(other.size_) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
    size_ = other.size_;
  }
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> File::Open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    // The system would open the part before it: another file than the one that was named.
    return Fail(ErrorCode::kInvalidInput, Printable(path), "the path has a zero byte");
  }
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(path, "open", errno);
  struct stat info = {};
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return SystemError(path, "stat", error);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                S_ISDIR(info.st_mode) ? "expected a file, found a directory"
                                      : "expected a regular file, found a special one");
  }
  return File(fd, path, Bytes(info.st_size));
}

Status File::ReadExact(int64_t offset, std::span<char> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::pread(fd_, out.data() + done, out.size() - done,
                              static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError(path_, "read", errno);
    }
    if (n == 0) {
      return Fail(ErrorCode::kInvalidInput, Printable(path_),
                  fmt::format("expected {} bytes at offset {}, the file ends after {}", out.size(),
                              offset, done),
                  "the file is truncated or shrank while it was read; fetch it again");
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

Result<std::string> ReadTextFile(const std::string& path, Bytes limit) {
  SHARDPLAN_ASSIGN_OR_RETURN(File file, File::Open(path));
  if (file.size() > limit) {
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                fmt::format("expected at most {}, the file has {}", FormatBytes(limit),
                            FormatBytes(file.size())));
  }
  std::string text(static_cast<size_t>(file.size().count()), '\0');
  SHARDPLAN_RETURN_IF_ERROR(file.ReadExact(0, text));
  return text;
}

bool IsDirectory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::directory_iterator it(path, error);
  if (error) return SystemError(path, "list", error.value());
  std::vector<std::string> names;
  for (const std::filesystem::directory_iterator end; it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return SystemError(path, "list", error.value());  // a failed increment is at the end
  std::sort(names.begin(), names.end());
  return names;
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string out(directory);
  if (!out.empty() && out.back() != '/') out += '/';
  out += name;
  return out;
}

std::string BaseName(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

namespace {

Status WriteAll(int fd, std::string_view text, const std::string& path) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError(path, "write", errno);
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

// A terminal, a pipe, /dev/null: renaming a file over it would remove it.
Status WriteInPlace(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return SystemError(path, "write", errno);
  Status status = WriteAll(fd, text, path);
  if (::close(fd) != 0 && status) status = SystemError(path, "write", errno);
  return status;
}

// The permissions a new file gets by default.
mode_t DefaultMode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Status WriteFileAtomically(const std::string& path, std::string_view text) {
  if (path.find('\0') != std::string::npos) {
    return Fail(ErrorCode::kInvalidInput, Printable(path), "the path has a zero byte");
  }
  struct stat info = {};
  const bool replaces = ::stat(path.c_str(), &info) == 0;
  if (replaces && S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kInvalidInput, Printable(path), "expected a file, found a directory");
  }
  if (replaces && !S_ISREG(info.st_mode)) return WriteInPlace(path, text);
  // A link keeps pointing where it points: the file behind it is replaced.
  std::string target = path;
  if (replaces) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (error) return SystemError(path, "write", error.value());
    target = real.string();
  }
  std::string temporary = target + ".tmp.XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return SystemError(path, "write", errno);
  Status status = WriteAll(fd, text, path);
  const mode_t mode = replaces ? info.st_mode & 07777 : DefaultMode();
  if (status && (::fchmod(fd, mode) != 0 || ::fsync(fd) != 0)) {
    status = SystemError(path, "write", errno);
  }
  if (::close(fd) != 0 && status) status = SystemError(path, "write", errno);
  if (status && ::rename(temporary.c_str(), target.c_str()) != 0) {
    status = SystemError(path, "write", errno);
  }
  if (!status) ::unlink(temporary.c_str());
  return status;
}

namespace {

// The length of the UTF-8 sequence at the start of `text` (1 to 4), or 0 where there is none: a
// stray or cut sequence, an overlong form, a surrogate, or beyond U+10FFFF. `code` is its code
// point.
size_t Utf8Length(std::string_view text, char32_t* code) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  *code = byte(0);
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  *code = byte(0) & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    *code = (*code << 6) | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
  return *code < kSmallest[length] || surrogate || *code > 0x10ffff ? 0 : length;
}

// Moves the cursor, ends the line, or turns the direction of what follows.
bool IsUnsafe(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string Printable(std::string_view text, size_t limit) {
  std::string out;
  while (!text.empty()) {
    char32_t code = 0;
    const size_t length = Utf8Length(text, &code);
    const size_t taken = std::max<size_t>(length, 1);
    std::string piece;
    if (length > 0 && !IsUnsafe(code)) {
      piece = text.substr(0, length);
    } else {
      for (const char c : text.substr(0, taken)) {
        piece += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    if (out.size() + piece.size() > limit) {
      out += "…";
      break;
    }
    out += piece;
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace shardplan
