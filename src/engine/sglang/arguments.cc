#include "engine/sglang/arguments.h"

#include "engine/sglang/parallel.h"
#include "engine/sglang/refusals.h"

namespace shardplan::sglang {
namespace {

// The name that the version has, the older one where it has not the newer.
std::string Either(const HasFlagFn& has, const std::string& name, const std::string& older) {
  return has(name) ? name : older;
}

void AddParallelism(const ServerArgs& a, int64_t node_rank, const HasFlagFn& has,
                    ArgumentList* args) {
  args->Flag("--tp-size", a.tp_size);
  if (a.pp_size > 1) args->Flag("--pp-size", a.pp_size);
  if (a.dp_size > 1) args->Flag("--dp-size", a.dp_size);
  if (a.enable_dp_attention) args->Flag("--enable-dp-attention");
  if (a.enable_dp_lm_head) args->Flag("--enable-dp-lm-head");
  if (a.ep_size > 1) args->Flag("--ep-size", a.ep_size);
  // Before 0.5.2 a size alone did nothing.
  if (a.ep_size > 1 && !has("--moe-a2a-backend")) args->Flag("--enable-ep-moe");
  if (a.moe_dp_size > 1) args->Flag("--moe-dp-size", a.moe_dp_size);
  if (a.moe_dense_tp_size) args->Flag("--moe-dense-tp-size", *a.moe_dense_tp_size);
  if (a.dcp_size > 1) args->Flag("--dcp-size", a.dcp_size);
  if (a.enable_eplb) args->Flag("--enable-eplb");
  if (a.redundant_experts > 0) args->Flag("--ep-num-redundant-experts", a.redundant_experts);
  if (a.nnodes == 1) return;
  args->Flag("--nnodes", a.nnodes);
  args->Flag("--node-rank", node_rank);
  args->Flag("--dist-init-addr", "<MASTER_ADDR>:5000");
}

void AddBackends(const ServerArgs& a, const HasFlagFn& has, ArgumentList* args) {
  if (a.moe_a2a_backend == "deepep" && !has("--moe-a2a-backend")) {
    args->Flag("--enable-deepep-moe");
  } else if (a.moe_a2a_backend != "none") {
    args->Flag("--moe-a2a-backend", a.moe_a2a_backend);
  }
  if (a.moe_runner_backend != "auto") args->Flag("--moe-runner-backend", a.moe_runner_backend);
  if (a.attention_backend) args->Flag("--attention-backend", *a.attention_backend);
  if (a.prefill_attention_backend) {
    args->Flag("--prefill-attention-backend", *a.prefill_attention_backend);
  }
  if (a.decode_attention_backend) {
    args->Flag("--decode-attention-backend", *a.decode_attention_backend);
  }
  if (a.enable_symm_mem) args->Flag("--enable-symm-mem");
}

void AddMemory(const Context& c, const Defaults& d, ArgumentList* args) {
  const ServerArgs& a = c.args;
  args->Flag("--mem-fraction-static", FormatPython(FlagFraction(d)));
  // The model's own window is not asked for: SGLang starts with a pool that does not hold it.
  if (a.context_length) args->Flag("--context-length", *a.context_length);
  // SGLang divides it itself under DP attention.
  args->Flag("--chunked-prefill-size", d.chunk_as_given);
  if (a.max_prefill_tokens != 16384) args->Flag("--max-prefill-tokens", a.max_prefill_tokens);
  if (d.max_running_requests > 0) args->Flag("--max-running-requests", d.max_running_requests);
  if (a.max_total_tokens) args->Flag("--max-total-tokens", *a.max_total_tokens);
  args->Flag("--page-size", d.page_size);
  if (a.kv_cache_dtype != "auto") args->Flag("--kv-cache-dtype", a.kv_cache_dtype);
  if (a.disable_radix_cache) args->Flag("--disable-radix-cache");
  if (a.disable_overlap_schedule) args->Flag("--disable-overlap-schedule");
  if (c.arch->window > 0 && a.swa_full_tokens_ratio != 0.8) {
    args->Flag("--swa-full-tokens-ratio", a.swa_full_tokens_ratio);
  }
  if (a.cpu_offload_gb > 0) args->Flag("--cpu-offload-gb", static_cast<int64_t>(a.cpu_offload_gb));
  if (a.offload_group_size > 0) {
    args->Flag("--offload-group-size", a.offload_group_size);
    args->Flag("--offload-num-in-group", a.offload_num_in_group);
    args->Flag("--offload-prefetch-step", a.offload_prefetch_step);
  }
  if (a.enable_hierarchical_cache) {
    args->Flag("--enable-hierarchical-cache");
    if (a.hicache_ratio) args->Flag("--hicache-ratio", *a.hicache_ratio);
    if (a.hicache_size > 0) args->Flag("--hicache-size", a.hicache_size);
  }
  if (a.disaggregation_mode != Disaggregation::kNone) {
    args->Flag("--disaggregation-mode",
               a.disaggregation_mode == Disaggregation::kPrefill ? "prefill" : "decode");
  }
  if (a.disaggregation_decode_extra_slots > 0) {
    args->Flag("--disaggregation-decode-extra-slots", a.disaggregation_decode_extra_slots);
  }
}

void AddGraphs(const Context& c, const Defaults& d, const HasFlagFn& has, ArgumentList* args) {
  const ServerArgs& a = c.args;
  const bool phases = has("--cuda-graph-backend-decode");
  if (a.disable_cuda_graph && !phases) return args->Flag("--disable-cuda-graph");
  if (d.decode_graphs.empty()) {
    const bool by_mode = a.disaggregation_mode == Disaggregation::kPrefill;
    if (phases && !by_mode) args->Flag("--cuda-graph-backend-decode", "disabled");
  } else if (!a.cuda_graph_bs.empty()) {
    args->FlagList(Either(has, "--cuda-graph-bs-decode", "--cuda-graph-bs"), d.decode_graphs);
  } else {
    args->Flag(Either(has, "--cuda-graph-max-bs-decode", "--cuda-graph-max-bs"),
               d.decode_graphs.back());
  }
  if (phases && (a.prefill_graph || a.disable_cuda_graph)) {
    args->Flag("--cuda-graph-backend-prefill",
               d.prefill_graph == PrefillGraph::kBreakable   ? "breakable"
               : d.prefill_graph == PrefillGraph::kPiecewise ? "tc_piecewise"
                                                             : "disabled");
  } else if (a.prefill_graph == PrefillGraph::kDisabled && has("--disable-piecewise-cuda-graph")) {
    args->Flag("--disable-piecewise-cuda-graph");
  }
  if (d.prefill_graph != PrefillGraph::kDisabled && a.prefill_graph_max_bs) {
    args->Flag(Either(has, "--cuda-graph-max-bs-prefill", "--piecewise-cuda-graph-max-tokens"),
               *a.prefill_graph_max_bs);
  }
}

std::string_view NameOfDType(DType dtype) {
  return dtype == DType::kF32 ? "float32" : dtype == DType::kF16 ? "float16" : "bfloat16";
}

void AddStates(const Context& c, const HasFlagFn& has, ArgumentList* args) {
  const ServerArgs& a = c.args;
  if (!c.arch->has_state()) return;
  if (a.max_mamba_cache_size) {
    args->Flag("--max-mamba-cache-size", *a.max_mamba_cache_size);
  } else if (a.mamba_full_memory_ratio != 0.9 || has("--mamba-full-memory-ratio")) {
    args->Flag("--mamba-full-memory-ratio", a.mamba_full_memory_ratio);
  }
  if (a.mamba_ssm_dtype) args->Flag("--mamba-ssm-dtype", NameOfDType(*a.mamba_ssm_dtype));
  if (a.mamba_radix_strategy) {
    args->Flag(Either(has, "--mamba-radix-cache-strategy", "--mamba-scheduler-strategy"),
               *a.mamba_radix_strategy == StateStrategy::kNoBuffer      ? "no_buffer"
               : *a.mamba_radix_strategy == StateStrategy::kExtraBuffer ? "extra_buffer"
                                                                        : "extra_buffer_lazy");
  }
  if (a.enable_linear_replayssm_spec) {
    args->Flag(Either(has, "--enable-linear-replayssm-spec", "--enable-gdn-replayssm-spec"));
    args->Flag("--linear-replayssm-cache-len", a.linear_replayssm_cache_len);
  }
}

void AddSpeculation(const ServerArgs& a, const EngineSettings& settings, ArgumentList* args) {
  if (!a.is_speculative()) return;
  args->Flag("--speculative-algorithm", a.speculative_algorithm);
  if (!a.speculative_draft_model_path.empty()) {
    args->Flag("--speculative-draft-model-path",
               ServedModel(settings.served_draft.value_or(a.speculative_draft_model_path)));
  }
  if (a.speculative_num_steps) args->Flag("--speculative-num-steps", *a.speculative_num_steps);
  if (a.speculative_eagle_topk) args->Flag("--speculative-eagle-topk", *a.speculative_eagle_topk);
  if (a.speculative_num_draft_tokens > 0) {
    args->Flag("--speculative-num-draft-tokens", a.speculative_num_draft_tokens);
  }
}

}  // namespace

double FlagFraction(const Defaults& d) {
  // What the aiter backend multiplies it by comes on top of the flag.
  return d.mem_fraction_static / d.aiter_factor;
}

NodeCommand MakeCommand(const Context& c, const Defaults& d, const EngineSettings& settings,
                        const std::string& model, int64_t node_rank, bool explicit_partition,
                        const HasFlagFn& has) {
  const ServerArgs& a = c.args;
  NodeCommand command;
  if (a.pp_size > 1 && explicit_partition) {
    command.env.emplace_back("SGLANG_PP_LAYER_PARTITION",
                             FormatPartition(Stages(a, c.arch->layers())));
  }
  command.env.insert(command.env.end(), settings.env.begin(), settings.env.end());
  ArgumentList args;
  for (const char* word : {"python3", "-m", "sglang.launch_server"}) args.Flag(word);
  args.Flag("--model-path", ServedModel(settings.served_model.value_or(model)));
  if (c.arch->trust_remote_code) args.Flag("--trust-remote-code");
  AddParallelism(a, node_rank, has, &args);
  if (settings.dtype) args.Flag("--dtype", *settings.dtype);
  if (settings.load_format) args.Flag("--load-format", *settings.load_format);
  AddBackends(a, has, &args);
  AddMemory(c, d, &args);
  AddGraphs(c, d, has, &args);
  AddStates(c, has, &args);
  AddSpeculation(a, settings, &args);
  if (a.language_only && c.arch->vision.present && has("--language-only")) {
    args.Flag(Either(has, "--language-model-only", "--language-only"));
  }
  if (a.feature_transport_on_gpu) args.Flag("--mm-feature-transport", "cuda_ipc");
  args.Extras(settings.extra_arguments);
  command.argv = args.Take();
  return command;
}

}  // namespace shardplan::sglang
