#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/run_program.h"
#include "support/checkpoint_builder.h"

namespace shardplan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::CliData;
using testing_support::Outcome;
using testing_support::ReadText;
using testing_support::RunProgram;
using testing_support::TempDir;

TEST(StandinCommandTest, FromAConfigAndFromACheckpoint) {
  const TempDir dir;
  const std::string first = dir.Path("first copy");
  const std::string second = dir.Path("second");
  Outcome outcome = RunProgram("standin tiny-dense/config.json '" + first + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("Stand-in checkpoint in " + first + "\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  tensors        39\n"));
  EXPECT_THAT(outcome.out, HasSubstr("Plan it: shardplan plan '" + first + "' --gpu "));
  EXPECT_EQ(ReadText(first + "/config.json"), ReadText(CliData() + "/tiny-dense/config.json"));

  const Outcome plan = RunProgram("plan '" + first + "' --gpu a10-24");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("exact: read from the shard headers"));

  outcome = RunProgram("standin '" + first + "' " + second);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const auto& entry : std::filesystem::directory_iterator(first)) {
    const std::string name = entry.path().filename();
    EXPECT_EQ(std::filesystem::file_size(entry.path()),
              std::filesystem::file_size(second + "/" + name))
        << name;
  }
}

TEST(StandinCommandTest, AQuantizationBesideTheConfigIsWritten) {
  const TempDir dir;
  dir.Write("m/config.json", ReadText(CliData() + "/tiny-dense/config.json"));
  dir.Write("m/hf_quant_config.json", R"({"quantization": {"quant_algo": "FP8"}})");
  const Outcome outcome = RunProgram("standin '" + dir.Path("m") + "' '" + dir.Path("copy") + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(ReadText(dir.Path("copy/hf_quant_config.json")),
            R"({"quantization": {"quant_algo": "FP8"}})");
  const Outcome plan =
      RunProgram("plan '" + dir.Path("copy") + "' --gpu h100-80-sxm --format json");
  EXPECT_THAT(plan.out, HasSubstr("\"shape_basis\": \"exact\""));
  EXPECT_EQ(plan.out.find("model.quantization"), std::string::npos);
}

TEST(StandinCommandTest, NothingIsOverwritten) {
  const TempDir dir;
  dir.Write("full/precious", "1");
  const Outcome outcome = RunProgram("standin tiny-dense '" + dir.Path("full") + "'");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("expected a new or empty directory"));
  EXPECT_EQ(ReadText(dir.Path("full/precious")), "1");
}

TEST(StandinCommandTest, Assumptions) {
  const TempDir dir;
  const Outcome outcome =
      RunProgram("standin tiny-dense '" + dir.Path("a") + "' --assume inv_freq=32");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  tensors        43\n"));
}

TEST(StandinCommandTest, UsageErrors) {
  EXPECT_EQ(RunProgram("standin").err,
            "shardplan: error: CONFIG_OR_MODEL: expected a config.json or a model, found none; "
            "shardplan standin CONFIG_OR_MODEL DIR\n");
  EXPECT_EQ(RunProgram("standin tiny-dense").err,
            "shardplan: error: DIR: expected a directory to write, found none; shardplan standin "
            "CONFIG_OR_MODEL DIR\n");
  EXPECT_EQ(RunProgram("standin tiny-dense").code, 2);
  EXPECT_EQ(RunProgram("standin nowhere /tmp/x").code, 4);
}

// Heads that carry a whole model's name: only the method says what they are.
TEST(StandinCommandTest, OfADraft) {
  const TempDir dir;
  dir.Write("config.json", R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 256,
      "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 8,
      "num_key_value_heads": 8, "vocab_size": 320, "max_position_embeddings": 1024})");
  const std::string source = "'" + dir.Path("config.json") + "' '";
  Outcome outcome = RunProgram("standin " + source + dir.Path("head") + "' --draft-method eagle3");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(ReadText(dir.Path("head/model.safetensors")), HasSubstr("\"midlayer.mlp.up_proj"));
  outcome = RunProgram("standin " + source + dir.Path("other") + "' --draft-method mtp");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--draft-method mtp: expected eagle, eagle3, medusa, dflash "
                                     "or dspark"));
}

}  // namespace
}  // namespace shardplan::cli
