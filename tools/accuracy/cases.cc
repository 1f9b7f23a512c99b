#include "tools/accuracy/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/vllm/speculative_config.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::accuracy {
namespace {

using nlohmann::json;

constexpr Bytes kLargestFile(4 * kMiB);

Result<json> ReadJson(const std::string& path) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kLargestFile));
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) return Fail(ErrorCode::kInvalidInput, path, "expected JSON");
  return value;
}

// vLLM's knobs by the names of their flags.
Status ReadVllmFlags(const json& flags, const std::string& id, EngineSettings* s) {
  for (const auto& [name, value] : flags.items()) {
    if (name == "max_model_len") {
      s->max_model_len = value.get<int64_t>();
    } else if (name == "max_num_seqs") {
      s->max_num_seqs = value.get<int64_t>();
    } else if (name == "max_num_batched_tokens") {
      s->max_num_batched_tokens = value.get<int64_t>();
    } else if (name == "gpu_memory_utilization") {
      s->gpu_memory_utilization = value.get<double>();
    } else if (name == "kv_cache_dtype") {
      s->kv_cache_dtype = value.get<std::string>();
    } else if (name == "block_size") {
      s->block_size = value.get<int64_t>();
    } else if (name == "enforce_eager") {
      s->enforce_eager = value.get<bool>();
    } else if (name == "enable_prefix_caching") {
      s->enable_prefix_caching = value.get<bool>();
    } else if (name == "language_model_only") {
      s->language_model_only = value.get<bool>();
    } else if (name == "mm_encoder_tp_mode") {
      s->mm_encoder_tp_mode = value.get<std::string>();
    } else if (name == "moe_backend") {
      s->moe_backend = value.get<std::string>();
    } else if (name == "attention_backend") {
      s->attention_backend = value.get<std::string>();
    } else if (name == "num_gpu_blocks_override") {
      s->num_gpu_blocks_override = value.get<int64_t>();
    } else if (name == "disable_custom_all_reduce") {
      s->disable_custom_all_reduce = value.get<bool>();
    } else if (name == "logprobs_mode") {
      s->logprobs_mode = value.get<std::string>();
    } else if (name == "max_cudagraph_capture_size") {
      s->max_cudagraph_capture_size = value.get<int64_t>();
    } else if (name == "speculative_config") {
      SHARDPLAN_ASSIGN_OR_RETURN(s->speculation, vllm::ParseSpeculation(value.get<std::string>()));
    } else if (name == "estimate_graphs") {
      s->estimate_graphs = value.get<bool>();
    } else {
      return Fail(ErrorCode::kInvalidInput, id, "unknown flag " + name);
    }
  }
  return {};
}

// SGLang's. What means the same in both engines goes to both, as from the command line.
Status ReadSglangFlags(const json& flags, const std::string& id, Deployment* d) {
  SglangSettings* const g = &d->sglang;
  EngineSettings* const s = &d->settings;
  for (const auto& [name, value] : flags.items()) {
    if (name == "mem_fraction_static") {
      g->mem_fraction_static = value.get<double>();
    } else if (name == "context_length") {
      g->context_length = s->max_model_len = value.get<int64_t>();
    } else if (name == "chunked_prefill_size") {
      g->chunked_prefill_size = s->max_num_batched_tokens = value.get<int64_t>();
    } else if (name == "max_prefill_tokens") {
      g->max_prefill_tokens = value.get<int64_t>();
    } else if (name == "max_running_requests") {
      g->max_running_requests = s->max_num_seqs = value.get<int64_t>();
    } else if (name == "ep_size") {
      g->ep_size = value.get<int64_t>();
    } else if (name == "enable_dp_attention") {
      g->enable_dp_attention = value.get<bool>();
    } else if (name == "disable_radix_cache") {
      g->disable_radix_cache = value.get<bool>();
      s->enable_prefix_caching = !g->disable_radix_cache;
    } else if (name == "attention_backend") {
      s->attention_backend = g->attention_backend = value.get<std::string>();
    } else if (name == "moe_runner_backend") {
      g->moe_runner_backend = value.get<std::string>();
    } else {
      return Fail(ErrorCode::kInvalidInput, id, "unknown flag " + name);
    }
  }
  return {};
}

std::string TextOrEmpty(const json& row, const char* key) {
  const auto it = row.find(key);
  return it == row.end() || it->is_null() ? "" : it->get<std::string>();
}

// What SGLang prints of its pool: K and V in GiB, or both in one figure, of one rank.
Status ReadPool(const json& row, bool compares_tokens, Case* c) {
  // Tokens without the pool are compared with those of the flags alone.
  if (row.contains("kv_tokens")) c->kv_tokens = row["kv_tokens"].get<int64_t>();
  if (!compares_tokens) return {};
  if (!c->kv_tokens) return Fail(ErrorCode::kInvalidInput, c->id, "expected kv_tokens");
  c->pool_gib = row.at("pool_gib").get<std::vector<double>>();
  if (!c->pool_gib.empty() && c->pool_gib.size() <= 2 && c->deployment.sizes.pp == 1) return {};
  return Fail(ErrorCode::kInvalidInput, c->id, "expected one or two pool_gib of one stage");
}

