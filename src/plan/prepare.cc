#include "plan/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/command_findings.h"
#include "engine/vllm/kv_transfer.h"
#include "engine/vllm/legality.h"
#include "engine/vllm/lora.h"
#include "engine/vllm/speculative_config.h"
#include "engine/vllm/weights.h"
#include "plan/cluster_use.h"
#include "plan/issue_facts.h"
#include "plan/load_peak.h"
#include "plan/node_count.h"
#include "plan/predict_runs.h"
#include "plan/request.h"
#include "plan/vllm_place.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

vllm::DraftSource SourceOf(const Model& model, const Model* draft) {
  const Model& source = draft ? *draft : model;
  return {&model.arch, &source.arch, &source.table, source.guesses.has_value(), draft != nullptr};
}

// The drafter, where speculation asks for one with weights.
Status PrepareDraft(const Environment& env, Prepared* out) {
  vllm::Context& c = out->context;
  if (!c.settings.speculation) return {};
  SHARDPLAN_ASSIGN_OR_RETURN(
      out->draft,
      vllm::MakeDraft(*c.settings.speculation, SourceOf(*env.model, env.draft_model.get()), c.sizes,
                      &out->findings));
  if (out->draft) c.draft = &*out->draft;
  return {};
}

// What the engine makes of it: the draft's path that it is given may tell it another method.
std::optional<Speculation> SpeculationOf(const EngineSettings& settings) {
  std::optional<Speculation> s = settings.speculation;
  if (s && settings.served_draft) vllm::HeedPath(*settings.served_draft, &*s);
  return s;
}

// The model that speculation names.
Result<std::shared_ptr<const Model>> DraftModelOf(const Deployment& deployment) {
  const std::optional<Speculation> s = SpeculationOf(deployment.settings);
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
  SHARDPLAN_RETURN_IF_ERROR(CheckServed(model, "vllm"));
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
    if (auto finding = CheckStoredQuantization(model, deployment)) {
      env.findings.push_back(std::move(*finding));
    }
  }
  env.calibration = PredictRuns(env, store, deployment);
  return env;
}

Result<std::vector<Finding>> CheckSpeculation(const Model& model, const Deployment& deployment) {
  std::vector<Finding> findings;
  const std::optional<Speculation> s = SpeculationOf(deployment.settings);
  if (deployment.engine != "vllm") return findings;
  SHARDPLAN_RETURN_IF_ERROR(CheckServed(model, deployment.engine));
  if (!s) return findings;
  SHARDPLAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> draft, DraftModelOf(deployment));
  Result<std::optional<vllm::Draft>> made =
      vllm::MakeDraft(*s, SourceOf(model, draft.get()), deployment.sizes, &findings);
  if (!made) return tl::unexpected(std::move(made).error());
  return findings;
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
  if (auto conflict = OffloadConflict(deployment)) out->findings.push_back(*std::move(conflict));
  if (deployment.settings.enable_lora && env.model->guesses) {
    return Fail(ErrorCode::kUnsupported, "--enable-lora",
                fmt::format("not modelled for {}, which is planned from its headers",
                            Printable(env.model->arch.name)));
  }
  std::optional<Deployment> placed;
  if (deployment.cluster) {
    SHARDPLAN_ASSIGN_OR_RETURN(placed, InCluster(deployment, deployment.sizes.world()));
  }
  PlaceVllm(env.gpu, *env.catalog, placed ? *placed : deployment, &out->placement, &out->findings);

  vllm::Context& c = out->context;
  c.arch = &env.model->arch;
  c.gpu = &out->gpu;
  c.profile = &env.profile;
  c.sizes = deployment.sizes;
  c.settings = out->deployment.settings;
  c.settings.speculation = SpeculationOf(c.settings);
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
