// Commands that start SGLang, read into a deployment.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <set>
#include <sstream>

#include "cli/apply_command.h"
#include "cli/from_command.h"
#include "engine/command_findings.h"
#include "engine/flag_table.h"
#include "shardplan/launch/shell.h"
#include "support/table.h"
#include "support/temp_dir.h"

namespace shardplan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using testing_support::Applied;
using testing_support::Apply;

constexpr const char* kStart = "python3 -m sglang.launch_server --model-path org/model ";

const FlagTable& Table() {
  static const FlagTable table = *FlagTable::Load(ConfigStore::BuiltIn(), "sglang");
  return table;
}

TEST(FromSglangCommandTest, FlagsBecomeSettings) {
  const Applied applied = Apply(
      "SGLANG_PP_LAYER_PARTITION=48,45 SGLANG_MAMBA_SSM_DTYPE=bfloat16 NCCL_DEBUG=INFO "
      "python3 -m sglang.launch_server --model-path org/model --tp 8 --pp-size 2 --dp-size=2 "
      "--dcp-size 4 --ep 8 --nnodes 2 --node-rank 0 --dist-init-addr a:1 --enable-dp-attention "
      "--mem-fraction-static 0.85 --context-length 262144 --chunked-prefill-size 8192 "
      "--max-running-requests 64 --kv-cache-dtype fp8_e4m3 --cuda-graph-bs 1 2 4 "
      "--disable-radix-cache --speculative-algorithm EAGLE --port 30000 --enable-metrics");
  EXPECT_EQ(applied.error, "");
  const Deployment& d = applied.what.deployment;
  EXPECT_EQ(d.engine, "sglang");
  EXPECT_EQ(d.engine_version, "");
  EXPECT_EQ(d.nodes, 2);
  EXPECT_EQ(d.sizes.tp, 8);
  EXPECT_EQ(d.sizes.pp, 2);
  EXPECT_EQ(d.sizes.dp, 2);
  EXPECT_EQ(d.sizes.dcp, 4);
  EXPECT_THAT(*d.partition, ElementsAre(48, 45));
  const SglangSettings& s = d.sglang;
  EXPECT_EQ(s.ep_size, 8);
  EXPECT_TRUE(s.enable_dp_attention);
  EXPECT_EQ(s.mem_fraction_static, 0.85);
  EXPECT_EQ(s.context_length, 262'144);
  EXPECT_EQ(s.chunked_prefill_size, 8192);
  EXPECT_EQ(s.max_running_requests, 64);
  EXPECT_EQ(s.kv_cache_dtype, "fp8_e4m3");
  EXPECT_THAT(s.cuda_graph_bs, ElementsAre(1, 2, 4));
  EXPECT_TRUE(s.disable_radix_cache);
  EXPECT_EQ(s.speculative_algorithm, "EAGLE");
  EXPECT_EQ(s.mamba_ssm_dtype, DType::kBF16);
  EXPECT_EQ(d.settings.served_model, "org/model");
  EXPECT_THAT(d.settings.extra_arguments, ElementsAre("--port", "30000", "--enable-metrics"));
  EXPECT_THAT(d.settings.env,
              ElementsAre(Pair("SGLANG_MAMBA_SSM_DTYPE", "bfloat16"), Pair("NCCL_DEBUG", "INFO")));
  EXPECT_THAT(d.vllm_options, IsEmpty());
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].id, "command.abbreviated");
  EXPECT_EQ(d.findings[0].subject, "--tp");
  EXPECT_EQ(d.findings[0].message, "is read as --tp-size");
}

// No release has vLLM's short name.
TEST(FromSglangCommandTest, ValuesAreThoseOfItsParser) {
  EXPECT_EQ(Apply(kStart + std::string("--kv-cache-dtype fp8")).error,
            "--from-command --kv-cache-dtype fp8: expected auto, fp8_e5m2, fp8_e4m3, mxfp8, bf16, "
            "bfloat16, nvfp4 or fp4_mx_block16; did you mean fp8_e4m3, fp8_e5m2 or mxfp8?");
  EXPECT_THAT(Apply(kStart + std::string("--moe-runner-backend marlim")).error,
              HasSubstr("did you mean marlin?"));
  const Applied old =
      Apply(kStart + std::string("--moe-runner-backend marlin"), "m --engine sglang@0.5.2");
  EXPECT_EQ(old.error, "");
  ASSERT_EQ(old.what.deployment.findings.size(), 1U);
  EXPECT_EQ(old.what.deployment.findings[0].id, "command.value_too_new");
  EXPECT_EQ(old.what.deployment.findings[0].severity, Severity::kWarning);
}

