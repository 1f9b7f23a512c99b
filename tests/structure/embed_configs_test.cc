// cmake/EmbedConfigs.cmake on embed_data/, whose files this binary holds in place of configs/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/embedded_files.h"

namespace shardplan::internal {
namespace {

TEST(EmbedConfigsTest, KeepsEveryByteOfEveryFile) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);

  const std::span<const EmbeddedFile> files = EmbeddedFiles();
  ASSERT_EQ(files.size(), 4U);
  EXPECT_EQ(files[0].name, "a folder/with spaces.yaml");
  EXPECT_EQ(files[0].text, "id: spaces\n");
  EXPECT_EQ(files[1].name, "bytes.tsv");
  EXPECT_EQ(files[1].text, every_byte + every_byte);
  EXPECT_EQ(files[2].name, "empty.yaml");
  EXPECT_EQ(files[2].text, "");
  EXPECT_EQ(files[3].name, "literal.yaml");
  EXPECT_EQ(files[3].text,
            "a: \")\" \\n ]] [[ ; ${x} @x@ \"\"\" ?\?= \\x41\r\nno newline at the end");
}

}  // namespace
}  // namespace shardplan::internal
