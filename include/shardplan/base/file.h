// Reading files that may be hostile, and writing files that are never half there.
#ifndef SHARDPLAN_BASE_FILE_H_
#define SHARDPLAN_BASE_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"

namespace shardplan {

// A regular file opened for reading. Uses pread, never mmap: a file that shrinks or vanishes while
// it is read ends in an error, not in a signal.
class File {
 public:
  // Fails with kIo (missing, unreadable) or kInvalidInput (a directory, a device, a pipe).
  static Result<File> Open(const std::string& path);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  const std::string& path() const { return path_; }
  Bytes size() const { return size_; }  // when it was opened

  // Fills `out` from `offset`, or fails: a short read is an error that says how much was there.
  Status ReadExact(int64_t offset, std::span<char> out) const;

 private:
  File(int fd, std::string path, Bytes size);

  int fd_ = -1;
  std::string path_;
  Bytes size_;
};

// The whole file as text. Fails with kInvalidInput when it is larger than `limit`.
Result<std::string> ReadTextFile(const std::string& path, Bytes limit);

bool IsDirectory(const std::string& path);
bool Exists(const std::string& path);

// Names in a directory (no "." and ".."), sorted by byte.
Result<std::vector<std::string>> ListDirectory(const std::string& path);

// Joins with one slash.
std::string JoinPath(std::string_view directory, std::string_view name);

// The last component of a path: "b" of "a/b" and of "a/b/".
std::string BaseName(std::string_view path);

// Writes `text` to a temporary file in the same directory, syncs it and renames it to `path`, so
// that a reader sees the old file or the whole new one. The permissions of a file that was there
// stay; behind a link, the file it points to is replaced. What is no regular file (/dev/stdout, a
// pipe) is written in place. Fails with kIo, or kInvalidInput for a directory.
Status WriteFileAtomically(const std::string& path, std::string_view text);

// Text from outside made safe to print: control characters, bytes that are not UTF-8, line
// separators and marks that turn the writing direction become \xNN, so that a hostile name cannot
// move the cursor or fake a line; cut before `limit` bytes with "…", never inside a character. What
// comes out is UTF-8.
std::string Printable(std::string_view text, size_t limit = 160);

}  // namespace shardplan

#endif  // SHARDPLAN_BASE_FILE_H_
