#include "plan/sglang/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/command_findings.h"
#include "engine/sglang/cell.h"
#include "engine/sglang/legality.h"
#include "engine/sglang/offload.h"
#include "engine/sglang/parallel.h"
#include "engine/sglang/refusals.h"
#include "engine/sglang/weights.h"
#include "engine/vllm/weights.h"
#include "plan/cluster_use.h"
#include "plan/issue_facts.h"
#include "plan/request.h"
#include "plan/sglang/ranks.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Steps, branches and tokens that SGLang chooses where nobody gives them. With one branch it makes
// the tokens steps + 1 whatever is given.
// Source: speculative/spec_utils.py auto_choose_speculative_params, server_args.py (0bda0b168).
void ChooseDraftTokens(const Architecture& arch, sglang::ServerArgs* args) {
  if (!args->is_speculative() || args->draft_tokens_given) return;
  static const std::set<std::string> chains = {"deepseek-v3", "deepseek-v3.2", "kimi-k2.5",
                                               "glm-moe-dsa", "glm4-moe",      "gpt-oss",
                                               "bailing-moe"};
  const bool chain = chains.contains(arch.family);
  // Only drafts of these have steps and branches.
  static const std::set<std::string> stepping = {"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"};
  if (!stepping.contains(args->speculative_algorithm)) {
    args->speculative_num_draft_tokens = 8;
  } else if (args->speculative_num_steps) {
    if (!args->speculative_eagle_topk) args->speculative_eagle_topk = 1;
    args->speculative_num_draft_tokens = *args->speculative_num_steps + 1;
  } else if (!args->speculative_eagle_topk) {
    args->speculative_num_steps = chain ? 3 : 5;
    args->speculative_eagle_topk = chain ? 1 : 4;
    args->speculative_num_draft_tokens = chain ? 4 : 8;
  }
}

// vLLM's name for the same kind of draft; empty where it has no tensors that a config tells.
std::string MethodOf(const sglang::ServerArgs& args) {
  const std::string& name = args.speculative_algorithm;
  const bool own = args.speculative_draft_model_path.empty();
  if ((name == "NEXTN" || name == "EAGLE") && own) return "mtp";
  if (name == "EAGLE3" && !own) return "eagle3";
  if (name == "STANDALONE" && !own) return "draft_model";
  return "";
}

// Weights of the draft on one rank, divided as the model's are.
Bytes DraftWeights(const sglang::Context& context, const vllm::Draft& draft) {
  sglang::Context c = context;
  c.arch = &draft.arch;
  c.table = &draft.table;
  c.weights = nullptr;  // it is of the model
  return sglang::WeightsByStage(c, {{0, draft.arch.layers()}})[0];
}

Status PrepareDraft(const SglangEnvironment& env, SglangPrepared* out) {
  sglang::ServerArgs& args = out->context.args;
  if (!args.is_speculative() || args.speculative_algorithm == "NGRAM") return {};
  SglangDraft draft;
  const std::string method = MethodOf(args);
  // How many of MiMo-V2's MTP layers SGLang loads is not known here; vLLM's rule is one.
  const bool unknown = method == "mtp" && env.model->arch.name.starts_with("MiMoV2");
  if (!method.empty() && !unknown) {
    Speculation speculation;
    speculation.method = method;
    speculation.tokens = std::max<int64_t>(args.speculative_num_draft_tokens, 1);
    speculation.model = args.speculative_draft_model_path;
    const Model& source = env.draft_model ? *env.draft_model : *env.model;
    std::vector<Finding> ignored;  // in vLLM's words
    Result<std::optional<vllm::Draft>> made =
        vllm::MakeDraft(speculation,
                        {&env.model->arch, &source.arch, &source.table, source.guesses.has_value(),
                         env.draft_model != nullptr},
                        out->sizes, &ignored);
    if (made && *made) draft.model = std::move(**made);
  }
  if (draft.model) {
    args.draft_layers = draft.model->arch.layers();
    draft.weights = DraftWeights(out->context, *draft.model);
    draft.source = "draft model: parameters by SGLang's sharding rules";
  }
  if (args.draft_weights) {
    draft.weights = *args.draft_weights;
    draft.basis = Basis::kMeasured;
    draft.source = "--draft-weights";
  } else if (!draft.model) {
    draft.basis = Basis::kAssumed;
    draft.source = "draft model: not known";
    out->findings.push_back(
        {"speculative.unknown_draft", Severity::kWarning,
         "--speculative-algorithm " + Printable(args.speculative_algorithm),
         env.draft_model == nullptr
             ? "the draft's weights and cache are not known here and are counted as nothing"
             : "drafts of this class are not modelled for SGLang and are counted as nothing",
         env.draft_model == nullptr
             ? "give --draft-weights SIZE and --draft-bytes-per-token N, or its config with "
               "--speculative-draft-model-path"
             : "give --draft-weights SIZE and --draft-bytes-per-token N"});
  }
  out->draft = std::move(draft);
  return {};
}

