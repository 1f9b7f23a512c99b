// New files and directories, removed again when the work fails.
#ifndef SHARDPLAN_CHECKPOINT_OUTPUT_FILE_H_
#define SHARDPLAN_CHECKPOINT_OUTPUT_FILE_H_

#include <string>
#include <string_view>

#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"

namespace shardplan {

// A file that did not exist before, written from front to end.
class OutputFile {
 public:
  static Result<OutputFile> Create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status Write(std::string_view bytes);
  // Sets the length; what was not written is a hole.
  Status Extend(Bytes size);
  // Closes, reporting what the system has kept to itself until now (a full disk over NFS).
  Status Close();

 private:
  OutputFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  std::string path_;
};

// A directory that appears under its name all at once. Until Publish it is a hidden sibling, which
// the destructor removes.
class StagedDirectory {
 public:
  // `target` must not exist or be an empty directory (not a symlink to one).
  static Result<StagedDirectory> Create(const std::string& target);

  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  ~StagedDirectory();

  const std::string& path() const { return path_; }  // of the hidden sibling
  Status Publish();

 private:
  StagedDirectory(std::string target, std::string path)
      : target_(std::move(target)), path_(std::move(path)) {}

  std::string target_;
  std::string path_;  // empty once published or moved from
};

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_OUTPUT_FILE_H_
