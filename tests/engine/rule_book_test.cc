#include "engine/rule_book.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing_support::TempDir;

TEST(ParseVersion, TheLeadingNumbersCount) {
  EXPECT_EQ(ParseVersion("0.31.0"), (EngineVersion{0, 31, 0}));
  EXPECT_EQ(ParseVersion("v0.31"), (EngineVersion{0, 31, 0}));
  EXPECT_EQ(ParseVersion("0.31.1rc1.dev50"), (EngineVersion{0, 31, 1}));
  EXPECT_EQ(ParseVersion("1"), (EngineVersion{1, 0, 0}));
  EXPECT_EQ(ParseVersion("main"), std::nullopt);
  EXPECT_EQ(ParseVersion("-1.0"), std::nullopt);
  EXPECT_EQ(ParseVersion("99999999999999999999"), std::nullopt);
  EXPECT_EQ(ParseVersion(""), std::nullopt);
}

class RuleBookTest : public ::testing::Test {
 protected:
  Result<RuleBook> Load(const std::string& text) {
    std::filesystem::create_directories(dir_.path() + "/engines/vllm");
    std::ofstream(dir_.path() + "/engines/vllm/rules.yaml") << text;
    const auto store = ConfigStore::WithOverrides(dir_.path());
    EXPECT_TRUE(store.has_value());
    return RuleBook::Load(*store);
  }
  std::string Error(const std::string& text) {
    const Result<RuleBook> book = Load(text);
    if (book) return "loaded";
    const std::string message = book.error().ToString();
    const size_t at = message.find("rules.yaml");
    return at == std::string::npos ? message : message.substr(at);
  }
  TempDir dir_;
};

constexpr const char* kReleases =
    "releases:\n"
    "  - {version: 0.1.0, cut: 2026-01-10}\n"
    "  - {version: 0.2.0, cut: 2026-02-10}\n"
    "  - {version: 0.3.0, cut: 2026-03-10}\n";

TEST_F(RuleBookTest, ADayMeansTheFirstReleaseThatHoldsIt) {
  const auto book = Load(std::string(kReleases) +
                         "rules:\n"
                         "  a:\n"
                         "    - {since: 0.1.0, value: 1, source: x}\n"
                         "    - {merged: 2026-02-10, value: 2, source: x}\n"
                         "    - {merged: 2026-02-11, value: 3, source: x}\n"
                         "memory:\n"
                         "  m: {gib: 1, source: x}\n");
  ASSERT_TRUE(book.has_value()) << book.error().ToString();
  EXPECT_EQ(book->releases(), (std::vector<std::string>{"0.1.0", "0.2.0", "0.3.0"}));
  const auto value = [&](EngineVersion version) {
    return book->Rule("a", version)->node["value"].as<int>();
  };
  EXPECT_EQ(value({0, 1, 9}), 1);
  EXPECT_EQ(value({0, 2, 0}), 2);
  EXPECT_EQ(value({0, 3, 0}), 3);
  EXPECT_EQ(book->Rule("a", {0, 2, 5})->since, "0.2.0");
  EXPECT_FALSE(book->Rule("a", {0, 0, 9}).has_value());
  EXPECT_FALSE(book->Rule("b", {0, 3, 0}).has_value());
  EXPECT_EQ(book->Memory("m")["gib"].as<int>(), 1);
  EXPECT_FALSE(book->Memory("n").IsDefined());
}

TEST_F(RuleBookTest, UndatedAndUnorderedEntriesAreRefused) {
  const auto thrown = [&](const std::string& entries) -> std::string {
    const auto book = Load(std::string(kReleases) + "rules:\n  a:\n" + entries);
    EXPECT_TRUE(book.has_value());
    try {
      book->Rule("a", {0, 3, 0});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "read";
  };
  EXPECT_EQ(thrown("    - {value: 1}\n"), "expected {since or merged, value, evidence, source}");
  EXPECT_EQ(thrown("    - {merged: 2027-01-01, value: 1}\n"),
            "no release was cut after 2027-01-01");
  EXPECT_EQ(thrown("    - {since: soon, value: 1}\n"), "expected a version, found 'soon'");
  EXPECT_EQ(thrown("    - {since: 0.2.0, value: 1}\n    - {since: 0.1.0, value: 1}\n"),
            "expected entries in rising order, found 0.1.0");
}

TEST_F(RuleBookTest, SaysWhatIsWrongWithTheFile) {
  EXPECT_EQ(Error("- a\n"), "rules.yaml: expected a YAML mapping");
  EXPECT_EQ(Error("rules: {}\n"), "rules.yaml: expected releases, found none");
  EXPECT_EQ(Error("releases:\n  - {version: 0.2.0, cut: x}\n  - {version: 0.1.0, cut: x}\n"),
            "rules.yaml: releases: expected versions in rising order, found 0.1.0");
  EXPECT_EQ(Error("releases: [\n").substr(0, 17), "rules.yaml: line ");
}

}  // namespace
}  // namespace shardplan
