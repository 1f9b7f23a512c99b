#include "engine/vllm/arguments.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/vllm/compilation_config.h"
#include "engine/vllm/prefetch.h"

namespace shardplan::vllm {
namespace {

void AddNodes(const Context& c, const NodeFacts& facts, ArgumentList* args) {
  if (facts.nodes == 1) return;
  const int64_t engine_ranks = c.sizes.tp * c.sizes.pp;
  if (c.sizes.dp > 1 && engine_ranks <= facts.gpus) {
    // Whole engines on every node: data parallel over nodes.
    const int64_t local = facts.gpus / engine_ranks;
    args->Flag("--data-parallel-size-local", local);
    args->Flag("--data-parallel-start-rank", facts.node * local);
    args->Flag("--data-parallel-address", "<MASTER_ADDR>");
    args->Flag("--data-parallel-rpc-port", 13345);
  } else {
    args->Flag("--distributed-executor-backend", "mp");
    args->Flag("--nnodes", facts.nodes);
    args->Flag("--node-rank", facts.node);
    args->Flag("--master-addr", "<MASTER_ADDR>");
    args->Flag("--master-port", 29501);
  }
  if (facts.node > 0) args->Flag("--headless");
}

void AddBalancing(const EngineSettings& s, ArgumentList* args) {
  if (!s.enable_eplb) return;
  args->Flag("--enable-eplb");
  args->Flag("--eplb-config", fmt::format("{{\"num_redundant_experts\":{},\"window_size\":{}}}",
                                          s.redundant_experts, s.eplb_window));
}

void AddGraphs(const EngineSettings& s, ArgumentList* args) {
  if (s.optimization_level) args->Flag("--optimization-level", *s.optimization_level);
  if (s.cudagraph_capture_sizes) {
    args->FlagList("--cudagraph-capture-sizes", *s.cudagraph_capture_sizes);
  }
  if (s.max_cudagraph_capture_size) {
    args->Flag("--max-cudagraph-capture-size", *s.max_cudagraph_capture_size);
  }
  if (const auto json = CompilationConfigOf(s)) args->Flag("--compilation-config", *json);
}

void AddOffload(const EngineSettings& s, ArgumentList* args) {
  switch (ChosenOffload(s)) {
    case OffloadBackend::kUva:
      args->Flag("--offload-backend", "uva");
      args->Flag("--cpu-offload-gb", s.cpu_offload_gb);
      if (!s.cpu_offload_params.empty()) {
        args->FlagList("--cpu-offload-params", s.cpu_offload_params);
      }
      break;
    case OffloadBackend::kPrefetch:
      args->Flag("--offload-backend", "prefetch");
      args->Flag("--offload-group-size", s.offload_group_size);
      args->Flag("--offload-num-in-group", s.offload_num_in_group);
      args->Flag("--offload-prefetch-step", s.offload_prefetch_step);
      if (!s.offload_params.empty()) args->FlagList("--offload-params", s.offload_params);
      break;
    default:
      break;
  }
}

void AddEnvironment(const Context& c, bool explicit_partition, NodeCommand* command) {
  const EngineSettings& s = c.settings;
  if (c.sizes.pp > 1 && explicit_partition) {
    command->env.emplace_back("VLLM_PP_LAYER_PARTITION", FormatPartition(c.stages));
  }
  const auto add_switch = [&](const char* name, std::optional<bool> value) {
    if (value) command->env.emplace_back(name, *value ? "1" : "0");
  };
  add_switch("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", s.estimate_graphs);
  add_switch("VLLM_USE_V2_MODEL_RUNNER", s.v2_model_runner);
  command->env.insert(command->env.end(), s.env.begin(), s.env.end());
}

void AddLora(const EngineSettings& s, ArgumentList* args) {
  if (!s.enable_lora) return;
  args->Flag("--enable-lora");
  if (s.max_loras) args->Flag("--max-loras", *s.max_loras);
  if (s.max_lora_rank) args->Flag("--max-lora-rank", *s.max_lora_rank);
  if (s.lora_dtype) args->Flag("--lora-dtype", *s.lora_dtype);
  if (s.fully_sharded_loras) args->Flag("--fully-sharded-loras");
}

// As it was given, with the place where the engine finds the draft.
std::string SpeculationText(const EngineSettings& s) {
  if (!s.served_draft) return s.speculation->text;
  auto object = nlohmann::ordered_json::parse(s.speculation->text, nullptr, false);
  if (!object.is_object()) return s.speculation->text;
  object["model"] = *s.served_draft;
  return object.dump();
}

}  // namespace

NodeCommand MakeCommand(const Context& c, const std::string& model, const NodeFacts& facts) {
  NodeCommand command;
  AddEnvironment(c, facts.explicit_partition, &command);
  const EngineSettings& s = c.settings;
  const Resolved& r = c.resolved;
  ArgumentList args;
  args.Flag("vllm");
  args.Flag("serve");
  args.Flag(ServedModel(s.served_model.value_or(model)));
  if (c.arch->trust_remote_code) args.Flag("--trust-remote-code");
  args.Flag("--tensor-parallel-size", c.sizes.tp);
  args.Flag("--pipeline-parallel-size", c.sizes.pp);
  if (c.sizes.dp > 1) args.Flag("--data-parallel-size", c.sizes.dp);
  if (c.sizes.dcp > 1) args.Flag("--decode-context-parallel-size", c.sizes.dcp);
  if (c.sizes.expert_parallel) args.Flag("--enable-expert-parallel");
  AddBalancing(c.settings, &args);
  AddNodes(c, facts, &args);
  // What fits is the engine's to find where it was asked to: its own measurement decides.
  if (s.max_model_len_auto) {
    args.Flag("--max-model-len", "auto");
  } else {
    args.Flag("--max-model-len", r.max_model_len);
  }
  args.Flag("--max-num-seqs", r.max_num_seqs);
  args.Flag("--max-num-batched-tokens", r.max_num_batched_tokens);
  if (s.enable_chunked_prefill) {
    args.Flag(*s.enable_chunked_prefill ? "--enable-chunked-prefill"
                                        : "--no-enable-chunked-prefill");
  }
  if (s.performance_mode) args.Flag("--performance-mode", *s.performance_mode);
  args.Flag("--gpu-memory-utilization", r.gpu_memory_utilization);
  if (s.kv_cache_memory_bytes) {
    args.Flag("--kv-cache-memory-bytes", s.kv_cache_memory_bytes->count());
  }
  if (s.num_gpu_blocks_override) {
    args.Flag("--num-gpu-blocks-override", *s.num_gpu_blocks_override);
  }
  if (s.dtype) args.Flag("--dtype", *s.dtype);
  if (r.kv_cache_dtype != "auto") args.Flag("--kv-cache-dtype", r.kv_cache_dtype);
  if (s.block_size) args.Flag("--block-size", *s.block_size);
  if (s.attention_backend) args.Flag("--attention-backend", *s.attention_backend);
  if (!r.moe_backend.empty() && s.moe_backend) args.Flag("--moe-backend", *s.moe_backend);
  if (s.all2all_backend) args.Flag("--all2all-backend", *s.all2all_backend);
  args.Flag(r.prefix_caching ? "--enable-prefix-caching" : "--no-enable-prefix-caching");
  if (!r.mamba_cache_mode.empty()) args.Flag("--mamba-cache-mode", r.mamba_cache_mode);
  if (s.mamba_cache_dtype) args.Flag("--mamba-cache-dtype", *s.mamba_cache_dtype);
  if (s.mamba_ssm_cache_dtype) args.Flag("--mamba-ssm-cache-dtype", *s.mamba_ssm_cache_dtype);
  if (s.disable_hybrid_kv_cache_manager) args.Flag("--disable-hybrid-kv-cache-manager");
  if (s.async_scheduling) {
    args.Flag(*s.async_scheduling ? "--async-scheduling" : "--no-async-scheduling");
  }
  if (s.enforce_eager) args.Flag("--enforce-eager");
  AddGraphs(s, &args);
  if (s.disable_custom_all_reduce) args.Flag("--disable-custom-all-reduce");
  if (s.logprobs_mode) args.Flag("--logprobs-mode", *s.logprobs_mode);
  if (s.language_model_only) args.Flag("--language-model-only");
  if (s.mm_encoder_tp_mode) args.Flag("--mm-encoder-tp-mode", *s.mm_encoder_tp_mode);
  if (s.load_format) args.Flag("--load-format", *s.load_format);
  if (s.speculation) args.Flag("--speculative-config", SpeculationText(s));
  AddLora(s, &args);
  if (s.kv_transfer) args.Flag("--kv-transfer-config", s.kv_transfer->text);
  AddOffload(c.settings, &args);
  if (s.mm_ipc_gpu_memory_gb > 0) args.Flag("--mm-ipc-gpu-memory-gb", s.mm_ipc_gpu_memory_gb);
  if (s.numa_bind) {
    args.Flag("--numa-bind");
    args.FlagList("--numa-bind-nodes", facts.numa_of_gpu);
  }
  args.Extras(s.extra_arguments);
  command.argv = args.Take();
  return command;
}

}  // namespace shardplan::vllm
