#include "shardplan/report/findings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace shardplan {
namespace {

const Finding kError = {"model.a", Severity::kError, "here", "is wrong", "mend it"};
const Finding kWarning = {"model.b", Severity::kWarning, "", "is odd", ""};
const Finding kNote = {"model.c", Severity::kNote, "x\x1b[2J", "may matter", ""};

TEST(RenderCheckTest, EndsWithTheVerdict) {
  EXPECT_EQ(RenderCheck({"m", "2 files", {}}, Format::kTable), "clean: 2 files\n");
  EXPECT_EQ(RenderCheck({"m", "", {}}, Format::kTable), "clean: m\n");
  EXPECT_EQ(RenderCheck({"m\n", "2 files", {kError, kError, kWarning}}, Format::kTable),
            "Findings\n"
            "  error model.a: here: is wrong\n"
            "    fix: mend it\n"
            "  error model.a: here: is wrong\n"
            "    fix: mend it\n"
            "  warning model.b: is odd\n"
            "\n"
            "2 errors, 1 warning: m\\x0a\n");
  EXPECT_EQ(RenderCheck({"m", "2 files", {kWarning, kNote}}, Format::kTable),
            "Findings\n"
            "  warning model.b: is odd\n"
            "  note model.c: x\\x1b[2J: may matter\n"
            "\n"
            "clean, with 1 warning: 2 files\n");
}

TEST(RenderCheckTest, ColoursTheVerdictAlone) {
  EXPECT_EQ(RenderCheck({"m", "2 files", {}}, Format::kTable, true),
            "\x1b[1;32mclean: 2 files\x1b[0m\n");
}

TEST(RenderCheckTest, ADocument) {
  const auto document =
      nlohmann::json::parse(RenderCheck({"m", "2 files", {kError, kNote}}, Format::kJson));
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["clean"], false);
  ASSERT_EQ(document["findings"].size(), 2U);
  EXPECT_EQ(document["findings"][0]["id"], "model.a");
  EXPECT_EQ(document["findings"][0]["severity"], "error");
  EXPECT_EQ(document["findings"][0]["fix"], "mend it");
  EXPECT_EQ(nlohmann::json::parse(RenderCheck({"m", "", {}}, Format::kJson))["clean"], true);
  EXPECT_TRUE(RenderCheck({"m", "", {}}, Format::kYaml).starts_with("schema_version: 1\n"));
}

}  // namespace
}  // namespace shardplan