TEST(FromSglangCommandTest, TheLineWins) {
  const Applied applied =
      Apply(std::string("SGLANG_PP_LAYER_PARTITION=40,53 ") + kStart +
                "--tp-size 4 --pp-size 2 --mem-fraction-static 0.8 --nnodes 4 --ep-size 4",
            "m --tp 8 --nodes 2 --mem-fraction-static 0.9 --pp-partition 48,45");
  EXPECT_EQ(applied.error, "");
  const Deployment& d = applied.what.deployment;
  EXPECT_EQ(d.sizes.tp, 8);
  EXPECT_EQ(d.nodes, 2);
  EXPECT_EQ(d.sglang.mem_fraction_static, 0.9);
  EXPECT_EQ(d.sglang.ep_size, 4);
  EXPECT_THAT(*d.partition, ElementsAre(48, 45));
  // Whatever the command calls it.
  const Applied others = Apply(kStart + std::string("--disable-radix-cache "
                                                    "--disable-piecewise-cuda-graph"),
                               "m --enable-prefix-caching --cuda-graph-backend-prefill breakable");
  EXPECT_EQ(others.error, "");
  EXPECT_FALSE(others.what.deployment.sglang.disable_radix_cache);
  EXPECT_EQ(others.what.deployment.sglang.prefill_graph, PrefillGraph::kBreakable);
}

TEST(FromSglangCommandTest, TheCommandNamesTheEngine) {
  EXPECT_EQ(Apply("vllm serve x").what.deployment.engine, "vllm");
  EXPECT_EQ(Apply(kStart, "m --engine sglang@0.5.17").error, "");
  EXPECT_EQ(Apply(kStart, "m --engine sglang@0.5.17").what.deployment.engine_version, "0.5.17");
  EXPECT_EQ(Apply(kStart, "m --engine vllm@0.31.0").error,
            "--engine vllm: the command of --from-command starts SGLang; leave --engine out, or "
            "write --engine sglang");
  EXPECT_EQ(Apply("vllm serve x", "m --engine sglang").error,
            "--engine sglang: the command of --from-command starts vLLM; leave --engine out, or "
            "write --engine vllm");
}

TEST(FromSglangCommandTest, TheImageNamesTheVersion) {
  const std::string docker = "docker run --gpus all lmsysorg/sglang:";
  const auto version = [&](const std::string& tag, const std::string& line = "m") {
    return Apply(docker + tag + " " + kStart, line).what.deployment.engine_version;
  };
  EXPECT_EQ(version("v0.5.17"), "0.5.17");
  EXPECT_EQ(version("v0.5.17-cu130"), "0.5.17");
  EXPECT_EQ(version("v0.4.9.post2-cu126"), "0.4.9.post2");
  EXPECT_EQ(version("latest"), "");
  EXPECT_EQ(version("v0.5.17", "m --engine sglang"), "0.5.17");
  const Applied other = Apply(docker + "v0.5.17 " + kStart, "m --engine sglang@0.5.20");
  EXPECT_EQ(other.what.deployment.engine_version, "0.5.20");
  ASSERT_EQ(other.what.deployment.findings.size(), 1U);
  EXPECT_EQ(other.what.deployment.findings[0].id, "command.image");
  EXPECT_EQ(other.what.deployment.findings[0].subject, "sglang:v0.5.17");
  // Abbreviations are those of the image's version.
  EXPECT_EQ(Apply(docker + "v0.5.1 " + kStart + "--pp 2").what.deployment.sizes.pp, 2);
}

