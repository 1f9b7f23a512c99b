#include "shardplan/report/plan_json.h"

#include <algorithm>
#include <optional>

#include "report/findings_document.h"
#include "report/plan_document.h"

namespace shardplan {
namespace {

template <typename T>
Document OrNull(const std::optional<T>& value) {
  return value ? Document(*value) : Document(nullptr);
}

Document OrNull(const std::optional<Bytes>& value) {
  return value ? Document(value->count()) : Document(nullptr);
}

Document RangeDocument(const Range& range) {
  return {{"low_bytes", range.low.count()},
          {"bytes", range.central.count()},
          {"high_bytes", range.high.count()}};
}

Document LimitingDocument(const Plan& plan) {
  if (!plan.limiting) return nullptr;
  return {{"rank", plan.limiting->rank},
          {"account", ToString(plan.limiting->account)},
          {"short_bytes", plan.limiting->short_by.count()}};
}

Document ModelDocument(const Plan& plan) {
  return {{"source", plan.source},
          {"architecture", plan.architecture},
          {"family", plan.family},
          {"tensors", plan.totals.tensors},
          {"payload_bytes", plan.totals.payload.count()},
          {"file_bytes", OrNull(plan.file_bytes)},
          {"parameters", plan.totals.parameters},
          {"elements", plan.totals.elements},
          {"shape_basis", ToString(plan.shape_basis)}};
}

Document EngineDocument(const Plan& plan) {
  Document defaults = Document::object();
  for (const auto& [option, value] : plan.defaults) defaults[option] = value;
  return {{"name", plan.engine}, {"version", plan.engine_version}, {"defaults", defaults}};
}

Document LayoutDocument(const Plan& plan) {
  Document stages = Document::array();
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    stages.push_back({{"stage", i},
                      {"first_layer", plan.stages[i].first},
                      {"layer_count", plan.stages[i].count}});
  }
  return {{"tp", plan.sizes.tp},   {"pp", plan.sizes.pp},   {"dp", plan.sizes.dp},
          {"ep", plan.sizes.ep()}, {"dcp", plan.sizes.dcp}, {"world_size", plan.sizes.world()},
          {"stages", stages}};
}

Document SummaryDocument(const EvenShare& share) {
  return {{"cards", share.cards},
          {"card_bytes", share.card.count()},
          {"physical_bytes", share.physical.count()},
          {"checkpoint_bytes", share.file_bytes.count()},
          {"checkpoint_from_files", share.from_files},
          {"even_share_bytes", share.share.count()},
          {"margin_bytes", share.margin.count()}};
}

Document RankDocument(const RankPlan& rank) {
  Document ledger = Document::array();
  for (const Entry& entry : rank.ledger.entries()) {
    ledger.push_back({{"account", ToString(entry.account)},
                      {"in_budget", entry.in_budget},
                      {"bytes", entry.bytes.central.count()},
                      {"low_bytes", entry.bytes.low.count()},
                      {"high_bytes", entry.bytes.high.count()},
                      {"basis", ToString(entry.basis)},
                      {"source", entry.source}});
  }
  return {{"rank", rank.place.rank},
          {"node", rank.place.node},
          {"gpu", rank.place.gpu},
          {"numa_node", rank.numa_node},
          {"stage", rank.place.stage},
          {"tp_rank", rank.place.tp_rank},
          {"dp_rank", rank.place.dp_rank},
          {"ep_rank", rank.place.ep_rank},
          {"device_total_bytes", rank.device_total.count()},
          {"capacity_bytes", rank.capacity.count()},
          {"budget_bytes", rank.budget.count()},
          {"weights_bytes", rank.weights.count()},
          {"offloaded_bytes", rank.offloaded.count()},
          {"pinned_allocated_bytes", rank.pinned_allocated.count()},
          {"weights_detail",
           {{"parameters_bytes", rank.detail.parameters.count()},
            {"buffers_bytes", rank.detail.buffers.count()},
            {"post_load_bytes", rank.detail.post_load.count()},
            {"rounding_bytes", rank.detail.rounding.count()}}},
          {"kv_available_bytes", rank.kv_available.central.count()},
          {"kv_available_low_bytes", rank.kv_available.low.count()},
          {"kv_available_high_bytes", rank.kv_available.high.count()},
          {"bytes_per_block", rank.bytes_per_block.count()},
          {"headroom_bytes", rank.headroom.count()},
          {"load_peak_bytes", rank.load_peak.count()},
          {"assumed_share", rank.ledger.AssumedShare()},
          {"ledger", ledger}};
}

Document ActivationsDocument(const Plan& plan) {
  Document out = Document::array();
  for (const ActivationPlan& stage : plan.activations) {
    Document phases = Document::object();
    for (const auto& [name, bytes] : stage.phases) phases[name] = bytes.count();
    Document fixed = Document::object();
    for (const auto& [name, bytes] : stage.fixed) fixed[name] = bytes.count();
    out.push_back({{"stage", stage.stage},
                   {"peak", RangeDocument(stage.peak)},
                   {"binding_phase", stage.binding},
                   {"flag", stage.flag},
                   {"bytes_per_token", stage.per_token.count()},
                   {"fixed", fixed},
                   {"phases", phases}});
  }
  return out;
}

Document OrNull(const std::optional<SourcedBytes>& value) {
  if (!value) return nullptr;
  return {{"bytes", value->bytes.central.count()},
          {"basis", ToString(value->basis)},
          {"source", value->source}};
}

Document HostDocument(const Plan& plan) {
  Document out = Document::array();
  for (const HostPlan& host : plan.host) {
    Document per_numa = Document::array();
    for (const NumaBytes& numa : host.per_numa) {
      per_numa.push_back({{"numa_node", numa.numa_node},
                          {"bytes", numa.bytes.count()},
                          {"allocated_bytes", numa.allocated.count()},
                          {"memory_bytes", OrNull(numa.memory)}});
    }
    Document rows = Document::array();
    for (const HostRow& row : host.rows) {
      rows.push_back({{"name", row.name},
                      {"bytes", row.bytes.central.count()},
                      {"low_bytes", row.bytes.low.count()},
                      {"high_bytes", row.bytes.high.count()},
                      {"basis", ToString(row.basis)},
                      {"source", row.source},
                      {"reclaimable", row.reclaimable}});
    }
    out.push_back({{"node", host.node},
                   {"name", host.name.empty() ? Document(nullptr) : Document(host.name)},
                   {"pinned_bytes", host.pinned.count()},
                   {"pinned_allocated_bytes", host.pinned_allocated.count()},
                   {"per_numa", per_numa},
                   {"rows", rows},
                   {"memory", OrNull(host.memory)},
                   {"container_memory", OrNull(host.container_limit)},
                   {"shm", OrNull(host.shm)}});
  }
  return out;
}

// Without headers nobody knows what is in which file: one entry a node, all null.
Document FilesDocument(const Plan& plan) {
  Document out = Document::array();
  if (plan.files.empty()) {
    for (const HostPlan& host : plan.host) {
      out.push_back({{"node", host.node},
                     {"shards", nullptr},
                     {"needed_shards", nullptr},
                     {"bytes", nullptr}});
    }
  }
  for (const FilesPlan& files : plan.files) {
    out.push_back({{"node", files.node},
                   {"shards", files.shards},
                   {"needed_shards", files.needed_shards},
                   {"bytes", files.bytes.count()}});
  }
  return out;
}

Document LaunchDocument(const Plan& plan) {
  Document out = Document::array();
  for (const LaunchPlan& launch : plan.launch) {
    Document env = Document::object();
    for (const auto& [name, value] : launch.env) env[name] = value;
    out.push_back({{"node", launch.node}, {"env", env}, {"argv", launch.argv}});
  }
  return out;
}

}  // namespace

