#include "engine/command_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "id subject: message; fix" of each.
std::vector<std::string> CheckFlags(std::vector<GivenFlag> flags, const Architecture& arch = {},
                                    const std::string& version = "0.31.0",
                                    std::vector<OptionValue> env = {}) {
  static const FlagTable table = *FlagTable::Load(ConfigStore::BuiltIn(), "vllm");
  EngineSettings settings;
  settings.command_flags = std::move(flags);
  settings.env = std::move(env);
  std::vector<std::string> out;
  for (const Finding& f : CheckCommand(table, version, arch, settings)) {
    out.push_back(f.id + " " + f.subject + ": " + f.message + (f.fix.empty() ? "" : "; " + f.fix));
  }
  return out;
}

TEST(CommandFindingsTest, FlagsThatTheVersionLacks) {
  EXPECT_THAT(CheckFlags({{"--moe-backend", "marlin", true}}, {}, "0.16.2"),
              ElementsAre("command.flag_too_new --moe-backend: vLLM 0.16.2 does not have it: it "
                          "came with 0.17.0; leave it out, or plan for --engine vllm@0.17.0"));
  EXPECT_THAT(CheckFlags({{"--moe-backend", "marlin", true}}, {}, "0.17.0"), IsEmpty());
  EXPECT_THAT(CheckFlags({{"--max-seq-len-to-capture", "8192", true}}),
              ElementsAre("command.flag_removed --max-seq-len-to-capture: vLLM 0.31.0 does not "
                          "have it any more: 0.10.2 was the last version that did; leave it out"));
  EXPECT_THAT(CheckFlags({{"--cuda-graph-sizes", "8", true}}),
              ElementsAre("command.flag_removed --cuda-graph-sizes: vLLM 0.31.0 does not have it "
                          "any more: 0.12.0 was the last version that did; instead: "
                          "--cudagraph-capture-sizes"));
  EXPECT_THAT(CheckFlags({{"--cuda-graph-sizes", "8", true}}, {}, "0.12.0"), IsEmpty());
}

TEST(CommandFindingsTest, WhatThePlanDoesNotKnow) {
  const std::string rest =
      ": may change memory in a way that this plan does not know; compare with what a start prints";
  EXPECT_THAT(CheckFlags({{"--enable-lora", "true"}, {"--kv-transfer-config", "{\"a\":1}"}}),
              ElementsAre("command.not_modelled --enable-lora" + rest,
                          "command.not_modelled --kv-transfer-config {\"a\":1}" + rest));
  EXPECT_THAT(CheckFlags({{"--compilation-config.pass_config.fuse_x", "1"}}),
              ElementsAre("command.not_modelled --compilation-config.pass_config.fuse_x 1" + rest));
  // With these values they change nothing.
  EXPECT_THAT(CheckFlags({{"--enable-lora", "false"}, {"--optimization-level", "2"}}),
              ElementsAre("command.ignored --from-command: without effect on memory: "
                          "--enable-lora, --optimization-level"));
  EXPECT_THAT(CheckFlags({{"--enable-lora", "true", true}}), IsEmpty());
}

TEST(CommandFindingsTest, RanksThatThePlanDoesNotCount) {
  EXPECT_THAT(
      CheckFlags({{"--prefill-context-parallel-size", "2"}}),
      ElementsAre("command.ranks_not_modelled --prefill-context-parallel-size 2: multiplies "
                  "the ranks, and this plan counts TP, PP and DP alone: no part of it holds "
                  "for this command; plan without it"));
  EXPECT_THAT(CheckFlags({{"--prefill-context-parallel-size", "1"}}),
              ElementsAre("command.ignored --from-command: without effect on memory: "
                          "--prefill-context-parallel-size"));
}

TEST(CommandFindingsTest, WhatTheModelDecides) {
  Architecture arch;
  const GivenFlag images{"--limit-mm-per-prompt", "{\"image\":1}"};
  EXPECT_THAT(CheckFlags({images}, arch),
              ElementsAre("command.ignored --from-command: without effect on memory: "
                          "--limit-mm-per-prompt"));
  arch.vision.present = true;
  EXPECT_EQ(CheckFlags({images}, arch).at(0).substr(0, 20), "command.not_modelled");
  const GivenFlag fp8{"--quantization", "fp8"};
  EXPECT_THAT(
      CheckFlags({fp8}, arch),
      ElementsAre("command.not_modelled --quantization fp8: may change memory in a way that "
                  "this plan does not know; plan the weights as they become: --precision "
                  "experts=fp8,attention=fp8,mlp=fp8"));
  EXPECT_THAT(CheckFlags({{"--quantization", "bitsandbytes"}}, arch).at(0),
              ::testing::EndsWith("; compare with what a start prints"));
  arch.quantization = "fp8";
  EXPECT_EQ(CheckFlags({fp8}, arch).at(0).substr(0, 15), "command.ignored");
}

TEST(CommandFindingsTest, WhatMeansNothingIsListed) {
  EXPECT_THAT(
      CheckFlags({{"--port", "1"}, {"--nnodes", "2"}, {"--api-key", "k"}, {"--headless", "true"}}),
      ElementsAre("command.ignored --from-command: without effect on memory: --port, "
                  "--api-key; as the launch commands have it: --nnodes, --headless"));
  EXPECT_THAT(CheckFlags({}), IsEmpty());
}

