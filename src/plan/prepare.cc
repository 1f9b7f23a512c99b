#include "plan/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/command_findings.h"
#include "engine/quantization_argument.h"
#include "engine/vllm/kv_transfer.h"
#include "engine/vllm/legality.h"
#include "engine/vllm/lora.h"
#include "engine/vllm/prefetch.h"
#include "engine/vllm/weights.h"
#include "plan/cluster_use.h"
#include "plan/issue_facts.h"
#include "plan/load_peak.h"
#include "plan/node_count.h"
#include "plan/predict_runs.h"
#include "plan/request.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr int64_t kMostLayers = 1'000'000;

void PlaceOnNodes(const Environment& env, const Deployment& d, Prepared* out) {
  NodePlacement& place = out->placement;
  place.gpus_per_node = CardsPerNode(env.gpu, d);
  const int64_t world = d.sizes.world();
  place.nodes = VllmNodes(d.sizes, place.gpus_per_node, d.nodes);
  auto finding = [&](const char* id, Severity severity, std::string message, std::string fix) {
    out->findings.push_back(
        {id, severity, fmt::format("TP {} × PP {} × DP {}", d.sizes.tp, d.sizes.pp, d.sizes.dp),
         std::move(message), std::move(fix)});
  };
  if (place.nodes == 0) {
    const int64_t available = d.nodes.value_or(0) * place.gpus_per_node;
    if (d.cluster && available < world) {
      TooFewCards few = TellTooFewCards(*d.cluster, {*d.nodes, place.gpus_per_node}, world);
      finding("layout.world_size", Severity::kError, std::move(few.message), std::move(few.fix));
    } else if (d.nodes && available < world) {
      finding("layout.world_size", Severity::kError,
              fmt::format("{} ranks need {} GPUs, {} node(s) of {} have {}", world, world, *d.nodes,
                          place.gpus_per_node, available),
              fmt::format("--nodes {} or a smaller layout", CeilDiv(world, place.gpus_per_node)));
    } else {
      finding("layout.world_size", Severity::kError,
              fmt::format("{} ranks do not divide evenly over nodes of {} GPUs", world,
                          place.gpus_per_node),
              d.sizes.dp > 1
                  ? "every node has the same number of ranks, and whole data-parallel engines"
                  : "vLLM needs the same number of ranks on every node");
    }
    place.nodes = std::max<int64_t>(1, d.nodes.value_or(1));
    out->legal = false;
    return;
  }
  place.ranks_per_node = world / place.nodes;
  // Trays of one NVLink domain are as near as cards of one node.
  place.tp_spans_nodes =
      d.sizes.tp > std::max<int64_t>(place.ranks_per_node, env.gpu.nvlink_domain);
  if (place.tp_spans_nodes) {
    finding("layout.tp_spans_nodes", Severity::kWarning,
            fmt::format("a tensor-parallel group spans {} nodes: every layer's all-reduce crosses "
                        "the network",
                        CeilDiv(d.sizes.tp, place.ranks_per_node)),
            "keep TP inside a node and use pipeline stages across nodes");
  } else if (place.ranks_per_node % d.sizes.tp != 0) {
    finding("layout.stage_straddles", Severity::kWarning,
            fmt::format("{} ranks a node are no whole number of stages of {} ranks: a stage is "
                        "split over two nodes",
                        place.ranks_per_node, d.sizes.tp),
            "choose TP so that it divides the GPUs of a node");
  }
  if (d.nodes && place.nodes < *d.nodes) {
    finding("layout.idle_nodes", Severity::kNote,
            fmt::format("{} of {} nodes are used", place.nodes, *d.nodes), "");
  } else if (place.ranks_per_node < place.gpus_per_node && place.nodes > 1) {
    finding("layout.idle_gpus", Severity::kNote,
            fmt::format("{} of {} GPUs a node are used", place.ranks_per_node, place.gpus_per_node),
            "");
  }
  CheckVisibleCards(d, place.ranks_per_node, &out->findings);
  FillNuma(*env.catalog, d.cluster.get(), &place);
}