Document KvDocument(const KvPlan& kv) {
  Document by_stage = Document::array();
  for (const Bytes bytes : kv.bytes_per_block_by_stage) by_stage.push_back(bytes.count());
  Document groups = Document::array();
  for (const KvGroupPlan& group : kv.groups) {
    groups.push_back({{"kind", group.kind},
                      {"window", group.window > 0 ? Document(group.window) : Document(nullptr)},
                      {"caches", group.caches},
                      {"block_tokens",
                       group.block_tokens > 0 ? Document(group.block_tokens) : Document(nullptr)},
                      {"page_bytes", group.page.count()},
                      {"blocks_per_request", group.blocks_per_request}});
  }
  return {{"dtype", kv.dtype},
          {"block_tokens", kv.block_tokens},
          {"bytes_per_block", kv.bytes_per_block.count()},
          {"page_bytes", kv.page.count()},
          {"bytes_per_block_by_stage", by_stage},
          {"attention_layers_by_stage", kv.attention_layers_by_stage},
          {"groups", groups},
          {"num_blocks", kv.num_blocks},
          {"num_blocks_low", kv.num_blocks_low},
          {"num_blocks_high", kv.num_blocks_high},
          {"blocks_per_request", kv.blocks_per_request},
          {"max_concurrency", kv.max_concurrency},
          {"tokens", kv.tokens},
          {"full_window_requests", kv.full_window_requests},
          {"typical_tokens", OrNull(kv.typical_tokens)},
          {"typical_concurrency", OrNull(kv.typical_concurrency)}};
}

