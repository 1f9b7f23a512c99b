#include "hardware/driver_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using testing::HasSubstr;

TEST(CompareDottedTest, ByNumbers) {
  EXPECT_EQ(CompareDotted("570.86", "575.51.03"), -1);
  EXPECT_EQ(CompareDotted("580.159.04", "580.65.06"), 1);
  EXPECT_EQ(CompareDotted("12.9", "12.9.0"), 0);
  EXPECT_EQ(CompareDotted("0.20.0rc1", "0.20.0"), 0);
  EXPECT_EQ(CompareDotted("x", "0.1"), -1);
}

TEST(DriverTableTest, WhatTheReleasesWereBuiltWith) {
  const Result<DriverTable> table = DriverTable::Load(ConfigStore::BuiltIn());
  ASSERT_TRUE(table) << table.error().ToString();
  EXPECT_EQ(table->ImageOf("vllm", "0.18.2"), nullptr);
  EXPECT_EQ(table->ImageOf("sglang", "0.5.12"), nullptr);
  ASSERT_NE(table->ImageOf("vllm", "0.19.1"), nullptr);
  EXPECT_EQ(table->ImageOf("vllm", "0.19.1")->cuda, "12.9");
  EXPECT_EQ(table->ImageOf("vllm", "0.31.0")->cuda, "13.0");
  EXPECT_EQ(table->ToolkitOf("12.9")->driver, "575.51.03");
  EXPECT_EQ(table->ToolkitOf("13.0")->oldest, "580.65.06");
  EXPECT_EQ(table->ToolkitOf("9.9"), nullptr);
}

TEST(DriverTableTest, SaysWhatIsWrong) {
  const auto error = [](std::string_view text) {
    const Result<DriverTable> table = DriverTable::Parse(text, "d.yaml");
    return table ? "read" : table.error().ToString();
  };
  EXPECT_EQ(error("toolkits: []\nimages: []\n"), "read");
  EXPECT_EQ(error("toolkit: []\n"), "d.yaml:1: unknown key toolkit; did you mean toolkits?");
  EXPECT_THAT(error("toolkits: []\nimages:\n  - {engine: vllm, since: 0.1, cuda: 1.0, source: a, "
                    "date: 2026-11-29}\n"),
              HasSubstr("d.yaml:3: images.cuda: expected one of the toolkits above, found 1.0"));
  EXPECT_THAT(error("toolkits:\n  - {cuda: new}\nimages: []\n"),
              HasSubstr("d.yaml:2: toolkits.cuda: expected a version"));
}

}  // namespace
}  // namespace shardplan