TEST(CommandFindingsTest, Variables) {
  EXPECT_THAT(
      CheckFlags(
          {}, {}, "0.31.0",
          {{"VLLM_FUSED_MOE_CHUNK_SIZE", "16384"}, {"OMP_NUM_THREADS", "1"}, {"VLLM_PORT", "2"}}),
      ElementsAre("environment.not_modelled VLLM_FUSED_MOE_CHUNK_SIZE=16384: may change memory in "
                  "a way that this plan does not know; compare with what a start prints"));
}

TEST(CommandFindingsTest, OfSglang) {
  const FlagTable table = *FlagTable::Load(ConfigStore::BuiltIn(), "sglang");
  EngineSettings settings;
  settings.command_flags = {
      {"--enable-ep-moe", "true", true}, {"--dwdp-size", "2"}, {"--dcp-size", "8", true},
      {"--lora-backend", "csgmv"},       {"--node-rank", "1"}, {"--mm-enable-dp-encoder", "true"}};
  settings.env = {{"SGLANG_USE_AITER", "1"}, {"SGLANG_SWA_EVICTION_INTERVAL", "4"}};
  std::vector<std::string> found;
  for (const Finding& f : CheckCommand(table, "0.5.14", {}, settings)) {
    found.push_back(f.id + " " + f.subject + ": " + f.message + "; " + f.fix);
  }
  const std::string rest =
      ": may change memory in a way that this plan does not know; compare with what a start prints";
  EXPECT_THAT(
      found,
      ElementsAre("command.flag_removed --enable-ep-moe: SGLang 0.5.14 does not have it any more: "
                  "0.5.1 was the last version that did; instead: --ep-size",
                  "command.flag_too_new --dwdp-size: SGLang 0.5.14 does not have it: it came with "
                  "0.5.16; leave it out, or plan for --engine sglang@0.5.16",
                  "command.not_modelled --dwdp-size 2" + rest,
                  "command.flag_too_new --dcp-size: SGLang 0.5.14 does not have it: it came with "
                  "0.5.15; leave it out, or plan for --engine sglang@0.5.15",
                  "command.ignored --from-command: without effect on memory: --lora-backend, "
                  "--mm-enable-dp-encoder; as the launch commands have it: --node-rank; ",
                  "environment.not_modelled SGLANG_USE_AITER=1" + rest));
  const std::vector<Finding> launch =
      CheckLaunch(table, "0.5.14", {"python3", "-m", "sglang.launch_server", "--dcp-size", "8"});
  ASSERT_EQ(launch.size(), 1U);
  EXPECT_EQ(launch[0].subject, "SGLang 0.5.14");
}

TEST(CheckLaunch, OldVersionsDoNotKnowNewFlags) {
  const auto table = FlagTable::Load(ConfigStore::BuiltIn(), "vllm");
  ASSERT_TRUE(table.has_value());
  const std::vector<std::string> argv = {"vllm", "serve",    "m", "--tensor-parallel-size",
                                         "8",    "--nnodes", "2", "--no-enable-prefix-caching"};
  EXPECT_TRUE(CheckLaunch(*table, "0.31.0", argv).empty());
  const std::vector<Finding> old = CheckLaunch(*table, "0.8.0", argv);
  ASSERT_EQ(old.size(), 1u);
  EXPECT_EQ(old[0].id, "launch.flag_too_new");
  EXPECT_EQ(old[0].message,
            "does not have flags of the launch command yet, which came with: --nnodes (0.11.1)");
}

TEST(CheckEmitted, RefusesWhatTheVersionDoesNotTake) {
  const auto table = FlagTable::Load(ConfigStore::BuiltIn(), "vllm");
  ASSERT_TRUE(table.has_value());
  const auto check = [&](std::string_view version, std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"vllm", "serve", "<MODEL_PATH>"});
    std::string ids;
    for (const Finding& finding : CheckEmitted(*table, version, flags)) {
      EXPECT_EQ(finding.severity, Severity::kError);
      ids += finding.id + " " + finding.subject + ";";
    }
    return ids;
  };
  EXPECT_EQ(check("0.31.0", {"--nnodes", "2", "--master-addr", "<MASTER_ADDR>", "--headless"}), "");
  EXPECT_EQ(check("0.8.0", {"--nnodes", "2", "--headless"}),
            "launch.flag_too_new --nnodes;launch.flag_too_new --headless;");
  EXPECT_EQ(check("0.31.0", {"--calculate-kv-scales"}),
            "launch.flag_removed --calculate-kv-scales;");
  EXPECT_EQ(check("0.31.0", {"--expert-parallel-size", "8"}),
            "launch.flag_unknown --expert-parallel-size;");
  EXPECT_EQ(check("0.31.0", {"--nnodes"}), "launch.flag_unknown --nnodes;");
  EXPECT_EQ(check("0.31.0", {"--speculative-config", "{\"a\": "}),
            "launch.flag_unknown --speculative-config {\"a\": ;");
}

TEST(CheckEmitted, ReadsSglangs) {
  const auto table = FlagTable::Load(ConfigStore::BuiltIn(), "sglang");
  ASSERT_TRUE(table.has_value());
  std::vector<std::string> argv = {"python3",           "-m", "sglang.launch_server",
                                   "--model-path",      "/m", "--dist-init-addr",
                                   "<MASTER_ADDR>:5000"};
  EXPECT_TRUE(CheckEmitted(*table, "0.5.21", argv).empty());
  argv.emplace_back("--nonsense-flag");
  EXPECT_EQ(CheckEmitted(*table, "0.5.21", argv).size(), 1U);
}

}  // namespace
}  // namespace shardplan
