// One deployment, as asked for.
#ifndef SHARDPLAN_PLAN_DEPLOYMENT_H_
#define SHARDPLAN_PLAN_DEPLOYMENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/base/finding.h"
#include "shardplan/engine/settings.h"
#include "shardplan/engine/sglang_settings.h"
#include "shardplan/hardware/link_rates.h"
#include "shardplan/layout/layout.h"

namespace shardplan {

struct Calibration;  // shardplan/plan/calibration.h
struct ClusterSpec;  // shardplan/hardware/cluster_spec.h
struct ExpertLoads;  // shardplan/plan/expert_load.h

struct Deployment {
  // Where.
  std::string gpu;                             // catalogue id or alias; empty with a cluster
  std::shared_ptr<const ClusterSpec> cluster;  // instead of gpu and gpus_per_node
  std::optional<int64_t> nodes;  // as many as the world needs when absent; of a cluster the first
  std::optional<int64_t> gpus_per_node;   // 8 when absent
  std::optional<Bytes> gpu_memory_total;  // overrides what CUDA sees
  Bytes gpu_memory_in_use;                // on every card, by others
  std::string driver;                     // of the nodes: "570.195.03"; empty: not known
  LinkSettings links;                     // rates, where they are known

  // How.
  std::string engine = "vllm";  // or "sglang"
  std::string engine_version;   // empty: the newest profile
  std::string cuda;             // that it was built with: "12.9"; empty: what the version's own is
  std::string image;            // that a command names, without a digest; empty: none
  std::string image_digest;     // "sha256:…"
  ParallelSizes sizes;
  std::optional<std::vector<int64_t>> partition;  // layers per stage
  EngineSettings settings;                        // vLLM's, and what both engines take
  SglangSettings sglang;
  // Options that were given and that only the one engine or the other has.
  std::vector<std::string> vllm_options;
  std::vector<std::string> sglang_options;

  // What is asked.
  std::optional<int64_t> output_tokens;   // share of the window that is output
  int64_t require_concurrency = 1;        // full-window requests resident at once
  std::optional<int64_t> typical_tokens;  // a length at which concurrency is told as well

  std::vector<Finding> findings;  // of reading the request; the plan tells them with its own

  // What is known: figures of real runs, which replace assumed ones.
  std::shared_ptr<const Calibration> calibration;
  std::shared_ptr<const ExpertLoads> expert_loads;  // nothing: no loads are told

  bool traffic_of_brief_plans = false;  // FigureEvaluator's plans have their traffic as well
};

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_DEPLOYMENT_H_
