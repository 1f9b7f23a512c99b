#include "engine/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace shardplan {
namespace {

using ::testing::ElementsAre;

const FlagTable& Table() {
  static const FlagTable table = *FlagTable::Load(ConfigStore::BuiltIn(), "vllm");
  return table;
}

// Words separated by blanks; one with a "$" is not known.
Result<ParsedCommand> Parse(const std::string& line) {
  std::vector<CommandWord> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    words.push_back({word, word.find('$') != std::string::npos});
  }
  return ParseArguments(Table(), words);
}

// "--flag value" of each flag, after the model.
std::string Read(const std::string& line) {
  const auto command = Parse(line);
  if (!command) return "error: " + command.error().ToString();
  std::string out = command->model ? command->model->text : "";
  for (const ParsedFlag& flag : command->flags) {
    out += " | " + flag.row->name + " " + flag.ValueText() + (flag.expands ? " (unknown)" : "");
  }
  return out;
}

TEST(CommandTest, FormsOfAFlag) {
  EXPECT_EQ(Read("m --max-model-len 512K"), "m | --max-model-len 512K");
  EXPECT_EQ(Read("m --max_model_len=-1"), "m | --max-model-len -1");
  EXPECT_EQ(Read("--max-model-len -1 m"), "m | --max-model-len -1");
  EXPECT_EQ(Read("m -tp 8 -pp=2 -dp 4 -dcp 2 -ep -n2 -r 1"),
            "m | --tensor-parallel-size 8 | --pipeline-parallel-size 2 | --data-parallel-size 4 | "
            "--decode-context-parallel-size 2 | --enable-expert-parallel true | --nnodes 2 | "
            "--node-rank 1");
  EXPECT_EQ(Read("m --no-enable-prefix-caching --enforce_eager"),
            "m | --enable-prefix-caching false | --enforce-eager true");
  EXPECT_EQ(Read("m -O3"), "m | --optimization-level 3");
  EXPECT_EQ(Read("m -O=0"), "m | --optimization-level 0");
  EXPECT_EQ(Read("m -O 1"), "m | --optimization-level 1");
  EXPECT_EQ(Read("--model m --hf-token --port 1"), "m | --hf-token  | --port 1");
  EXPECT_EQ(Read("--port 1 -- m"), "m | --port 1");
}

TEST(CommandTest, ListsEndAtTheNextFlag) {
  EXPECT_EQ(Read("m --cpu-offload-params a b --cudagraph-capture-sizes 1 2 4 --seed 1"),
            "m | --cpu-offload-params a b | --cudagraph-capture-sizes 1 2 4 | --seed 1");
  EXPECT_EQ(Read("--cudagraph-capture-sizes=1 m"), "m | --cudagraph-capture-sizes 1");
}

TEST(CommandTest, TheLastOneCounts) {
  EXPECT_EQ(Read("m -tp 2 --seed 1 --tensor-parallel-size 4"),
            "m | --tensor-parallel-size 4 | --seed 1");
  EXPECT_EQ(Read("m --enable-prefix-caching --no-enable-prefix-caching"),
            "m | --enable-prefix-caching false");
}

TEST(CommandTest, Objects) {
  EXPECT_EQ(Read(R"(m --speculative-config {"method":"mtp"})"),
            R"(m | --speculative-config {"method":"mtp"})");
  EXPECT_EQ(Read("m --speculative_config.method mtp -sc.num_speculative_tokens=3"),
            R"(m | --speculative-config {"method":"mtp","num_speculative_tokens":3})");
  EXPECT_EQ(Read("m -O.level=3 -cc.pass_config.fuse_x true"),
            R"(m | --compilation-config {"level":3,"pass_config":{"fuse_x":true}})");
  // Fields come last and replace what was given whole.
  EXPECT_EQ(Read(R"(m -cc.mode 3 --compilation-config {"level":1})"),
            R"(m | --compilation-config {"mode":3})");
  const auto command = Parse(R"(m -cc {"cudagraph_capture_sizes":[1,2],"mode":3})");
  ASSERT_TRUE(command.has_value());
  ASSERT_EQ(command->flags[0].fields.size(), 2U);
  EXPECT_THAT(command->flags[0].fields[0].values, ElementsAre("1", "2"));
}

