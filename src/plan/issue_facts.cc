#include "plan/issue_facts.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "engine/flag_table.h"
#include "engine/sglang/parallel.h"
#include "engine/sglang/weights.h"
#include "engine/vllm/prefetch.h"

namespace shardplan {
namespace {

double AsNumber(bool value) { return value ? 1 : 0; }

// 570.195 of "570.195.03"; nothing for what is no version.
std::optional<double> LeadingNumber(const std::string& text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// The CUDA that the engine's own wheels and images are built with, where the request names none:
// vLLM's since 0.20.0 are CUDA 13.0's, before that 12.9's (vllm-project/vllm#39878). What 0.10 and
// SGLang's images have is not known here.
std::optional<double> DefaultCuda(const Deployment& d, const std::string& version) {
  if (!d.cuda.empty()) return LeadingNumber(d.cuda);
  if (d.engine != "vllm" || IsOlder(version, "0.11.0")) return std::nullopt;
  return IsOlder(version, "0.20.0") ? 12.9 : 13.0;
}

void AddSizes(const ParallelSizes& sizes, IssueFacts* facts) {
  facts->Set("tp", static_cast<double>(sizes.tp));
  facts->Set("pp", static_cast<double>(sizes.pp));
  facts->Set("dp", static_cast<double>(sizes.dp));
  facts->Set("dcp", static_cast<double>(sizes.dcp));
}

// "chosen" where the request names the parameters that move, else "all"; "none" without offload.
void AddOffload(const EngineSettings& s, IssueFacts* facts) {
  const vllm::OffloadBackend backend = vllm::ChosenOffload(s);
  const bool prefetch = backend == vllm::OffloadBackend::kPrefetch;
  if (backend == vllm::OffloadBackend::kNone) {
    facts->Set("offload", "none");
    facts->Set("offload_params", "none");
    return;
  }
  facts->Set("offload", prefetch ? "prefetch" : "uva");
  const bool chosen = !(prefetch ? s.offload_params : s.cpu_offload_params).empty();
  facts->Set("offload_params", chosen ? "chosen" : "all");
}

void AddOffload(const SglangSettings& s, IssueFacts* facts) {
  facts->Set("offload", s.cpu_offload_gb > 0       ? "modules"
                        : s.offload_group_size > 0 ? "groups"
                                                   : "none");
}

bool HasFlagGiven(const EngineSettings& s, std::string_view name) {
  return std::any_of(s.command_flags.begin(), s.command_flags.end(),
                     [&](const GivenFlag& flag) { return flag.name == name; });
}

// What either engine has and nobody has to fill in: a switch that was not given is off.
void AddSwitches(const Deployment& d, IssueFacts* facts) {
  const EngineSettings& s = d.settings;
  const bool sglang = d.engine == "sglang";
  facts->Set("speculation", sglang ? (d.sglang.is_speculative() ? d.sglang.speculative_algorithm
                                                                : std::string("none"))
                                   : (s.speculation ? s.speculation->method : std::string("none")));
  facts->Set("lora", AsNumber(s.enable_lora || HasFlagGiven(s, "--enable-lora") ||
                              HasFlagGiven(s, "--lora-paths")));
  facts->Set("async_scheduling", AsNumber(!sglang && s.async_scheduling.value_or(false)));
  facts->Set("host_cache", AsNumber(sglang && d.sglang.enable_hierarchical_cache));
  facts->Set("kv_offloading", AsNumber(!sglang && HasFlagGiven(s, "--kv-offloading-size")));
  facts->Set("load_format", s.load_format.value_or("auto"));
  if (sglang) {
    AddOffload(d.sglang, facts);
  } else {
    AddOffload(s, facts);
  }
}

}  // namespace

IssueFacts FactsOfPlace(const Architecture* arch, const GpuSpec* gpu, const Deployment& deployment,
                        const std::string& version) {
  IssueFacts facts;
  if (arch != nullptr) {
    facts.Set("architecture", arch->name);
    facts.Set("family", arch->family);
    facts.Set("quantization", arch->quantization.empty() ? "none" : arch->quantization);
    facts.Set("latent", AsNumber(arch->has_kind(AttentionKind::kMla)));
    facts.Set("sparse", AsNumber(arch->indexer.heads > 0));
    facts.Set("delta", AsNumber(arch->has_kind(AttentionKind::kKda)));
    facts.Set("gated_delta", AsNumber(arch->has_kind(AttentionKind::kGdn)));
    facts.Set("mamba", AsNumber(arch->has_kind(AttentionKind::kMamba1) ||
                                arch->has_kind(AttentionKind::kMamba2)));
    facts.Set("states", AsNumber(arch->has_state()));
    facts.Set("experts", static_cast<double>(arch->moe.experts));
  }
  if (gpu != nullptr) {
    facts.Set("vendor", gpu->vendor);
    facts.Set("gpu", gpu->id);
    facts.Set("capability", gpu->capability);
    facts.Set("nvlink", AsNumber(gpu->nvlink_gb_per_s > 0));
  }
  if (const auto driver = LeadingNumber(deployment.driver)) facts.Set("driver", *driver);
  if (const auto cuda = DefaultCuda(deployment, version)) facts.Set("cuda", *cuda);
  return facts;
}

void AddGivenFacts(const Deployment& d, IssueFacts* facts) {
  AddSizes(d.sizes, facts);
  AddSwitches(d, facts);
  const EngineSettings& s = d.settings;
  const bool sglang = d.engine == "sglang";
  const std::string kv = sglang ? d.sglang.kv_cache_dtype : s.kv_cache_dtype.value_or("auto");
  if (kv != "auto") facts->Set("kv_cache_dtype", kv);
  const auto& attention = sglang ? d.sglang.attention_backend : s.attention_backend;
  if (attention) facts->Set("attention_backend", *attention);
  const std::string moe = sglang ? d.sglang.moe_runner_backend : s.moe_backend.value_or("auto");
  if (moe != "auto") facts->Set("moe_backend", moe);
  if (sglang) facts->Set("all2all_backend", d.sglang.moe_a2a_backend);
  if (!sglang && s.all2all_backend) facts->Set("all2all_backend", *s.all2all_backend);
  if (s.v2_model_runner) facts->Set("v2_runner", AsNumber(*s.v2_model_runner));
}

IssueFacts FactsOf(const Prepared& p, const std::string& version) {
  const vllm::Context& c = p.context;
  IssueFacts facts = FactsOfPlace(c.arch, &p.gpu, p.deployment, version);
  AddSizes(c.sizes, &facts);
  AddSwitches(p.deployment, &facts);
  const vllm::Resolved& r = c.resolved;
  facts.Set("kv_cache_dtype", r.kv_stored_dtype);
  facts.Set("attention_backend", r.attention_backend);
  facts.Set("moe_backend", r.moe_backend.empty() ? "none" : r.moe_backend);
  facts.Set("all2all_backend", r.all2all_backend);
  facts.Set("mamba_cache_mode", r.mamba_cache_mode.empty() ? "none" : r.mamba_cache_mode);
  facts.Set("expert_ranks", static_cast<double>(c.sizes.expert_ranks()));
  facts.Set("expert_parallel", AsNumber(c.sizes.expert_parallel));
  facts.Set("nodes", static_cast<double>(p.placement.nodes));
  facts.Set("vision", AsNumber(r.vision_on_device));
  facts.Set("v2_runner", AsNumber(r.v2_runner));
  facts.Set("graphs", AsNumber(!r.capture_sizes.empty()));
  facts.Set("prefix_caching", AsNumber(r.prefix_caching));
  facts.Set("utilization", r.gpu_memory_utilization);
  facts.Set("max_num_seqs", static_cast<double>(r.max_num_seqs));
  facts.Set("max_num_batched_tokens", static_cast<double>(r.max_num_batched_tokens));
  return facts;
}

IssueFacts FactsOf(const SglangPrepared& p, const std::string& version) {
  const sglang::Context& c = p.context;
  IssueFacts facts = FactsOfPlace(c.arch, &p.gpu, p.deployment, version);
  AddSizes(p.sizes, &facts);
  AddSwitches(p.deployment, &facts);
  const sglang::Defaults& d = p.defaults;
  facts.Set("kv_cache_dtype", c.args.kv_cache_dtype);
  facts.Set("attention_backend", d.attention_backend);
  facts.Set("moe_backend",
            c.arch->moe.experts > 0 ? sglang::ResolveMoeRunner(c) : std::string("none"));
  facts.Set("all2all_backend", c.args.moe_a2a_backend);
  facts.Set("expert_ranks", static_cast<double>(sglang::ExpertParallel(c.args)));
  facts.Set("expert_parallel", AsNumber(sglang::ExpertParallel(c.args) > 1));
  facts.Set("nodes", static_cast<double>(p.placement.nodes));
  facts.Set("vision", AsNumber(c.arch->vision.present && !c.args.language_only));
  facts.Set("graphs", AsNumber(!d.decode_graphs.empty()));
  facts.Set("prefix_caching", AsNumber(!c.args.disable_radix_cache));
  facts.Set("utilization", d.mem_fraction_static);
  facts.Set("max_num_seqs", static_cast<double>(d.max_running_requests));
  facts.Set("max_num_batched_tokens", static_cast<double>(d.chunked_prefill_size));
  return facts;
}

Result<std::shared_ptr<const std::vector<KnownIssue>>> IssuesFor(const ConfigStore& store,
                                                                 const Architecture& arch,
                                                                 const GpuSpec& gpu,
                                                                 const Deployment& deployment,
                                                                 const std::string& version) {
  SHARDPLAN_ASSIGN_OR_RETURN(std::vector<KnownIssue> all, LoadKnownIssues(store));
  return std::make_shared<const std::vector<KnownIssue>>(IssuesOf(
      std::move(all), deployment.engine, version, FactsOfPlace(&arch, &gpu, deployment, version)));
}

}  // namespace shardplan
