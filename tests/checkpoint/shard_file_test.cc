#include "checkpoint/shard_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/checkpoint_builder.h"

namespace shardplan {
namespace {

using testing_support::TempDir;
using testing_support::WithLength;

constexpr Bytes kMaxHeader = Bytes(100'000'000);

class ShardFileTest : public testing::Test {
 protected:
  Result<ShardFile> Read() { return ReadShardFile(dir_.path(), "s.safetensors", kMaxHeader); }

  // The error without its subject, for a file of these bytes.
  std::string ErrorOf(std::string_view bytes) {
    dir_.Write("s.safetensors", bytes);
    const auto shard = Read();
    if (shard) return "no error";
    EXPECT_EQ(shard.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(shard.error().subject, dir_.Path("s.safetensors"));
    return shard.error().message + "; " + shard.error().hint;
  }

  TempDir dir_;
};

TEST_F(ShardFileTest, ReadsOne) {
  testing_support::WriteShard(dir_.Path("s.safetensors"),
                              testing_support::HeaderJson({{"a.7.w", "BF16", {2, 3}}}), 12);
  const auto shard = Read();
  ASSERT_TRUE(shard) << shard.error().ToString();
  EXPECT_EQ(shard->info.name, "s.safetensors");
  EXPECT_EQ(shard->info.tensors, 1);
  EXPECT_EQ(shard->info.payload_bytes, Bytes(12));
  EXPECT_EQ(shard->info.header_bytes + shard->info.payload_bytes, shard->info.file_bytes);
  EXPECT_EQ(shard->header.patterns[0], "a.{}.w");
}

TEST_F(ShardFileTest, AnAnswerToATruncationAtEveryByte) {
  const std::string whole =
      WithLength(testing_support::HeaderJson({{"a.7.w", "BF16", {2, 3}}})) + std::string(12, 'x');
  EXPECT_EQ(ErrorOf(whole), "no error");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorOf(std::string_view(whole).substr(0, size)), "no error") << size;
  }
}

TEST_F(ShardFileTest, RefusesBadLengths) {
  EXPECT_EQ(ErrorOf(""), "expected a safetensors file, found an empty one; fetch it again");
  EXPECT_EQ(ErrorOf("1234567"),
            "expected the 8 bytes of a header length, the file has 7; the file is truncated; fetch "
            "it again");
  EXPECT_EQ(ErrorOf(std::string("\x0a\0\0\0\0\0\0\0{}", 10)),
            "expected a header of 10 bytes, the file ends after 2 of them; the file is truncated; "
            "fetch it again");
  EXPECT_EQ(ErrorOf(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)),
            "expected a header of at most 100,000,000 bytes, the file claims 100,000,001; it is "
            "not a safetensors file, or a corrupt one; fetch it again");
  EXPECT_EQ(ErrorOf("<!DOCTYPE html>"),
            "expected a header of at most 100,000,000 bytes, the file claims "
            "5,789,751,444,030,890,300; it is not a safetensors file, or a corrupt one; fetch it "
            "again");
  EXPECT_EQ(ErrorOf(std::string(8, '\xff')),
            "expected a header of at most 100,000,000 bytes, the file claims "
            "18446744073709551615; it is not a safetensors file, or a corrupt one; fetch it again");
  EXPECT_EQ(
      ErrorOf(std::string(8, '\0')),
      "expected a JSON header, found nothing but blanks; the file is corrupt; fetch it again");
}

TEST_F(ShardFileTest, NamesALfsPointer) {
  EXPECT_EQ(ErrorOf("version https://git-lfs.github.com/spec/v1\n"
                    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
                    "size 12345\n"),
            "expected the file itself, found a Git LFS pointer: the directory holds LFS pointers, "
            "not weights; run `git lfs pull` in it");
}

TEST_F(ShardFileTest, SystemErrors) {
  const auto missing = Read();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_EQ(missing.error().ToString(),
            dir_.Path("s.safetensors") + ": cannot open: No such file or directory");

  std::filesystem::create_symlink("s.safetensors", dir_.Path("s.safetensors"));
  const auto loop = Read();
  ASSERT_FALSE(loop);
  EXPECT_EQ(loop.error().code, ErrorCode::kIo);
  EXPECT_EQ(loop.error().message, "cannot open: Too many levels of symbolic links");

  std::filesystem::remove(dir_.Path("s.safetensors"));
  dir_.MakeDir("s.safetensors");
  EXPECT_EQ(Read().error().message, "expected a file, found a directory");

  std::filesystem::remove(dir_.Path("s.safetensors"));
  ASSERT_EQ(::mkfifo(dir_.Path("s.safetensors").c_str(), 0600), 0);
  EXPECT_EQ(Read().error().message, "expected a regular file, found a special one");
}

TEST_F(ShardFileTest, Unreadable) {
  const std::string path = dir_.Write("s.safetensors", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  // Root reads everything, so it is nobody for the moment.
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const auto read = Read();
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kIo);
  EXPECT_EQ(read.error().message, "cannot open: Permission denied");
}

}  // namespace
}  // namespace shardplan
