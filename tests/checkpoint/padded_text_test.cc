#include "checkpoint/padded_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing_support::TempDir;

// What simdjson may read behind the text.
bool PaddingIsZero(const PaddedText& text) {
  const char* end = text.view().data() + text.view().size();
  return std::all_of(end, end + PaddedText::kPadding, [](char c) { return c == 0; });
}

TEST(PaddedTextTest, ZeroesBehindTheText) {
  for (const std::string_view text : {"", "{}", "a longer text, of no special length"}) {
    const PaddedText padded(text);
    EXPECT_EQ(padded.view(), text);
    EXPECT_TRUE(PaddingIsZero(padded));
  }
  PaddedText empty(size_t{3});
  EXPECT_TRUE(PaddingIsZero(empty));
  std::fill(empty.span().begin(), empty.span().end(), 'x');
  EXPECT_EQ(empty.view(), "xxx");
  EXPECT_TRUE(PaddingIsZero(empty));
}

TEST(PaddedTextTest, ReadsAPieceOfAFile) {
  const TempDir dir;
  dir.Write("a file", "0123456789");
  const Result<File> file = File::Open(dir.Path("a file"));
  ASSERT_TRUE(file);
  const Result<PaddedText> text = ReadPadded(*file, 3, 4);
  ASSERT_TRUE(text) << text.error().ToString();
  EXPECT_EQ(text->view(), "3456");
  EXPECT_TRUE(PaddingIsZero(*text));
  EXPECT_EQ(ReadPadded(*file, 10, 0)->view(), "");
  EXPECT_FALSE(ReadPadded(*file, 8, 3));
}

TEST(PaddedTextTest, KnowsLfsPointers) {
  EXPECT_TRUE(IsLfsPointer("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"));
  EXPECT_FALSE(IsLfsPointer("version https://git-lfs.github.com/spec/v"));
  EXPECT_FALSE(IsLfsPointer(""));
  EXPECT_EQ(LfsPointerFault("m/a\nb").value().ToString(),
            "m/a\\x0ab: expected the file itself, found a Git LFS pointer: the directory holds LFS "
            "pointers, not weights; run `git lfs pull` in it");
}

}  // namespace
}  // namespace shardplan