// Options that only the other engine has, and what SGLang cannot do at all.
void CheckForeign(const Deployment& d, std::vector<Finding>* out) {
  // These are refused below, not ignored.
  static const std::set<std::string> offload = {"--offload-backend", "--cpu-offload-params",
                                                "--offload-params"};
  std::vector<std::string> ignored = d.vllm_options;
  std::erase_if(ignored, [](const std::string& name) { return offload.contains(name); });
  NoteForeignOptions(ignored, "vLLM", "SGLang", out);
  const bool uva = d.settings.offload_backend == "uva" || !d.settings.cpu_offload_params.empty() ||
                   !d.settings.offload_params.empty();
  if (uva) {
    out->push_back(
        {"offload.not_in_engine", Severity::kError, "--offload-backend uva",
         "SGLang has no offload that kernels read in place, and none of chosen "
         "parameters: --cpu-offload-gb copies whole layers to the card for every forward "
         "pass",
         "plan it with --engine vllm, or leave the offload out"});
  }
}

void CheckTower(const Deployment& d, const sglang::HasFlagFn& has, std::vector<Finding>* out) {
  if (!d.sglang.language_only || has("--language-only")) return;
  out->push_back({"engine.language_only", Severity::kWarning, "--language-only",
                  "this version has no flag that leaves the vision tower out",
                  "0.5.18 and later have --language-model-only"});
}

// First release with an architecture, where it is known.
void CheckModelVersion(const SglangEnvironment& env, std::vector<Finding>* out) {
  const auto& since = env.profile.models_since;
  const auto it = since.find(env.model->arch.name);
  if (it == since.end() || it->second.empty()) return;
  out->push_back(
      {"engine.model_too_new", Severity::kWarning, env.model->arch.name,
       fmt::format("SGLang {} does not have it: it came with {}", env.profile.version, it->second),
       "--engine sglang@" + it->second});
}

// SGLang takes --dtype half for 16-bit floats and keeps bfloat16 as it is.
Result<DType> ModelDType(const Deployment& d, const Architecture& arch) {
  const std::string name = d.settings.dtype.value_or("auto");
  if (name == "auto") return arch.dtype == DType::kF32 ? DType::kF16 : arch.dtype;
  if (name == "bfloat16") return DType::kBF16;
  if (name == "half" || name == "float16") return DType::kF16;
  if (name == "float" || name == "float32") return DType::kF32;
  return Fail(ErrorCode::kUsage, "--dtype " + Printable(name),
              "expected auto, half, float16, bfloat16, float or float32");
}

void ListDefaults(const SglangPrepared& p, const sglang::KvFormat& format,
                  const sglang::HasFlagFn& has, std::vector<OptionValue>* out) {
  const sglang::Context& c = p.context;
  const sglang::ServerArgs& a = c.args;
  const sglang::Defaults& d = p.defaults;
  const auto add = [&](bool given, const char* name, std::string value) {
    if (!given) out->emplace_back(name, std::move(value));
  };
  add(d.fraction_given, "mem-fraction-static", sglang::FormatPython(d.mem_fraction_static));
  add(a.context_length || p.deployment.settings.max_model_len_auto, "context-length",
      std::to_string(sglang::ContextLength(c)));
  add(a.chunked_prefill_size.has_value(), "chunked-prefill-size", std::to_string(d.chunk_as_given));
  if (d.max_running_requests > 0) {
    add(a.max_running_requests.has_value(), "max-running-requests",
        std::to_string(d.max_running_requests));
  }
  add(a.page_size.has_value(), "page-size", std::to_string(d.page_size));
  add(a.kv_cache_dtype != "auto", "kv-cache-dtype", format.name);
  add(a.attention_backend || a.decode_attention_backend, "attention-backend", d.attention_backend);
  if (c.arch->moe.experts > 0) {
    add(a.moe_runner_backend != "auto", "moe-runner-backend", sglang::ResolveMoeRunner(c));
  }
  const char* const graphs =
      has("--cuda-graph-max-bs-decode") ? "cuda-graph-max-bs-decode" : "cuda-graph-max-bs";
  if (!d.decode_graphs.empty()) {
    add(a.cuda_graph_max_bs || !a.cuda_graph_bs.empty(), graphs,
        std::to_string(d.decode_graphs.back()));
  }
  if (has("--cuda-graph-backend-prefill")) {
    add(a.prefill_graph || a.disable_cuda_graph, "cuda-graph-backend-prefill",
        d.prefill_graph == PrefillGraph::kBreakable   ? "breakable"
        : d.prefill_graph == PrefillGraph::kPiecewise ? "tc_piecewise"
                                                      : "disabled");
  }
  if (c.arch->has_state()) {
    const StateStrategy strategy = sglang::ResolveStrategy(c);
    add(a.mamba_radix_strategy.has_value(),
        has("--mamba-radix-cache-strategy") ? "mamba-radix-cache-strategy"
                                            : "mamba-scheduler-strategy",
        strategy == StateStrategy::kNoBuffer ? "no_buffer" : "extra_buffer");
    add(a.max_mamba_cache_size || a.mamba_full_memory_ratio != 0.9, "mamba-full-memory-ratio",
        sglang::FormatPython(a.mamba_full_memory_ratio));
  }
  if (a.is_speculative()) {
    const SglangSettings& given = p.deployment.sglang;
    if (a.speculative_num_steps) {
      add(given.speculative_num_steps.has_value(), "speculative-num-steps",
          std::to_string(*a.speculative_num_steps));
      add(given.speculative_eagle_topk.has_value(), "speculative-eagle-topk",
          std::to_string(a.speculative_eagle_topk.value_or(1)));
    }
    add(given.speculative_num_draft_tokens > 0, "speculative-num-draft-tokens",
        std::to_string(a.speculative_num_draft_tokens));
  }
}

}  // namespace