TEST(CommandTest, Abbreviations) {
  const auto command = Parse("m --kv-cache-memory 20G");
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->flags[0].row->name, "--kv-cache-memory-bytes");
  EXPECT_EQ(command->flags[0].written, "--kv-cache-memory");
  EXPECT_EQ(Parse("m --seed 1")->flags[0].written, "");
}

TEST(CommandTest, WhatVllmRefuses) {
  EXPECT_EQ(Read("m --max-model-length 1"),
            "error: --max-model-length: is no flag of vLLM known here; did you mean "
            "--max-model-len?");
  EXPECT_EQ(Read("m --ep-size 8"),
            "error: --ep-size: is no flag of vLLM; --enable-expert-parallel spreads experts over "
            "all ranks of TP × DP");
  EXPECT_EQ(Read("m --kv-cache-d fp8").substr(0, 60),
            "error: --kv-cache-d: is no flag of vLLM known here; did you ");
  EXPECT_EQ(Read("m -xyz").substr(0, 42), "error: -xyz: is no flag of vLLM known here");
  EXPECT_EQ(Read("m --max-model-len"), "error: --max-model-len: expected a value, found nothing");
  EXPECT_EQ(Read("m --max-model-len --seed 1"),
            "error: --max-model-len: expected a value, found nothing");
  EXPECT_EQ(Read("m --enforce-eager=true"), "error: --enforce-eager: takes no value, found true");
  EXPECT_EQ(Read("m --enforce-eager true"),
            "error: true: belongs to no flag; quote values with blanks");
  EXPECT_EQ(Read("m --no-headless").substr(0, 20), "error: --no-headless");
  EXPECT_EQ(Read("m --seed.x 1"), "error: --seed.x: has no fields; give its value behind --seed");
  EXPECT_EQ(Read("m --speculative-config mtp"),
            "error: --speculative-config mtp: expected a JSON object; such as '{\"key\": "
            "\"value\"}', in single quotes");
}

TEST(CommandTest, UnknownValuesAreMarked) {
  EXPECT_EQ(Read("$M --max-model-len $L --port=$P"),
            "$M | --max-model-len $L (unknown) | --port $P (unknown)");
  EXPECT_EQ(Read("m -cc.mode $X"), "m | --compilation-config {\"mode\":\"$X\"} (unknown)");
  EXPECT_EQ(Read("m --$FLAGS"),
            "error: --$FLAGS: is not known before a shell replaces it; write its value");
}

TEST(CommandTest, WordsReadBack) {
  const std::string line =
      "m --cpu-offload-params a b --no-async-scheduling --max-model-len -1 --seed 1 "
      R"(--hf-overrides {"a":1})";
  const auto command = Parse(line);
  ASSERT_TRUE(command.has_value());
  std::string again = "m";
  for (const ParsedFlag& flag : command->flags) {
    for (const std::string& word : flag.Words()) again += " " + word;
  }
  EXPECT_EQ(Read(again), Read(line));
}

TEST(CommandTest, TheCommandOverridesItsFile) {
  const ParsedCommand both = Overridden(*Parse("a -tp 2 --seed 1"), *Parse("b --seed 2 --port 3"));
  EXPECT_EQ(both.model->text, "b");
  ASSERT_EQ(both.flags.size(), 3U);
  EXPECT_EQ(both.Find("--seed")->ValueText(), "2");
  EXPECT_EQ(both.Find("--tensor-parallel-size")->ValueText(), "2");
  EXPECT_EQ(both.Find("--block-size"), nullptr);
  EXPECT_EQ(Overridden(*Parse("a"), *Parse("--port 3")).model->text, "a");
}

TEST(CommandTest, RowsOfFields) {
  const FlagRow& flag = *Table().Find("--compilation-config");
  EXPECT_EQ(RowOfField(Table(), flag, "custom_ops").name, "--compilation-config.custom_ops");
  EXPECT_EQ(RowOfField(Table(), flag, "inductor_compile_config.x.y").name,
            "--compilation-config.inductor_compile_config");
  EXPECT_EQ(&RowOfField(Table(), flag, "pass_config.x"), &flag);
}

}  // namespace
}  // namespace shardplan
