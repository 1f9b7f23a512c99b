// What the tool knows, listed.
#ifndef SHARDPLAN_REPORT_CATALOG_H_
#define SHARDPLAN_REPORT_CATALOG_H_

#include <string>
#include <vector>

#include "shardplan/hardware/cluster.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/model/family.h"
#include "shardplan/plan/known_issues.h"
#include "shardplan/report/format.h"

namespace shardplan {

// An engine version with rules, and how many of them are known how.
struct EngineListing {
  std::string name;         // "vllm"
  std::string version;      // "0.31.0"
  bool newest = false;      // what a plain name means
  int64_t from_source = 0;  // read in the engine's source or release notes
  int64_t from_logs = 0;    // seen in public start-up logs
  int64_t assumed = 0;
};

// Each lists its entries in the given order. Documents are {"schema_version": 1, "<kind>": […]}
// with sizes in bytes; they carry every source, tables leave them out.
std::string RenderGpus(const std::vector<GpuSpec>& gpus, Format format, int width = 100);
std::string RenderNodes(const std::vector<NodeSpec>& nodes, Format format, int width = 100);
std::string RenderEngines(const std::vector<EngineListing>& engines, Format format,
                          int width = 100);
std::string RenderIssues(const std::vector<KnownIssue>& issues, Format format, int width = 100);
std::string RenderFamilies(const std::vector<FamilyInfo>& families, Format format, int width = 100);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_CATALOG_H_
