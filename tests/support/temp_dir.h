// Directories that clean up after themselves, and small files in them.
#ifndef SHARDPLAN_TESTS_SUPPORT_TEMP_DIR_H_
#define SHARDPLAN_TESTS_SUPPORT_TEMP_DIR_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace shardplan::testing_support {

// Replaces the file at `path`; its directory must be there.
inline void WriteText(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  EXPECT_TRUE(out.good()) << path;
}

inline std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// An empty directory for one test, removed with everything in it.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "shardplan-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr) << name;
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

  // The path of an entry, there or not.
  std::string Path(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file, with the directories above it, and returns its path.
  std::string Write(std::string_view name, std::string_view text) const {
    const std::string path = Path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    WriteText(path, text);
    return path;
  }

  // Makes a directory, with those above it, and returns its path.
  std::string MakeDir(std::string_view name) const {
    std::filesystem::create_directories(Path(name));
    return Path(name);
  }

 private:
  std::string path_;
};

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_TEMP_DIR_H_
