#include "engine/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace shardplan {
namespace {

using ::testing::ElementsAre;

const FlagTable& CommandTable() {
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
  return ParseArguments(CommandTable(), words);
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

// Before 0.12 -O was short for another flag.
TEST(CommandTest, LevelsOfOlderVersions) {
  const auto read = [](std::vector<CommandWord> words, const char* version) {
    const auto command = ParseArguments(CommandTable(), words, version);
    if (!command) return "error: " + command.error().ToString();
    return command->flags.at(0).row->name + " " + command->flags.at(0).ValueText();
  };
  for (const std::vector<CommandWord>& words :
       {std::vector<CommandWord>{{"-O3"}}, std::vector<CommandWord>{{"-O"}, {"3"}},
        std::vector<CommandWord>{{"-O=3"}}, std::vector<CommandWord>{{"--compilation-config=3"}},
        std::vector<CommandWord>{{"--compilation-config"}, {"3"}}}) {
    EXPECT_EQ(read(words, "0.11.0"), R"(--compilation-config {"level":3})") << words[0].text;
  }
  EXPECT_EQ(read({{"-O3"}}, "0.12.0"), "--optimization-level 3");
  EXPECT_EQ(read({{"--compilation-config", false}, {R"({"level": 0})", false}}, "0.11.0"),
            R"(--compilation-config {"level": 0})");
}

// argparse splits at "=" before it looks for blanks.
TEST(CommandTest, ValuesBehindAnEqualsSignMayHaveBlanks) {
  for (const char* word : {R"(--hf-overrides={"a": 1})", "--chat-template=/a b/c.jinja"}) {
    const auto command = ParseArguments(CommandTable(), {{"m", false}, {word, false}});
    ASSERT_TRUE(command.has_value()) << command.error().ToString();
    ASSERT_EQ(command->flags.size(), 1U) << word;
    const std::string text = word;
    EXPECT_EQ(command->flags[0].values, std::vector{text.substr(text.find('=') + 1)});
  }
  // Without one, a text with blanks is a value, whatever it begins with.
  const auto command = ParseArguments(
      CommandTable(), {{"m", false}, {"--served-model-name", false}, {"-a b=c", false}});
  ASSERT_TRUE(command.has_value()) << command.error().ToString();
  EXPECT_EQ(command->flags[0].ValueText(), "-a b=c");
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
  EXPECT_EQ(Read("m --tp 8"),
            "error: --tp: is no flag of vLLM; write -tp or --tensor-parallel-size");
  EXPECT_EQ(Read("m --kv-cache-d fp8"),
            "error: --kv-cache-d: vLLM refuses it: ambiguous option: --kv-cache-d could match "
            "--kv-cache-dtype, --kv-cache-dtype-skip-layers; write the name out");
  EXPECT_EQ(Read("m -xyz").substr(0, 42), "error: -xyz: is no flag of vLLM known here");
  EXPECT_EQ(Read("m --max-model-len"), "error: --max-model-len: expected a value, found nothing");
  EXPECT_EQ(Read("m --max-model-len --seed 1"),
            "error: --max-model-len: expected a value, found nothing");
  EXPECT_EQ(Read("m --enforce-eager=true"), "error: --enforce-eager: takes no value, found true");
  EXPECT_EQ(Read("m --enforce-eager true"),
            "error: true: belongs to no flag; quote values with blanks");
  EXPECT_EQ(
      Read("m \xe2\x80\x93max-model-len"),
      "error: \xe2\x80\x93max-model-len: belongs to no flag; write two hyphens for the dash of "
      "a text processor");
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
  const FlagRow& flag = *CommandTable().Find("--compilation-config");
  EXPECT_EQ(RowOfField(CommandTable(), flag, "custom_ops").name, "--compilation-config.custom_ops");
  EXPECT_EQ(RowOfField(CommandTable(), flag, "inductor_compile_config.x.y").name,
            "--compilation-config.inductor_compile_config");
  EXPECT_EQ(&RowOfField(CommandTable(), flag, "pass_config.x"), &flag);
}

class SglangCommandTest : public ::testing::Test {
 protected:
  static const FlagTable& CommandTable() {
    static const FlagTable table = *FlagTable::Load(ConfigStore::BuiltIn(), "sglang");
    return table;
  }

  // "--flag value" of each flag, after the model.
  static std::string Read(const std::string& line, const std::string& version = "") {
    std::vector<CommandWord> words;
    std::istringstream stream(line);
    for (std::string word; stream >> word;) words.push_back({word});
    const auto command = ParseArguments(CommandTable(), words, version);
    if (!command) return "error: " + command.error().ToString();
    std::string out = command->model ? command->model->text : "";
    for (const ParsedFlag& flag : command->flags) {
      out += " | " + flag.row->name + " " + flag.ValueText();
      if (!flag.written.empty()) out += " (" + flag.written + ")";
    }
    return out;
  }
};

TEST_F(SglangCommandTest, FormsOfAFlag) {
  EXPECT_EQ(Read("--model-path m --tp-size 8 --mem-fraction-static=0.85"),
            "m | --tp-size 8 | --mem-fraction-static 0.85");
  EXPECT_EQ(Read("--model m --chunked-prefill-size -1"), "m | --chunked-prefill-size -1");
  EXPECT_EQ(Read("--model=m --tensor-parallel-size 4 --pipeline-parallel-size=2 --ep 4"),
            "m | --tp-size 4 | --pp-size 2 | --ep-size 4");
  EXPECT_EQ(Read("--cuda-graph-bs 1 2 4 --enable-metrics --cuda-graph-bs-prefill 64 128"),
            " | --cuda-graph-bs 1 2 4 | --enable-metrics true | --cuda-graph-bs-prefill 64 128");
  EXPECT_EQ(Read("--no-dcp-replicate-q-proj --model-checksum --port 1"),
            " | --dcp-replicate-q-proj false | --model-checksum  | --port 1");
  EXPECT_EQ(Read("--tp-size 2 --nccl-init-addr a:1 --tp-size 4"),
            " | --tp-size 4 | --dist-init-addr a:1");
  EXPECT_EQ(Read(R"(--model-loader-extra-config {"a":1})"),
            R"( | --model-loader-extra-config {"a":1})");
}

TEST_F(SglangCommandTest, AbbreviationsAreThoseOfTheVersion) {
  EXPECT_EQ(Read("--tp 8 --dp=2"), " | --tp-size 8 (--tp) | --dp-size 2 (--dp)");
  EXPECT_EQ(Read("--tensor-parallel 8"), " | --tp-size 8 (--tensor-parallel)");
  EXPECT_EQ(Read("--pp 2"),
            "error: --pp: SGLang refuses it: ambiguous option: --pp could match "
            "--pp-async-batch-depth, --pp-max-micro-batch-size, --pp-size; write the name out");
  EXPECT_EQ(Read("--pp=2", "0.5.9").substr(0, 42), "error: --pp: SGLang refuses it: ambiguous ");
  EXPECT_EQ(Read("--pp 2", "0.5.1"), " | --pp-size 2 (--pp)");
  // What is a name is no abbreviation of another one.
  EXPECT_EQ(Read("--ep 2 --model m --cuda-graph-max-bs 8"),
            "m | --ep-size 2 | --cuda-graph-max-bs 8");
  EXPECT_EQ(Read("--speculative 1"),
            "error: --speculative: SGLang refuses it: ambiguous option: --speculative could match "
            "--speculative-accept-threshold-acc, --speculative-accept-threshold-single, "
            "--speculative-adaptive, --speculative-adaptive-config, --speculative-algorithm, "
            "--speculative-attention-mode, …; write the name out");
}

TEST_F(SglangCommandTest, WhatSglangRefuses) {
  EXPECT_EQ(Read("m --tp-size 8"),
            "error: m: belongs to no flag; quote values with blanks; the model is --model-path "
            "MODEL");
  EXPECT_EQ(Read("--model m n"), "error: n: belongs to no flag; quote values with blanks");
  EXPECT_EQ(Read("--tp_size 8"),
            "error: --tp_size: is no flag of SGLang known here; did you mean --tp-size, "
            "--dp-size or --ep-size?");
  EXPECT_EQ(Read("--max-model-len 1"),
            "error: --max-model-len: is no flag of SGLang; --context-length");
  EXPECT_EQ(Read("-tp 8"), "error: -tp: is no flag of SGLang; --tp-size");
  EXPECT_EQ(Read("--no-enable-prefix-caching"),
            "error: --no-enable-prefix-caching: is no flag of SGLang; --disable-radix-cache");
  EXPECT_EQ(Read("-O3").substr(0, 42), "error: -O3: is no flag of SGLang known her");
  EXPECT_EQ(Read("--no-enable-metrics").substr(0, 56),
            "error: --no-enable-metrics: is no flag of SGLang known h");
  EXPECT_EQ(Read("--cuda-graph-config.decode.max_bs 8"),
            "error: --cuda-graph-config.decode.max_bs: has no fields; give its value behind "
            "--cuda-graph-config");
  EXPECT_EQ(Read("--enable-dp-attention true"),
            "error: true: belongs to no flag; quote values with blanks; the model is --model-path "
            "MODEL");
  EXPECT_EQ(Read("--model-path"), "error: --model-path: expected a value, found nothing");
}

// Everything that is wrong, at once; the rest is read.
TEST(CommandTest, ProblemsAreCollected) {
  std::vector<CommandWord> words;
  std::istringstream stream(
      "m --expert-parallel-size 16 -tp 8 --no-such a b --seed --cudagraph 1 --eplb-config nojson "
      "--enforce-eager=1 --max-num-seqs 4 --max-num-seqs 5 stray --port 80 --port 80");
  for (std::string word; stream >> word;) words.push_back({word});
  std::vector<CommandProblem> problems;
  const auto command = ParseArguments(CommandTable(), words, "", &problems);
  ASSERT_TRUE(command.has_value());
  std::vector<std::string> told;
  for (const CommandProblem& problem : problems) {
    told.push_back(problem.id + " " + problem.error.subject);
  }
  EXPECT_THAT(told,
              ElementsAre("command.flag_never --expert-parallel-size",
                          "command.flag_unknown --no-such", "command.value --seed",
                          "command.ambiguous --cudagraph", "command.value --eplb-config nojson",
                          "command.value --enforce-eager", "command.word stray"));
  std::vector<std::string> read;
  for (const ParsedFlag& flag : command->flags) read.push_back(flag.row->name);
  EXPECT_THAT(read, ElementsAre("--tensor-parallel-size", "--max-num-seqs", "--port"));
  EXPECT_THAT(command->repeated, ElementsAre("--max-num-seqs"));
}

}  // namespace
}  // namespace shardplan