sglang::ServerArgs SglangArguments(const Deployment& d) {
  sglang::ServerArgs args;
  static_cast<SglangSettings&>(args) = d.sglang;
  args.tp_size = d.sizes.tp;
  args.pp_size = d.sizes.pp;
  args.dp_size = d.sizes.dp;
  args.dcp_size = d.sizes.dcp;
  args.pp_partition = d.partition;
  // One rank of attention is what it is without.
  if (args.dp_size == 1) args.enable_dp_attention = false;
  if ((d.sizes.expert_parallel || args.enable_ep_moe) && args.ep_size == 1) {
    args.ep_size = args.tp_size;
  }
  args.draft_tokens_given = args.is_speculative() && args.speculative_num_draft_tokens > 0;
  return args;
}

sglang::HasFlagFn FlagsOf(const SglangEnvironment& env, const Deployment& deployment) {
  return [flags = env.flags, version = VersionOf(env, deployment)](const std::string& name) {
    const FlagRow* const row = flags->Find(name);
    return row != nullptr && HasFlag(version, *row);
  };
}

const std::string& VersionOf(const SglangEnvironment& env, const Deployment& deployment) {
  return deployment.engine_version.empty() ? env.profile.version : deployment.engine_version;
}

Result<SglangEnvironment> MakeSglangEnvironment(const Model& model, const Catalog& catalog,
                                                const ConfigStore& store,
                                                const Deployment& deployment) {
  SHARDPLAN_RETURN_IF_ERROR(CheckServed(model, "sglang"));
  SglangEnvironment env;
  env.model = &model;
  env.weights = std::make_shared<WeightCache>();
  env.catalog = &catalog;
  SHARDPLAN_ASSIGN_OR_RETURN(env.gpu, CardFor(catalog, deployment));
  if (deployment.cluster) {
    SHARDPLAN_ASSIGN_OR_RETURN(DriverTable drivers, DriverTable::Load(store));
    env.drivers = std::make_shared<const DriverTable>(std::move(drivers));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(env.profile,
                             sglang::LoadProfile(store, deployment.engine_version, &env.findings));
  CheckModelVersion(env, &env.findings);
  SHARDPLAN_ASSIGN_OR_RETURN(FlagTable table, FlagTable::Load(store, "sglang"));
  env.flags = std::make_shared<const FlagTable>(std::move(table));
  SHARDPLAN_ASSIGN_OR_RETURN(
      env.issues, IssuesFor(store, model.arch, env.gpu, deployment, VersionOf(env, deployment)));
  const EngineSettings& settings = deployment.settings;
  if (!settings.command_flags.empty() || !settings.env.empty()) {
    for (Finding& finding :
         CheckCommand(*env.flags, VersionOf(env, deployment), model.arch, settings)) {
      env.findings.push_back(std::move(finding));
    }
    if (auto finding = CheckStoredQuantization(model, deployment)) {
      env.findings.push_back(std::move(*finding));
    }
  }
  const std::string& draft = deployment.sglang.speculative_draft_model_path;
  // Where its bytes are given, nothing of it has to be here.
  if (!draft.empty() && !(deployment.sglang.draft_weights && !Exists(draft))) {
    SHARDPLAN_ASSIGN_OR_RETURN(env.draft_model,
                               LoadDraftModel("--speculative-draft-model-path", draft));
  }
  return env;
}

Status PrepareSglang(const SglangEnvironment& env, const Deployment& deployment,
                     SglangPrepared* out) {
  SHARDPLAN_RETURN_IF_ERROR(CheckSizes(deployment));
  out->deployment = deployment;
  if (env.draft_model) {
    ServeDraftDirectory(deployment.sglang.speculative_draft_model_path, *env.draft_model,
                        &out->deployment.settings);
  }
  out->findings = env.findings;
  out->findings.insert(out->findings.end(), deployment.findings.begin(), deployment.findings.end());
  SHARDPLAN_ASSIGN_OR_RETURN(out->gpu, CardOf(env.gpu, deployment));
  if (deployment.sglang.free_before_load &&
      *deployment.sglang.free_before_load > out->gpu.cuda_visible.bytes.high) {
    return Fail(ErrorCode::kUsage,
                "--free-memory-before-load " + FormatGiB(*deployment.sglang.free_before_load),
                fmt::format("expected at most the {} that CUDA sees of this card",
                            FormatGiB(out->gpu.cuda_visible.bytes.high)));
  }
  CheckForeign(deployment, &out->findings);
  // One spelling plans either engine; SGLang's parser has no such choice in any release.
  if (deployment.settings.kv_cache_dtype == "fp8") {
    out->findings.push_back({"kv.dtype_name", Severity::kNote, "--kv-cache-dtype fp8",
                             "vLLM's name: planned and launched as fp8_e4m3, SGLang's name for it",
                             "--kv-cache-dtype fp8_e4m3"});
  }
  if (deployment.calibration) {
    out->findings.push_back({"calibration.other_engine", Severity::kWarning, "--calibration",
                             "its figures are those of vLLM's log: nothing of it is used",
                             "--free-memory-before-load takes what a start of SGLang prints"});
  }
  CheckTower(deployment, FlagsOf(env, deployment), &out->findings);
  sglang::Context& c = out->context;
  c.arch = &env.model->arch;
  c.gpu = &out->gpu;
  c.profile = &env.profile;
  c.args = SglangArguments(deployment);
  ChooseDraftTokens(*c.arch, &c.args);
  SHARDPLAN_ASSIGN_OR_RETURN(const DType dtype, ModelDType(deployment, *c.arch));
  out->table = vllm::TableFor(env.model->table, c.arch->dtype, dtype);
  c.table = out->table.get();
  c.dtype = dtype;
  c.weights = env.weights.get();
  out->sizes = deployment.sizes;
  out->sizes.expert_size = sglang::ExpertParallel(c.args);
  out->sizes.dp_in_tp = c.args.enable_dp_attention;
  std::optional<Deployment> placed;
  if (deployment.cluster) {
    SHARDPLAN_ASSIGN_OR_RETURN(placed, InCluster(deployment, out->sizes.world()));
  }
  PlaceSglang(env.gpu, *env.catalog, placed ? *placed : deployment, out->sizes, &out->placement,
              &out->findings);
  c.args.nnodes = out->placement.nodes;
  out->defaults = sglang::ResolveDefaults(c);
  for (Finding& finding : sglang::CheckLayout(c)) out->findings.push_back(std::move(finding));
  for (Finding& finding : sglang::CheckArguments(c, out->defaults)) {
    out->findings.push_back(std::move(finding));
  }
  for (Finding& finding : sglang::CheckOffload(c)) out->findings.push_back(std::move(finding));
  for (Finding& finding : sglang::CheckRunner(c)) out->findings.push_back(std::move(finding));
  out->legal = !HasError(out->findings);
  // Told beside the figures: a layout with a known issue is a layout.
  if (env.issues && !env.issues->empty()) {
    const std::string& version = VersionOf(env, deployment);
    TellIssues(*env.issues, FactsOf(*out, version), version, &out->findings);
  }
  if (!out->legal) return {};
  SHARDPLAN_RETURN_IF_ERROR(PrepareDraft(env, out));
  // A draft changes what the default fraction reserves in older releases.
  out->defaults = sglang::ResolveDefaults(c);
  SHARDPLAN_ASSIGN_OR_RETURN(const sglang::KvFormat format,
                             sglang::ResolveKvFormat(c, out->defaults.attention_backend));
  ListDefaults(*out, format, FlagsOf(env, deployment), &out->option_defaults);
  out->stages = sglang::Stages(c.args, c.arch->layers());
  out->places = PlaceSglangRanks(c.args, out->placement);
  return {};
}

}  // namespace shardplan