TEST(FromSglangCommandTest, Model) {
  const testing_support::TempDir dir;
  const std::string path = ShellQuote(dir.path());
  EXPECT_EQ(Apply("sglang serve " + path + " --model-type llm --tp 2", "").what.model, dir.path());
  EXPECT_EQ(Apply("sglang serve --model-path " + path, "").what.model, dir.path());
  EXPECT_EQ(Apply("python -m sglang.launch_server --model=" + path, "").what.model, dir.path());
  EXPECT_THAT(Apply(kStart, "").error, HasSubstr("the command serves org/model, which is no path"));
  EXPECT_EQ(Apply("python -m sglang.launch_server org/model").error,
            "--from-command org/model: belongs to no flag; quote values with blanks; the model is "
            "--model-path MODEL");
}

TEST(FromSglangCommandTest, AFileOfFlags) {
  const testing_support::TempDir dir;
  const std::string file = dir.Write(
      "serve.yaml",
      "model-path: org/model\ntp-size: 8\nenable-dp-attention: true\nenable-metrics: false\n"
      "cuda-graph-bs: [1, 2]\nmem-fraction-static: 0.8\n");
  const Applied applied =
      Apply("sglang serve --config " + ShellQuote(file) + " --mem-fraction-static 0.9");
  EXPECT_EQ(applied.error, "");
  const Deployment& d = applied.what.deployment;
  EXPECT_EQ(d.sizes.tp, 8);
  EXPECT_TRUE(d.sglang.enable_dp_attention);
  EXPECT_EQ(d.sglang.mem_fraction_static, 0.9);
  EXPECT_THAT(d.sglang.cuda_graph_bs, ElementsAre(1, 2));
  EXPECT_EQ(d.settings.served_model, "org/model");
}

TEST(FromSglangCommandTest, Errors) {
  const std::pair<const char*, const char*> cases[] = {
      {"--pp 2",
       "--from-command --pp: SGLang refuses it: ambiguous option: --pp could match "
       "--pp-async-batch-depth, --pp-max-micro-batch-size, --pp-size; write the name out"},
      {"--gpu-memory-utilization 0.9",
       "--from-command --gpu-memory-utilization: is no flag of SGLang; --mem-fraction-static: a "
       "share of what is free before the weights, for weights and pools alone"},
      {"--mem-fraction-static 2",
       "--from-command --mem-fraction-static 2: expected a fraction between 0 and 1"},
      {"--nnodes two", "--from-command --nnodes: expected a whole number, at least 1"},
      {"--tp-size $TP", "--from-command --tp-size $TP: hangs on a shell variable; write its value"},
      {"--kt-num-gpu-experts $N",
       "--from-command --kt-num-gpu-experts $N: hangs on a shell variable; write its value"},
  };
  for (const auto& [flags, error] : cases)
    EXPECT_EQ(Apply(kStart + std::string(flags)).error, error);
  for (const char* variable : {"SGLANG_MAMBA_SSM_DTYPE", "SGLANG_USE_AITER"}) {
    EXPECT_EQ(
        Apply(std::string(variable) + "=$X " + kStart).error,
        fmt::format("--from-command {}=$X: hangs on a shell variable; write its value", variable));
  }
  EXPECT_EQ(Apply(std::string("SGLANG_HOST_IP=$X NCCL_DEBUG=$Y ") + kStart).error, "");
}

// Flags that vLLM and SGLang both have are not read by vLLM's own options.
TEST(FromSglangCommandTest, OptionsOfTheOtherEngineReadNothing) {
  DeploymentOptions unused;
  const DeploymentReaders readers(&unused);
  int read = 0;
  for (const auto& [name, row] : Table().rows()) {
    if (!row.exists() || row.option == "-") continue;
    const OptionSet::Known* const option =
        readers.set().Find(row.option.empty() ? name.substr(2) : row.option);
    if (option == nullptr) {
      EXPECT_EQ(row.option, "") << name;
      continue;
    }
    ++read;
    EXPECT_NE(option->option->get_group(), "vLLM's own settings") << name;
    EXPECT_NE(row.effect, FlagEffect::kMemory) << name << " is read";
    const bool words = row.takes == FlagTakes::kOne || row.takes == FlagTakes::kMany;
    EXPECT_EQ(words, !option->is_flag()) << name;
  }
  EXPECT_GT(read, 60);
  const FlagTable vllm = *FlagTable::Load(ConfigStore::BuiltIn(), "vllm");
  for (const auto& [name, row] : vllm.rows()) {
    const OptionSet::Known* const option = readers.set().Find(name.substr(2));
    if (!row.exists() || option == nullptr) continue;
    EXPECT_NE(option->option->get_group(), "SGLang's own settings") << name;
  }
  const Applied applied = Apply(kStart + std::string("--enable-lora --max-lora-rank 64 "
                                                     "--enable-eplb --disable-custom-all-reduce"));
  EXPECT_EQ(applied.error, "");
  EXPECT_THAT(applied.what.deployment.vllm_options, IsEmpty());
  EXPECT_TRUE(applied.what.deployment.sglang.enable_eplb);
  EXPECT_THAT(applied.what.deployment.settings.extra_arguments,
              ElementsAre("--enable-lora", "--max-lora-rank", "64", "--disable-custom-all-reduce"));
}