Status CheckOffload(const Deployment& d) {
  const EngineSettings& s = d.settings;
  if (!(s.mm_ipc_gpu_memory_gb >= 0 && s.mm_ipc_gpu_memory_gb < 1e6)) {
    return Fail(ErrorCode::kUsage, fmt::format("--mm-ipc-gpu-memory-gb {}", s.mm_ipc_gpu_memory_gb),
                "expected GiB a card, zero or more");
  }
  if (!(s.cpu_offload_gb >= 0 && s.cpu_offload_gb < 1e6)) {
    return Fail(ErrorCode::kUsage, fmt::format("--cpu-offload-gb {}", s.cpu_offload_gb),
                "expected GiB a card, zero or more");
  }
  const std::string backend = s.offload_backend.value_or("auto");
  if (backend != "auto" && backend != "uva" && backend != "prefetch") {
    return Fail(ErrorCode::kUsage, "--offload-backend " + Printable(backend),
                "expected auto, uva or prefetch");
  }
  const std::pair<const char*, int64_t> counts[] = {
      {"--offload-group-size", s.offload_group_size},
      {"--offload-num-in-group", s.offload_num_in_group},
      {"--offload-prefetch-step", s.offload_prefetch_step}};
  for (const auto& [flag, value] : counts) {
    if (value < 0 || value > kMostLayers) {
      return Fail(ErrorCode::kUsage, fmt::format("{} {}", flag, value),
                  fmt::format("expected a number from 0 to {}", FormatCount(kMostLayers)));
    }
  }
  if (s.offload_num_in_group == 0) {
    return Fail(ErrorCode::kUsage, "--offload-num-in-group 0", "expected at least 1 layer");
  }
  if (const auto refusal = vllm::PrefetchRefusal(s)) {
    if (s.offload_group_size == 0) {
      return Fail(ErrorCode::kUsage, "--offload-backend prefetch",
                  fmt::format("expected --offload-group-size of {} or more, found none; vLLM would "
                              "say: {}",
                              s.offload_num_in_group, *refusal),
                  fmt::format("--offload-group-size {} keeps {} of every {} layers in host memory; "
                              "--offload-backend uva with --cpu-offload-gb takes a size instead",
                              8 * s.offload_num_in_group, s.offload_num_in_group,
                              8 * s.offload_num_in_group));
    }
    const bool step = s.offload_prefetch_step < 1;
    return Fail(
        ErrorCode::kUsage,
        step ? fmt::format("--offload-prefetch-step {}", s.offload_prefetch_step)
             : fmt::format("--offload-num-in-group {}", s.offload_num_in_group),
        (step ? std::string("expected 1 or more")
              : fmt::format("expected at most --offload-group-size {}", s.offload_group_size)) +
            "; vLLM would say: " + *refusal,
        step ? "1 is the default: the group that is needed next is copied ahead"
             : "of every so many layers as the group has, no more can move");
  }
  return {};
}

// The drafter, where speculation asks for one with weights.
Status PrepareDraft(const Environment& env, Prepared* out) {
  vllm::Context& c = out->context;
  if (!c.settings.speculation) return {};
  const Model& source = env.draft_model ? *env.draft_model : *env.model;
  SHARDPLAN_ASSIGN_OR_RETURN(
      out->draft,
      vllm::MakeDraft(*c.settings.speculation,
                      {&env.model->arch, &source.arch, &source.table, source.guesses.has_value(),
                       env.draft_model != nullptr, source.shape_basis == Basis::kExact},
                      c.sizes, &out->findings));
  if (out->draft) c.draft = &*out->draft;
  return {};
}

// The model that speculation names.
Result<std::shared_ptr<const Model>> DraftModelOf(const Deployment& deployment) {
  const std::optional<Speculation>& s = deployment.settings.speculation;
  static const std::set<std::string> nameless = {"ngram", "ngram_gpu", "suffix"};
  if (!s || s->model.empty() || nameless.contains(s->method)) {
    return std::shared_ptr<const Model>();
  }
  // Layers of the model itself, as older documentation names them.
  if (s->method == "mtp" && !Exists(s->model)) return std::shared_ptr<const Model>();
  return LoadDraftModel("--speculative-config", s->model, s->method);
}

const std::string& VersionOf(const Environment& env, const Deployment& deployment) {
  return deployment.engine_version.empty() ? env.profile.version : deployment.engine_version;
}

}  // namespace

