#include "preflight/side_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/base/file.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SideFilesTest : public ::testing::Test {
 protected:
  SideFilesTest() {
    dir_.Write("config.json", R"({"eps": Infinity})");
    dir_.Write("tokenizer.json", R"({"a": NaN})");
    dir_.Write("tokenizer_config.json", "{}");
  }
  std::vector<Finding> Look() const {
    return SideFileFindings(dir_.path(), *ListDirectory(dir_.path()));
  }
  testing_support::TempDir dir_;
};

TEST_F(SideFilesTest, NothingToSay) { EXPECT_THAT(Look(), IsEmpty()); }

TEST_F(SideFilesTest, NoConfigNoTokenizer) {
  const std::vector<Finding> found = SideFileFindings(dir_.path(), {"a.safetensors"});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].id, "model.config_missing");
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_EQ(found[1].id, "model.tokenizer_missing");
  EXPECT_EQ(found[1].severity, Severity::kWarning);
}

TEST_F(SideFilesTest, EveryKindOfTokenizer) {
  for (const char* const name : {"tokenizer.model", "tiktoken.model", "qwen.tiktoken"}) {
    EXPECT_THAT(SideFileFindings(dir_.path(), {"config.json", "tokenizer_config.json", name}),
                IsEmpty())
        << name;
  }
  EXPECT_THAT(SideFileFindings(dir_.path(), {"config.json", "tekken.json"}), IsEmpty());
  EXPECT_THAT(SideFileFindings(dir_.path(), {"config.json", "vocab.json", "merges.txt",
                                             "tokenizer_config.json"}),
              IsEmpty());
  const auto no_merges =
      SideFileFindings(dir_.path(), {"config.json", "vocab.json", "tokenizer_config.json"});
  ASSERT_THAT(no_merges, SizeIs(1));
  const auto no_template = SideFileFindings(dir_.path(), {"config.json", "tokenizer.model"});
  ASSERT_THAT(no_template, SizeIs(1));
  EXPECT_THAT(no_template[0].message, HasSubstr("without tokenizer_config.json"));
}

TEST_F(SideFilesTest, FilesThatEndedTooSoon) {
  dir_.Write("tokenizer.json", R"({"model": {"vocab")");
  dir_.Write("generation_config.json", "");
  dir_.Write("tokenizer_config.json", "<html>");
  const std::vector<Finding> found = Look();
  ASSERT_THAT(found, SizeIs(3));
  for (const Finding& finding : found) {
    EXPECT_EQ(finding.id, "model.json_broken");
    EXPECT_EQ(finding.severity, Severity::kError);
  }
  EXPECT_THAT(found[0].subject, HasSubstr("/generation_config.json"));
  EXPECT_EQ(found[0].message, "expected JSON, the file is empty");
}

TEST_F(SideFilesTest, PointersAreToldElsewhere) {
  dir_.Write("tokenizer.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(SideFilesTest, CodeThatAutoMapNames) {
  dir_.Write("config.json", R"({"auto_map": {
      "AutoConfig": "configuration_kimi.KimiConfig", "AutoModel": "modeling_kimi.KimiModel"}})");
  dir_.Write("tokenizer_config.json", R"({"auto_map": {
      "AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", null]}})");
  dir_.Write("modeling_kimi.py", "");
  const std::vector<Finding> found = Look();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].id, "model.code_missing");
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_EQ(found[0].message, "auto_map names code that is not there: tokenization_kimi.py");
  EXPECT_EQ(found[1].severity, Severity::kWarning);
  EXPECT_THAT(found[1].subject, HasSubstr("/config.json"));
  dir_.Write("tokenization_kimi.py", "");
  dir_.Write("configuration_kimi.py", "");
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(SideFilesTest, CodeOfOtherRepositoriesAndNonsense) {
  dir_.Write("config.json", R"({"auto_map": {"AutoConfig": "owner/name--configuration.C",
      "A": 3, "B": "nodot", "C": "../../x.y", "D": [["deep.Deep"]]}})");
  const std::vector<Finding> found = Look();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "model.code_elsewhere");
  EXPECT_THAT(found[0].message, HasSubstr(": owner/name"));
}

}  // namespace
}  // namespace shardplan