// A command that spreads eight ranks over two nodes means it; cards that it leaves alone are
// carried.
TEST(FromSglangCommandTest, PlacesAreKept) {
  Applied applied = Apply(kStart + std::string("--tp 8 --nnodes 2 --node-rank 0 --dist-init-addr "
                                               "a:1 --base-gpu-id 4"));
  EXPECT_EQ(applied.error, "");
  EXPECT_EQ(applied.what.deployment.nodes, 2);
  EXPECT_EQ(applied.what.deployment.gpus_per_node, 4);
  EXPECT_THAT(applied.what.deployment.settings.extra_arguments, ElementsAre("--base-gpu-id", "4"));
  applied = Apply(kStart + std::string("--tp 16 --nnodes 2"));
  EXPECT_EQ(applied.what.deployment.nodes, 2);
  EXPECT_FALSE(applied.what.deployment.gpus_per_node);
}

// A secret ends in TOKEN; what counts tokens is none.
TEST(FromSglangCommandTest, CountsOfTokensAreNoSecrets) {
  const Applied applied = Apply(
      "HF_TOKEN=hf_x SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK=256 "
      "SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK=20480 " +
      std::string(kStart) + "--tp 8");
  EXPECT_EQ(applied.error, "");
  EXPECT_EQ(applied.what.deployment.sglang.mega_moe_tokens, 20480);
  ASSERT_EQ(applied.what.deployment.settings.env.size(), 2u);
  EXPECT_EQ(applied.what.deployment.settings.env[0].first,
            "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK");
}

TEST(FromSglangCommandTest, ThePublishedRecipesAreRead) {
  const auto rows = testing_support::ReadTable("sglang/cookbook.tsv");
  ASSERT_EQ(rows.size(), 48U);
  std::set<std::string> not_modelled;
  Architecture arch;
  arch.vision.present = true;
  for (const testing_support::TableRow& row : rows) {
    const std::string command = fmt::format(
        "{} python3 -m sglang.launch_server --model-path moonshotai/Kimi-K3 {} "
        "--nnodes {} --node-rank 0 --dist-init-addr HOST:20000",
        row.at(4), row.at(5), row.at(3));
    const Applied applied = Apply(command);
    EXPECT_EQ(applied.error, "") << command;
    const Deployment& d = applied.what.deployment;
    EXPECT_THAT(d.findings, IsEmpty()) << command;
    EXPECT_EQ(fmt::format("{}", d.nodes.value_or(0)), row.at(3));
    EXPECT_TRUE(d.sglang.mem_fraction_static.has_value()) << command;
    EXPECT_GE(d.sizes.tp * d.sizes.pp, 8) << command;
    for (const Finding& finding : CheckCommand(Table(), "0.5.17", arch, d.settings)) {
      if (finding.severity != Severity::kNote) {
        not_modelled.insert(finding.id + " " + finding.subject);
      }
    }
  }
  EXPECT_THAT(not_modelled,
              UnorderedElementsAre(
                  "environment.not_modelled NCCL_CUMEM_ENABLE=1",
                  "environment.not_modelled PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
                  "environment.not_modelled SGLANG_K3_ATTN_RES_MODE=jit",
                  "environment.not_modelled SGLANG_USE_AITER=1"));
}

}  // namespace
}  // namespace shardplan::cli
