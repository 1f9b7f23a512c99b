// The parts of a plan's table, in the order in which they are shown. Each returns whole lines, or
// nothing where the plan has nothing to say; none ends with an empty line.
#ifndef SHARDPLAN_REPORT_SECTIONS_H_
#define SHARDPLAN_REPORT_SECTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "shardplan/plan/plan.h"

namespace shardplan {

// summary_section.cc
// "Kimi-K3" of "/models/Kimi-K3/", "Kimi-K3/config.json" of "/models/Kimi-K3/config.json".
std::string ShortSource(const std::string& source);
// "TP8 × PP2 (48,45)", "DP4 × TP2 with expert parallel".
std::string DescribeLayout(const Plan& plan);
std::string TitleSection(const Plan& plan, size_t width);
std::string GlanceSection(const Plan& plan, size_t width);  // "Memory at a glance"
std::string CheckpointSection(const Plan& plan, size_t width);

// rank_section.cc
std::string RankSection(const Plan& plan, size_t width);     // the ledger, a column per stage
std::string SourcesSection(const Plan& plan, size_t width);  // where its numbers come from

// cache_section.cc
std::string CacheSection(const Plan& plan, size_t width);
std::string ActivationSection(const Plan& plan, size_t width);
std::string WindowSection(const Plan& plan, size_t width);

// static_memory.cc: of SGLang alone
std::string StaticMemorySection(const Plan& plan, size_t width);
std::string StartupLogSection(const Plan& plan);  // whole lines of SGLang's, of any length

// node_section.cc
std::string HostSection(const Plan& plan, size_t width);
std::string FilesSection(const Plan& plan, size_t width, bool verbose);
std::string LaunchSection(const Plan& plan, bool verbose);

// traffic_section.cc: nothing for one card
std::string TrafficSection(const Plan& plan, size_t width, bool verbose);

// loading_section.cc
std::string LoadingSection(const Plan& plan, size_t width);

// expert_load_section.cc
std::string ExpertLoadSection(const Plan& plan, size_t width);

// closing_section.cc
std::string DefaultsSection(const Plan& plan, size_t width);
std::string FindingsSection(const Plan& plan, size_t width);
std::string FindingsSection(const std::vector<Finding>& findings, size_t width);
// Ways out of a finding, one a line: the first behind "fix:", the others ("; or " in the text)
// behind "or:". Empty without any.
std::string FixLines(const std::string& fix, size_t limit, size_t width);
// The verdict as one line of any length: "fits: 9.251 GiB to spare on rank 0, the fullest; …".
std::string VerdictText(const Plan& plan);
std::string VerdictSection(const Plan& plan, size_t width, bool color);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_SECTIONS_H_