Document PlanDocument(const Plan& plan) {
  const bool legal = plan.verdict != Verdict::kIllegal;
  Document ranks = Document::array();
  double assumed = 0;
  if (legal) {
    for (const RankPlan& rank : plan.ranks) {
      ranks.push_back(RankDocument(rank));
      assumed = std::max(assumed, rank.ledger.AssumedShare());
    }
  }
  const Document none = Document::array();
  return {{"schema_version", 1},
          {"verdict", ToString(plan.verdict)},
          {"verdict_low", ToString(plan.verdict_low)},
          {"verdict_high", ToString(plan.verdict_high)},
          {"limiting", LimitingDocument(plan)},
          {"findings", FindingsDocument(plan.findings)},
          {"model", ModelDocument(plan)},
          {"engine", EngineDocument(plan)},
          {"layout", LayoutDocument(plan)},
          {"cluster",
           {{"gpu", plan.gpu},
            {"gpu_name", plan.gpu_name},
            {"nodes", plan.nodes},
            {"gpus_per_node", plan.gpus_per_node},
            {"file", plan.cluster_file.empty() ? Document(nullptr) : Document(plan.cluster_file)}}},
          {"summary", SummaryDocument(plan.even_share)},
          // Of the rank that rests most on assumptions; 0 to 1.
          {"basis_share", legal ? Document{{"assumed", assumed}} : Document(nullptr)},
          {"ranks", ranks},
          {"activations", legal ? ActivationsDocument(plan) : none},
          {"kv_cache", legal && plan.kv ? KvDocument(*plan.kv) : Document(nullptr)},
          {"static_memory", legal && plan.static_memory ? StaticMemoryDocument(*plan.static_memory)
                                                        : Document(nullptr)},
          {"window",
           {{"max_model_len", plan.window.max_model_len},
            {"output_tokens", OrNull(plan.window.output_tokens)},
            {"max_input_tokens", OrNull(plan.window.max_input_tokens)}}},
          {"host", legal ? HostDocument(plan) : none},
          {"files", legal ? FilesDocument(plan) : none},
          {"launch", legal ? LaunchDocument(plan) : none},
          {"traffic", legal && plan.traffic ? TrafficDocument(*plan.traffic) : Document(nullptr)},
          {"loading", legal && plan.loading ? LoadingDocument(*plan.loading) : Document(nullptr)},
          {"expert_load",
           legal && plan.expert_load ? ExpertLoadDocument(*plan.expert_load) : Document(nullptr)}};
}

std::string RenderPlanJson(const Plan& plan) { return DumpJson(PlanDocument(plan)); }
std::string RenderPlanYaml(const Plan& plan) { return DumpYaml(PlanDocument(plan)); }

}  // namespace shardplan