// The printed figures, and what each is good for.
Status ReadFigures(const json& row, Case* c) {
  const auto uses = row.at("use").get<std::vector<std::string>>();
  const auto use = [&](const char* name) {
    return std::find(uses.begin(), uses.end(), name) != uses.end();
  };
  const auto stages = [&](const char* key, std::vector<double>* out) -> Status {
    *out = row.at(key).get<std::vector<double>>();
    if (static_cast<int64_t>(out->size()) == c->deployment.sizes.pp) return {};
    return Fail(ErrorCode::kInvalidInput, c->id,
                fmt::format("expected one {} a pipeline stage", key));
  };
  const bool sglang = c->deployment.engine == "sglang";
  c->unexplained = use("unexplained");
  if (c->unexplained && (!sglang || uses.size() > 1 || c->reason.empty())) {
    return Fail(ErrorCode::kInvalidInput, c->id,
                "expected nothing else beside unexplained, a reason, and sglang");
  }
  if (use("weights") || c->unexplained) {
    SHARDPLAN_RETURN_IF_ERROR(stages("weights_gib", &c->weights_gib));
  }
  if (sglang) {
    SHARDPLAN_RETURN_IF_ERROR(ReadPool(row, use("kv_tokens"), c));
  } else {
    c->compares_budget = use("budget");
    if (use("budget") || use("kv_tokens")) SHARDPLAN_RETURN_IF_ERROR(stages("kv_gib", &c->kv_gib));
    if (use("kv_tokens")) c->kv_tokens = row.at("kv_tokens").get<int64_t>();
  }
  if ((use("verdict") || c->unexplained) == c->result.empty()) {
    return Fail(ErrorCode::kInvalidInput, c->id, "expected a result where use has verdict");
  }
  return {};
}

Result<Case> ReadCase(const json& row, const std::string& data) {
  Case c;
  c.id = row.at("id").get<std::string>();
  c.model = row.at("model").get<std::string>();
  c.source = TextOrEmpty(row, "source");
  c.reason = TextOrEmpty(row, "reason");
  c.note = TextOrEmpty(row, "note");
  c.result = TextOrEmpty(row, "result");
  c.stopped_at = TextOrEmpty(row, "stopped_at");
  if (row.contains("unknown")) c.unknown_flags = row["unknown"].get<std::vector<std::string>>();
  Deployment& d = c.deployment;
  d.engine = row.at("engine").get<std::string>();
  d.engine_version = row.at("version").get<std::string>();
  d.gpu = row.at("gpu").get<std::string>();
  d.nodes = row.at("nodes").get<int64_t>();
  if (row.contains("gpus_per_node")) d.gpus_per_node = row["gpus_per_node"].get<int64_t>();
  d.sizes.tp = row.at("tp").get<int64_t>();
  d.sizes.pp = row.at("pp").get<int64_t>();
  d.sizes.dp = row.at("dp").get<int64_t>();
  d.sizes.expert_parallel = row.at("ep").get<bool>();
  SHARDPLAN_RETURN_IF_ERROR(d.engine == "sglang"
                                ? ReadSglangFlags(row.at("flags"), c.id, &d)
                                : ReadVllmFlags(row.at("flags"), c.id, &d.settings));
  if (row.contains("assume")) {
    for (const json& text : row.at("assume")) {
      SHARDPLAN_RETURN_IF_ERROR(ParseAssumption(text.get<std::string>(), &c.assumptions));
    }
  }
  SHARDPLAN_RETURN_IF_ERROR(ReadFigures(row, &c));
  if (row.contains("total_gib")) {
    d.gpu_memory_total = Gibibytes(row.at("total_gib").get<double>()).ToBytes();
  }
  SHARDPLAN_ASSIGN_OR_RETURN(json config,
                             ReadJson(JoinPath(data, row.at("config").get<std::string>())));
  config.merge_patch(row.at("set"));
  c.config = config.dump();
  return c;
}

// The model as its config alone describes it.
Result<Model> ModelOf(const Case& c) {
  SHARDPLAN_ASSIGN_OR_RETURN(ModelSpec spec, BuildModelSpec(c.config, c.model, c.assumptions));
  Model model;
  model.source = c.model;
  model.totals = Totals(spec.table);
  model.arch = std::move(spec.arch);
  model.table = std::move(spec.table);
  return model;
}

}  // namespace

Result<Plan> PlanCase(const Case& c, const Deployment& deployment, const Catalog& catalog,
                      const ConfigStore& store) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Model model, ModelOf(c));
  return EvaluatePlan(model, catalog, store, deployment);
}

Result<std::vector<Case>> ReadCases(const std::string& data) {
  const std::string path = JoinPath(data, "cases/observed.jsonl");
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kLargestFile));
  std::vector<Case> cases;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string where = fmt::format("{}, line {}", path, cases.size() + 1);
    try {
      SHARDPLAN_ASSIGN_OR_RETURN(Case c, ReadCase(json::parse(line), data));
      cases.push_back(std::move(c));
    } catch (const json::exception& error) {
      return Fail(ErrorCode::kInvalidInput, where, error.what());
    }
  }
  return cases;
}

}  // namespace shardplan::accuracy
