#include "engine/choice_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/flag_table.h"
#include "engine/sglang/legality.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ChoiceTable ChoicesTable(const char* engine) {
  return ChoiceTable::Load(ConfigStore::BuiltIn(), engine).value();
}

TEST(ChoiceTableTest, EveryRowIsOfAFlag) {
  for (const char* engine : {"vllm", "sglang"}) {
    const auto flags = FlagTable::Load(ConfigStore::BuiltIn(), engine);
    ASSERT_TRUE(flags.has_value());
    const ChoiceTable table = ChoicesTable(engine);
    EXPECT_GT(table.rows().size(), 30U) << engine;
    for (const auto& [name, row] : table.rows()) {
      const FlagRow* const flag = flags->Find(name);
      ASSERT_NE(flag, nullptr) << name;
      EXPECT_EQ(flag->name, name);
      EXPECT_TRUE(flag->takes == FlagTakes::kOne || flag->takes == FlagTakes::kMaybe) << name;
      EXPECT_TRUE(row.plugin.empty() || flags->Find(row.plugin) != nullptr) << row.plugin;
      std::set<std::string> once;
      for (const Choice& choice : row.choices) {
        EXPECT_TRUE(once.insert(choice.name).second) << name << " " << choice.name;
        EXPECT_EQ(row.Compared(choice.name), choice.name) << name << " " << choice.name;
      }
    }
  }
}

// The options of a plan and the words of a command take the same names.
TEST(ChoiceTableTest, BackendsAreThoseOfTheOptions) {
  const ChoiceTable table = ChoicesTable("sglang");
  const auto expect = [&](const char* flag, const std::vector<std::string>& names) {
    const ChoiceRow* const row = table.Find(flag);
    ASSERT_NE(row, nullptr) << flag;
    EXPECT_THAT(row->NamesAt(""), ::testing::UnorderedElementsAreArray(names)) << flag;
  };
  for (const char* flag :
       {"--attention-backend", "--prefill-attention-backend", "--decode-attention-backend"}) {
    expect(flag, sglang::AttentionBackends());
  }
  expect("--moe-a2a-backend", sglang::AllToAllBackends());
  expect("--moe-runner-backend", sglang::MoeRunners());
}

TEST(ChoiceTableTest, VersionsOfAChoice) {
  const testing_support::TempDir dir;
  dir.Write("engines/vllm/choices.tsv",
            "flag\tform\tplugin\tchoices\n--x\tloose\t\ta_b|c>0.10.2|d<0.12.0|e>0.10.2<0.12.0\n");
  const auto table =
      ChoiceTable::Load(ConfigStore::WithOverrides(dir.Path("")).value(), "vllm").value();
  const ChoiceRow& row = *table.Find("--x");
  EXPECT_THAT(row.NamesAt("0.10.2"), ElementsAre("a_b", "d"));
  EXPECT_THAT(row.NamesAt("0.11.0"), ElementsAre("a_b", "c", "d", "e"));
  EXPECT_THAT(row.NamesAt("0.12.0"), ElementsAre("a_b", "c"));
  EXPECT_THAT(row.NamesAt(""), ElementsAre("a_b", "c"));
  // What is no version is not known to lack anything.
  EXPECT_THAT(row.NamesAt("nightly"), ElementsAre("a_b", "c", "d", "e"));
  EXPECT_NE(row.Find("A-B"), nullptr);
  EXPECT_EQ(row.Find("f"), nullptr);
  EXPECT_EQ(table.Find("--y"), nullptr);
}

TEST(ChoiceTableTest, MalformedLines) {
  const std::pair<const char*, const char*> cases[] = {
      {"--x\tsome\t\ta", "--x: expected exact, loose, open or parser"},
      {"--x\texact\t--y\ta", "--x: expected the flag of a plugin for the form parser"},
      {"--x\tparser\t\ta", "--x: expected the flag of a plugin for the form parser"},
      {"--x\texact\t\ta||b", "--x: expected names between bars"},
      {"--x\texact\t\ta>new", "--x: expected names between bars"},
      {"--x\texact\t\ta<", "--x: expected names between bars"},
      {"--x\texact", "line 2: expected a name and 4 to 4 columns"}};
  for (const auto& [line, want] : cases) {
    const testing_support::TempDir dir;
    dir.Write("engines/vllm/choices.tsv", std::string("heading\n") + line + "\n");
    const auto table = ChoiceTable::Load(ConfigStore::WithOverrides(dir.Path("")).value(), "vllm");
    ASSERT_FALSE(table.has_value()) << line;
    EXPECT_EQ(table.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(table.error().message, HasSubstr(want));
  }
}

}  // namespace
}  // namespace shardplan