Result<Environment> MakeEnvironment(const Model& model, const Catalog& catalog,
                                    const ConfigStore& store, const Deployment& deployment) {
  Environment env;
  env.model = &model;
  env.weights = std::make_shared<WeightCache>();
  env.catalog = &catalog;
  SHARDPLAN_ASSIGN_OR_RETURN(env.gpu, CardFor(catalog, deployment));
  if (deployment.cluster) {
    SHARDPLAN_ASSIGN_OR_RETURN(DriverTable drivers, DriverTable::Load(store));
    env.drivers = std::make_shared<const DriverTable>(std::move(drivers));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(env.profile,
                             vllm::LoadProfile(store, deployment.engine_version, &env.findings));
  if (auto finding = vllm::CheckModelVersion(store, deployment.engine_version, model.arch.name)) {
    env.findings.push_back(std::move(*finding));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(env.draft_model, DraftModelOf(deployment));
  if (env.draft_model) {
    if (auto finding =
            vllm::CheckModelVersion(store, deployment.engine_version, env.draft_model->arch.name)) {
      env.findings.push_back(std::move(*finding));
    }
  }
  const EngineSettings& settings = deployment.settings;
  SHARDPLAN_ASSIGN_OR_RETURN(FlagTable table, FlagTable::Load(store, "vllm"));
  env.flags = std::make_shared<const FlagTable>(std::move(table));
  const std::string& version = VersionOf(env, deployment);
  SHARDPLAN_ASSIGN_OR_RETURN(env.issues,
                             IssuesFor(store, model.arch, env.gpu, deployment, version));
  if (!settings.command_flags.empty() || !settings.env.empty()) {
    for (Finding& finding : CheckCommand(*env.flags, version, model.arch, settings)) {
      env.findings.push_back(std::move(finding));
    }
    const StoredQuantization stored{model.quant_method, !model.arch.quantization.empty()};
    if (auto finding = CheckQuantization("vllm", stored, settings)) {
      env.findings.push_back(std::move(*finding));
    }
  }
  env.calibration = PredictRuns(env, store, deployment);
  return env;
}

Status Prepare(const Environment& env, const Deployment& deployment, Prepared* out) {
  SHARDPLAN_RETURN_IF_ERROR(CheckSizes(deployment));
  SHARDPLAN_RETURN_IF_ERROR(CheckOffload(deployment));
  SHARDPLAN_RETURN_IF_ERROR(CheckLoadFormat(deployment.settings));
  out->deployment = deployment;
  if (env.draft_model && deployment.settings.speculation) {
    ServeDraftDirectory(deployment.settings.speculation->model, *env.draft_model,
                        &out->deployment.settings);
  }
  out->findings = env.findings;
  out->findings.insert(out->findings.end(), deployment.findings.begin(), deployment.findings.end());
  NoteForeignOptions(deployment.sglang_options, "SGLang", "vLLM", &out->findings);
  SHARDPLAN_ASSIGN_OR_RETURN(out->gpu, CardOf(env.gpu, deployment));
  if (env.gpu.vendor == "amd") {
    out->findings.push_back(
        {"gpu.vendor", Severity::kWarning, env.gpu.id,
         "context, communicators, backends and activations follow NVIDIA cards; vLLM chooses other "
         "kernels on ROCm",
         "take the weights and the KV arithmetic, and measure the rest"});
  }
  if (const auto conflict = vllm::OffloadConflict(deployment.settings)) {
    out->findings.push_back({"offload.conflict", Severity::kWarning, "--offload-backend",
                             "vLLM would say: " + *conflict, "give the options of one backend"});
  }
  if (deployment.settings.enable_lora && env.model->guesses) {
    return Fail(ErrorCode::kUnsupported, "--enable-lora",
                fmt::format("not modelled for {}, which is planned from its headers",
                            Printable(env.model->arch.name)));
  }
  std::optional<Deployment> placed;
  if (deployment.cluster) {
    SHARDPLAN_ASSIGN_OR_RETURN(placed, InCluster(deployment, deployment.sizes.world()));
  }
  PlaceOnNodes(env, placed ? *placed : deployment, out);

  vllm::Context& c = out->context;
  c.arch = &env.model->arch;
  c.gpu = &out->gpu;
  c.profile = &env.profile;
  c.sizes = deployment.sizes;
  c.settings = out->deployment.settings;
  c.tp_spans_nodes = out->placement.tp_spans_nodes;
  c.experts_span_nodes = out->placement.ranks_per_node > 0 &&
                         deployment.sizes.expert_ranks() > out->placement.ranks_per_node;
  c.table = &env.model->table;
  c.weights = env.weights.get();
  SHARDPLAN_RETURN_IF_ERROR(PrepareDraft(env, out));
  SHARDPLAN_ASSIGN_OR_RETURN(c.resolved, vllm::ResolveSettings(c, &out->defaults, &out->findings));
  out->table = vllm::TableFor(env.model->table, env.model->arch.dtype, c.resolved.dtype);
  c.table = out->table.get();
  if (out->draft) {
    out->draft->table =
        vllm::WithDType(out->draft->table, out->draft->arch.dtype, c.resolved.dtype);
  }
  for (Finding& finding : vllm::CheckLayout(c, deployment.partition)) {
    out->findings.push_back(std::move(finding));
  }
  for (Finding& finding : vllm::CheckDraft(c)) out->findings.push_back(std::move(finding));
  for (Finding& finding : vllm::CheckLora(c)) out->findings.push_back(std::move(finding));
  for (Finding& finding : vllm::NoteKvTransfer(c)) out->findings.push_back(std::move(finding));
  out->legal = out->legal && !HasError(out->findings);
  // Told beside the figures: a layout with a known issue is a layout.
  if (env.issues && !env.issues->empty()) {
    const std::string& version = VersionOf(env, deployment);
    TellIssues(*env.issues, FactsOf(*out, version), version, &out->findings);
  }
  if (out->legal) {
    c.stages = deployment.partition ? PartitionFrom(*deployment.partition)
                                    : DefaultPartition(c.arch->layers(), c.sizes.pp);
  }
  return {};
}

}  // namespace shardplan
