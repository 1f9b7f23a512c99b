#include "shardplan/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

#include "shardplan/base/units.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::TempDir;

TEST(FileTest, ReadsAtAnOffset) {
  const TempDir dir;
  const Result<File> file = File::Open(dir.Write("a", "0123456789"));
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ(file->size(), Bytes(10));
  std::array<char, 4> out = {};
  ASSERT_TRUE(file->ReadExact(3, out));
  EXPECT_EQ(std::string(out.data(), out.size()), "3456");
}

TEST(FileTest, AShortReadSaysHowMuchWasThere) {
  const TempDir dir;
  const std::string path = dir.Write("a", "0123456789");
  const Result<File> file = File::Open(path);
  ASSERT_TRUE(file);
  std::array<char, 4> out = {};
  const Status status = file->ReadExact(8, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(status.error().ToString(),
            path +
                ": expected 4 bytes at offset 8, the file ends after 2; the file is truncated or "
                "shrank while it was read; fetch it again");
}

TEST(FileTest, AFileThatShrinksEndsInAnError) {
  const TempDir dir;
  const std::string path = dir.Write("a", std::string(100'000, 'x'));
  const Result<File> file = File::Open(path);
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, 10);
  std::vector<char> out(100'000);
  EXPECT_FALSE(file->ReadExact(0, out));
}

TEST(FileTest, MovesItsHandle) {
  const TempDir dir;
  Result<File> a = File::Open(dir.Write("a", "aaa"));
  Result<File> b = File::Open(dir.Write("b", "bbb"));
  ASSERT_TRUE(a && b);
  *a = *std::move(b);
  std::array<char, 3> out = {};
  ASSERT_TRUE(a->ReadExact(0, out));
  EXPECT_EQ(std::string(out.data(), out.size()), "bbb");
}

TEST(FileTest, RefusesWhatIsNoFile) {
  const TempDir dir;
  const Result<File> missing = File::Open(dir.Path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_EQ(missing.error().ToString(),
            dir.Path("none") + ": cannot open: No such file or directory");

  const Result<File> directory = File::Open(dir.path());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(directory.error().ToString(), dir.path() + ": expected a file, found a directory");

  const std::string pipe = dir.Path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Result<File> special = File::Open(pipe);  // must not wait for a writer
  ASSERT_FALSE(special);
  EXPECT_EQ(special.error().ToString(), pipe + ": expected a regular file, found a special one");

  const Result<File> zero = File::Open(std::string("a\0b", 3));
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().ToString(), "a\\x00b: the path has a zero byte");
}

TEST(ReadTextFileTest, HoldsTheLimit) {
  const TempDir dir;
  const std::string path = dir.Write("a", "12345");
  EXPECT_EQ(*ReadTextFile(path, Bytes(5)), "12345");
  const Result<std::string> large = ReadTextFile(path, Bytes(4));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().ToString(), path + ": expected at most 4 B, the file has 5 B");
  EXPECT_EQ(*ReadTextFile(dir.Write("empty", ""), Bytes(5)), "");
}

TEST(ListDirectoryTest, SortsByByte) {
  const TempDir dir;
  dir.Write("b", "");
  dir.Write("B", "");
  dir.Write(".a", "");
  EXPECT_THAT(*ListDirectory(dir.path()), ElementsAre(".a", "B", "b"));
  const auto missing = ListDirectory(dir.Path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().ToString(),
            dir.Path("none") + ": cannot list: No such file or directory");
}

TEST(PathTest, JoinsAndSplits) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(BaseName("a/b"), "b");
  EXPECT_EQ(BaseName("a/b/"), "b");
  EXPECT_EQ(BaseName("b"), "b");
  EXPECT_EQ(BaseName("/"), "");
}

TEST(PathTest, TellsWhatIsThere) {
  const TempDir dir;
  const std::string file = dir.Write("a", "");
  EXPECT_TRUE(Exists(file) && Exists(dir.path()));
  EXPECT_FALSE(Exists(dir.Path("none")));
  EXPECT_TRUE(IsDirectory(dir.path()));
  EXPECT_FALSE(IsDirectory(file));
}

TEST(WriteFileAtomicallyTest, ReplacesTheWholeFileAndLeavesNothingBehind) {
  const TempDir dir;
  const std::string path = dir.Write("a", "a longer old text");
  ASSERT_TRUE(WriteFileAtomically(path, "new"));
  EXPECT_EQ(*ReadTextFile(path, Bytes(kMiB)), "new");
  EXPECT_THAT(*ListDirectory(dir.path()), ElementsAre("a"));
}

TEST(WriteFileAtomicallyTest, KeepsPermissionsAndFollowsLinks) {
  const TempDir dir;
  const std::string path = dir.Write("secret", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  const std::string link = dir.Path("link");
  ASSERT_EQ(::symlink("secret", link.c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(link, "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(*ReadTextFile(path, Bytes(kMiB)), "new");
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(WriteFileAtomicallyTest, LeavesDevicesAlone) {
  ASSERT_TRUE(WriteFileAtomically("/dev/null", "text"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(WriteFileAtomicallyTest, Fails) {
  const TempDir dir;
  const Status missing = WriteFileAtomically(dir.Path("none/a"), "text");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_EQ(missing.error().ToString(),
            dir.Path("none/a") + ": cannot write: No such file or directory");
  const Status directory = WriteFileAtomically(dir.path(), "text");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().ToString(), dir.path() + ": expected a file, found a directory");
  const Status full = WriteFileAtomically("/dev/full", "text");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().ToString(), "/dev/full: cannot write: No space left on device");
}

TEST(PrintableTest, EscapesWhatCouldFakeALine) {
  EXPECT_EQ(Printable("plain name.safetensors"), "plain name.safetensors");
  EXPECT_EQ(Printable("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("\u009b2J"), "\\xc2\\x9b2J") << "the one-byte escape of some terminals";
  EXPECT_EQ(Printable("\u202egnp"), "\\xe2\\x80\\xaegnp") << "right to left";
  EXPECT_EQ(Printable("\u2028"), "\\xe2\\x80\\xa8") << "line separator";
}

TEST(PrintableTest, KeepsTextInOtherScripts) {
  EXPECT_EQ(Printable("модель-模型-🙂"), "модель-模型-🙂");
}

TEST(PrintableTest, AlwaysIsUtf8) {
  EXPECT_EQ(Printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond U+10FFFF";
  EXPECT_EQ(Printable("\xe6\xa8"), "\\xe6\\xa8") << "cut off";
}

TEST(PrintableTest, CutsBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 4), "abcd…");
  EXPECT_EQ(Printable("abcd", 4), "abcd");
  EXPECT_EQ(Printable("аб", 3), "а…");
  EXPECT_EQ(Printable("a\n", 4), "a…") << "an escape is not cut either";
  EXPECT_EQ(Printable(std::string(1'000, 'x')).size(), 160 + std::string("…").size());
}

}  // namespace
}  // namespace shardplan
