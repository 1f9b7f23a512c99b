#include "cli/from_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/apply_command.h"
#include "cli/run_program.h"
#include "shardplan/launch/shell.h"

namespace shardplan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Json = nlohmann::json;
using testing_support::Applied;
using testing_support::Apply;
using testing_support::Outcome;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;

template <typename T>
std::string Text(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

// Everything that planning looks at.
std::string Describe(const DeploymentOptions& what) {
  const Deployment& d = what.deployment;
  const EngineSettings& s = d.settings;
  std::string out = fmt::format(
      "{} gpu={} nodes={} tp={} pp={} dp={} dcp={} ep={} partition={}\n", what.model, d.gpu,
      Text(d.nodes), d.sizes.tp, d.sizes.pp, d.sizes.dp, d.sizes.dcp, d.sizes.expert_parallel,
      d.partition ? fmt::format("{}", fmt::join(*d.partition, ",")) : "-");
  out += fmt::format(
      "window={}{} seqs={} tokens={} utilization={} bytes={} cache={} dtype={} "
      "block={} eager={} prefix={}\n",
      Text(s.max_model_len), s.max_model_len_auto ? " auto" : "", Text(s.max_num_seqs),
      Text(s.max_num_batched_tokens), Text(s.gpu_memory_utilization),
      s.kv_cache_memory_bytes ? s.kv_cache_memory_bytes->count() : -1, Text(s.kv_cache_dtype),
      Text(s.dtype), Text(s.block_size), s.enforce_eager, Text(s.enable_prefix_caching));
  out += fmt::format("mamba={} {} {} hybrid={} async={} blocks={} custom={} logprobs={}\n",
                     Text(s.mamba_cache_mode), Text(s.mamba_cache_dtype),
                     Text(s.mamba_ssm_cache_dtype), s.disable_hybrid_kv_cache_manager,
                     Text(s.async_scheduling), Text(s.num_gpu_blocks_override),
                     s.disable_custom_all_reduce, Text(s.logprobs_mode));
  out += fmt::format(
      "offload={} {} {} text={} encoder={} moe={} attention={} numa={} graphs={} "
      "v2={}\n",
      Text(s.offload_backend), s.cpu_offload_gb, fmt::join(s.cpu_offload_params, ","),
      s.language_model_only, Text(s.mm_encoder_tp_mode), Text(s.moe_backend),
      Text(s.attention_backend), s.numa_bind, Text(s.estimate_graphs), Text(s.v2_model_runner));
  return out;
}

TEST(FromCommandTest, CommandsMeanWhatTheirFlagsMean) {
  const std::pair<const char*, const char*> cases[] = {
      {"vllm serve org/model -tp 8 -pp 2 --max-model-len 262144 --max-num-seqs 64 "
       "--max-num-batched-tokens 32768 --gpu-memory-utilization 0.92 --block-size 64 "
       "--attention-backend FLASHMLA --distributed-executor-backend ray --trust-remote-code",
       "m --tp 8 --pp 2 --max-model-len 262144 --max-num-seqs 64 --max-num-batched-tokens 32768 "
       "--gpu-memory-utilization 0.92 --block-size 64 --attention-backend FLASHMLA"},
      {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 vllm serve org/model --tensor-parallel-size=4 "
       "--enable-expert-parallel --disable-custom-all-reduce --num-gpu-blocks-override 15000 "
       "--moe-backend triton --attention-backend flashinfer --max-model-len 240000 "
       "--max-num-seqs 128 --max-num-batched-tokens 8192",
       "m --tp 4 --enable-expert-parallel --disable-custom-all-reduce --num-gpu-blocks-override "
       "15000 --moe-backend triton --attention-backend FLASHINFER --max-model-len 240000 "
       "--max-num-seqs 128 --max-num-batched-tokens 8192 --env "
       "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0"},
      {"export VLLM_PP_LAYER_PARTITION='48,45'\n"
       "export VLLM_USE_V2_MODEL_RUNNER=1\n"
       "vllm serve org/model \\\n"
       "  --tensor_parallel_size 8 --pipeline_parallel_size 2 \\\n"
       "  --max_model_len 512K --max-num-batched-tokens 8k --kv-cache-memory-bytes 20G \\\n"
       "  --cpu-offload-gb 32 --cpu-offload-params w13_weight w2_weight --offload-backend uva \\\n"
       "  --enforce-eager --language-model-only --numa-bind --numa-bind-nodes 0 0 1 1\n",
       "m --tp 8 --pp 2 --pp-partition 48,45 --env VLLM_USE_V2_MODEL_RUNNER=1 --max-model-len 512K "
       "--max-num-batched-tokens 8k --kv-cache-memory-bytes 20G --cpu-offload-gb 32 "
       "--cpu-offload-params w13_weight,w2_weight --offload-backend uva --enforce-eager "
       "--language-model-only --numa-bind"},
      {"docker run --gpus all -e VLLM_USE_V2_MODEL_RUNNER=0 vllm/vllm-openai:latest --model "
       "org/model -dp 4 -ep -dcp 2 --no-enable-prefix-caching --no-async-scheduling --dtype half "
       "--kv-cache-dtype fp8 --mm-encoder-tp-mode data --max-model-len -1",
       "m --dp 4 --enable-expert-parallel --dcp 2 --no-enable-prefix-caching --no-async-scheduling "
       "--dtype half --kv-cache-dtype fp8 --mm-encoder-tp-mode data --max-model-len auto --env "
       "VLLM_USE_V2_MODEL_RUNNER=0"},
      {"python3 -m vllm.entrypoints.openai.api_server --model org/model "
       "--mamba-cache-mode align --mamba-cache-dtype float32 --mamba-ssm-cache-dtype float16 "
       "--disable-hybrid-kv-cache-manager --logprobs-mode processed_logits "
       "--attention-config.backend TRITON_ATTN --no-enforce-eager",
       "m --mamba-cache-mode align --mamba-cache-dtype float32 --mamba-ssm-cache-dtype float16 "
       "--disable-hybrid-kv-cache-manager --logprobs-mode processed_logits --attention-backend "
       "TRITON_ATTN"},
  };
  for (const auto& [command, line] : cases) {
    const Applied read = Apply(command);
    const Applied given = Apply("vllm serve org/model", line);
    EXPECT_EQ(read.error, "") << command;
    EXPECT_EQ(given.error, "") << line;
    EXPECT_EQ(Describe(read.what), Describe(given.what)) << command;
  }
}

TEST(FromCommandTest, TheLineOverridesTheCommand) {
  const std::string command =
      "VLLM_PP_LAYER_PARTITION=40,53 A=1 B=2 vllm serve x -tp 4 -pp 2 --max-model-len auto "
      "--enable-prefix-caching --cpu-offload-params a b --cpu-offload-gb 8 --nnodes 4 "
      "--max-num-seqs "
      "$N";
  const Applied applied =
      Apply(command,
            "m --tp 8 --nodes 2 --max-model-len 32K --no-enable-prefix-caching "
            "--cpu-offload-params c --pp-partition 48,45 --env A=3 --max-num-seqs 7");
  EXPECT_EQ(applied.error, "");
  const Deployment& d = applied.what.deployment;
  EXPECT_EQ(d.sizes.tp, 8);
  EXPECT_EQ(d.sizes.pp, 2);
  EXPECT_EQ(d.nodes, 2);
  EXPECT_EQ(d.settings.max_model_len, 32'768);
  EXPECT_FALSE(d.settings.max_model_len_auto);
  EXPECT_EQ(d.settings.enable_prefix_caching, false);
  EXPECT_THAT(d.settings.cpu_offload_params, ElementsAre("c"));
  EXPECT_EQ(d.settings.cpu_offload_gb, 8);
  EXPECT_EQ(d.settings.max_num_seqs, 7);
  EXPECT_THAT(*d.partition, ElementsAre(48, 45));
  EXPECT_THAT(d.settings.env, ElementsAre(Pair("A", "3"), Pair("B", "2")));
}

TEST(FromCommandTest, Nodes) {
  EXPECT_EQ(Apply("vllm serve x -tp 8 -pp 2 --nnodes 2").what.deployment.nodes, 2);
  EXPECT_EQ(Apply("vllm serve x -dp 16 -dpl 8").what.deployment.nodes, 2);
  EXPECT_EQ(Apply("vllm serve x -dp 16 -dpl 5").what.deployment.nodes, std::nullopt);
  EXPECT_EQ(Apply("vllm serve x --nnodes two").error,
            "--from-command --nnodes: expected a whole number, at least 1");
}

TEST(FromCommandTest, WhatMeansNothingIsCarried) {
  const Applied applied = Apply(
      "HF_TOKEN=hf_x OMP_NUM_THREADS=1 VLLM_LOGGING_LEVEL=$L vllm serve x --port 8001 "
      "--served-model-name a 'b c' --api-key k --enable-sleep-mode --host $HOST --headless "
      "--tool-call-parser kimi_k3 --kernel-config.enable_flashinfer_autotune true "
      "--kernel-config.names+ all --no-enable-log-deltas");
  EXPECT_EQ(applied.error, "");
  const EngineSettings& s = applied.what.deployment.settings;
  EXPECT_THAT(s.env, ElementsAre(Pair("OMP_NUM_THREADS", "1")));
  EXPECT_THAT(
      s.extra_arguments,
      ElementsAre("--port", "8001", "--served-model-name", "a", "b c", "--enable-sleep-mode",
                  "--tool-call-parser", "kimi_k3", "--no-enable-log-deltas", "--kernel-config",
                  R"({"enable_flashinfer_autotune":true,"names":["all"]})"));
  EXPECT_EQ(s.served_model, "x");
  std::string secrets;
  for (const Finding& finding : applied.what.deployment.findings) {
    if (finding.id == "command.secret") secrets += finding.subject + " ";
  }
  EXPECT_EQ(secrets, "HF_TOKEN --api-key ");
  EXPECT_THAT(s.command_secrets, ElementsAre("HF_TOKEN", "--api-key"));
  std::string flags;
  for (const GivenFlag& flag : s.command_flags) {
    EXPECT_NE(flag.value, "k");
    flags += flag.name + (flag.modelled ? "* " : " ");
  }
  EXPECT_EQ(flags,
            "--port --served-model-name --api-key --enable-sleep-mode --host --headless "
            "--tool-call-parser --enable-log-deltas --kernel-config "
            "--kernel-config.enable_flashinfer_autotune ");
}

TEST(FromCommandTest, OfAnObjectWhatIsNotKnownIsToldOnce) {
  const Applied applied =
      Apply("vllm serve x --ec-transfer-config.ec_connector C --ec-transfer-config.a+ 1,2");
  EXPECT_EQ(applied.error, "");
  ASSERT_EQ(applied.what.deployment.settings.command_flags.size(), 1U);
  const GivenFlag& flag = applied.what.deployment.settings.command_flags[0];
  EXPECT_EQ(flag.name, "--ec-transfer-config");
  EXPECT_EQ(flag.value, "a=1,2 ec_connector=C");
  EXPECT_FALSE(flag.modelled);
}

TEST(FromCommandTest, FieldsWithAnOptionAreReadAndTheOthersCarried) {
  const Applied applied =
      Apply(R"(vllm serve x --attention-config '{"backend":"FLASHMLA","use_x":true}')");
  EXPECT_EQ(applied.error, "");
  EXPECT_EQ(applied.what.deployment.settings.attention_backend, "FLASHMLA");
  EXPECT_THAT(applied.what.deployment.settings.extra_arguments,
              ElementsAre("--attention-config.use_x", "true"));
}

TEST(FromCommandTest, AFileOfFlags) {
  const TempDir dir;
  const std::string file =
      dir.Write("serve.yaml",
                "model: x\ntensor-parallel-size: 8\nmax-model-len: 128K\nport: 1\n"
                "enable-prefix-caching: false\ncpu-offload-params: [a, b]\n");
  const Applied applied =
      Apply(fmt::format("vllm serve --config {} --max-model-len 64K", ShellQuote(file)));
  EXPECT_EQ(applied.error, "");
  const Deployment& d = applied.what.deployment;
  EXPECT_EQ(d.sizes.tp, 8);
  EXPECT_EQ(d.settings.max_model_len, 65'536);
  EXPECT_FALSE(d.settings.enable_prefix_caching.has_value());  // the engine drops false ones
  EXPECT_EQ(d.settings.served_model, "x");
  EXPECT_THAT(Apply("vllm serve x --config /nowhere.yaml").error,
              HasSubstr("--from-command /nowhere.yaml: "));
  EXPECT_EQ(Apply("vllm serve x --config " + dir.Write("list.yaml", "- a\n")).error,
            fmt::format("--from-command {}: expected a YAML mapping of flags to values",
                        dir.Path("list.yaml")));
}

TEST(FromCommandTest, Model) {
  const TempDir dir;
  EXPECT_EQ(Apply("vllm serve org/name", "m").what.model, "m");
  EXPECT_EQ(Apply("vllm serve " + ShellQuote(dir.path()), "").what.model, dir.path());
  EXPECT_EQ(Apply("vllm serve org/name", "").error,
            "MODEL: the command serves org/name, which is no path here; give the checkpoint or its "
            "config.json before the options: shardplan plan MODEL --from-command …");
  EXPECT_THAT(Apply("vllm serve $MODEL", "").error, HasSubstr("the command serves $MODEL"));
  EXPECT_EQ(Apply("vllm serve $MODEL", "m").error, "");
}

TEST(FromCommandTest, Errors) {
  const std::pair<const char*, const char*> cases[] = {
      {"vllm serve x --max-model-len 12Q",
       "--from-command --max-model-len 12Q: expected a number of tokens, found the suffix Q; write "
       "a plain number, or one like 512K (524,288) or 512k (512,000)"},
      {"vllm serve x -tp 0",
       "--from-command --tensor-parallel-size 0: expected a whole number, at least 1"},
      {"vllm serve x --max-num-seq 8 --max-model-len $LEN",
       "--from-command --max-model-len $LEN: hangs on a shell variable; write its value"},
      {"vllm serve x --speculative-tokens 8",
       "--from-command --speculative-tokens: is no flag of vLLM known here; did you mean "
       "--speculative-config?"},
      {"VLLM_USE_V2_MODEL_RUNNER=yes vllm serve x",
       "--from-command VLLM_USE_V2_MODEL_RUNNER=yes: expected 0 or 1"},
      {"VLLM_USE_V2_MODEL_RUNNER=$X vllm serve x",
       "--from-command VLLM_USE_V2_MODEL_RUNNER=$X: hangs on a shell variable; write its value"},
      {"vllm serve x 'a", "--from-command: a ' is not closed"},
      {"vllm serve x | xargs y",
       "--from-command: holds a shell's '|' outside quotes; give the command that serves alone"},
      {"vllm serve x --dtype ''", "--from-command --dtype: expected a value, found nothing"},
  };
  for (const auto& [command, error] : cases) EXPECT_EQ(Apply(command).error, error) << command;
}

// The plan of a command that a plan printed, against that plan.
void ExpectRoundTrip(const std::string& model, const std::string& options,
                     const std::string& more) {
  const std::string root = SHARDPLAN_SOURCE;
  const Outcome first =
      RunScript("shardplan plan " + model + " " + options + " " + more + " --format json", root);
  ASSERT_EQ(first.err, "") << options;
  Json plan = Json::parse(first.out);
  LaunchPlan launch;
  const Json& node = plan["launch"].at(0);
  for (const auto& [name, value] : node["env"].items()) launch.env.emplace_back(name, value);
  launch.argv = node["argv"].get<std::vector<std::string>>();
  const Outcome second =
      RunScript("shardplan plan " + model + " --from-command " + ShellQuote(RenderCommand(launch)) +
                    " " + more + " --format json",
                root);
  ASSERT_EQ(second.err, "") << options;
  Json again = Json::parse(second.out);
  EXPECT_EQ(first.code, second.code);
  // The command spells the defaults out, and has its note.
  for (Json* const json : {&plan, &again}) {
    (*json)["engine"].erase("defaults");
    Json findings = Json::array();
    for (const Json& finding : (*json)["findings"]) {
      if (finding["id"] != "command.ignored") findings.push_back(finding);
    }
    (*json)["findings"] = findings;
  }
  EXPECT_TRUE(plan == again) << Json::diff(plan, again).dump(1).substr(0, 4000);
}

TEST(FromCommandTest, WhatAPlanPrintsGivesThePlanAgain) {
  ExpectRoundTrip(
      "examples/kimi-k3/config.json",
      "--nodes 2 --tp 8 --pp 2 --pp-partition 48,45 "
      "--language-model-only --max-model-len 512K --max-num-seqs 1 --max-num-batched-tokens 8192 "
      "--enforce-eager --enable-prefix-caching --gpu-memory-utilization 0.90 --offload-backend uva "
      "--cpu-offload-gb 32 --cpu-offload-params w13_weight,w2_weight --numa-bind",
      "--gpu h20-96 --output-tokens 32768");
  ExpectRoundTrip("examples/deepseek-v3/config.json",
                  "--tp 8 --max-num-seqs 64 --max-model-len auto "
                  "--env VLLM_USE_V2_MODEL_RUNNER=1 --env NCCL_DEBUG=INFO",
                  "--gpu h20-141");
  ExpectRoundTrip("examples/kimi-k2/config.json",
                  "--tp 4 --dp 4 --enable-expert-parallel "
                  "--kv-cache-dtype fp8 --num-gpu-blocks-override 20000 --no-async-scheduling "
                  "--disable-custom-all-reduce --logprobs-mode raw_logits --max-model-len 32K",
                  "--gpu h20-141 --engine vllm@0.28.0");
}

TEST(FromCommandTest, InTheProgram) {
  const Outcome plan = RunProgram(
      "plan --gpu a10-24 --engine vllm@0.28.0 --from-command 'vllm serve tiny-dense -tp 2 "
      "--enable-sleep-mode --dcp-q-replicate --port 1'");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(plan.err, "");
  EXPECT_THAT(plan.out, HasSubstr("TP2"));
  EXPECT_THAT(plan.out, HasSubstr("--enable-sleep-mode: may change memory"));
  EXPECT_THAT(plan.out, HasSubstr("--dcp-q-replicate: vLLM 0.28.0 does not have it"));
  EXPECT_THAT(plan.out, HasSubstr("  --port 1"));
  const Outcome compare = RunProgram(
      "compare tiny-dense --gpu a10-24 --from-command 'vllm serve org/x -tp 2' "
      "--vary max-num-seqs=1,2 --format json");
  EXPECT_EQ(compare.code, 0) << compare.err;
  EXPECT_EQ(Json::parse(compare.out)["plans"].at(1)["layout"]["tp"], 2);
  const Outcome explain =
      RunProgram("explain --gpu a10-24 --rank 1 --from-command 'vllm serve tiny-dense -tp 2'");
  EXPECT_EQ(explain.code, 0) << explain.err;
  const Outcome none = RunProgram("plan --gpu a10-24 --from-command 'vllm serve'");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("MODEL: expected a model directory or file, found none"));
  const Outcome axis = RunProgram("compare tiny-dense --gpu a10-24 --vary 'from-command=a;b'");
  EXPECT_EQ(axis.code, 2);
}

TEST(FromCommandTest, TheCatalogueOfTheLineIsUsed) {
  const TempDir dir;
  dir.Write("engines/vllm/flags.tsv",
            "flag\tshort\ttakes\tsince\tuntil\teffect\toption\tharmless\tnote\n"
            "--my-flag\t\tone\t\t\tnone\t\t\t\n");
  const std::string line = "plan --gpu a10-24 --from-command 'vllm serve tiny-dense --my-flag 1'";
  EXPECT_EQ(RunProgram(line + " --configs " + dir.path()).code, 0);
  EXPECT_EQ(RunProgram(line).code, 2);
}

TEST(FromCommandTest, AnImageTellsTheVersion) {
  const std::string run = "docker run --gpus all vllm/vllm-openai:v0.11.0 --model x -tp 8";
  EXPECT_EQ(Apply(run).what.deployment.engine_version, "0.11.0");
}

}  // namespace
}  // namespace shardplan::cli
