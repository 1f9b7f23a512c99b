#include "shardplan/report/plan_table.h"

#include <algorithm>
#include <array>

#include "report/sections.h"

namespace shardplan {

std::string RenderPlanTable(const Plan& plan, const TableOptions& options) {
  constexpr int kNarrowest = 40;
  const auto width = static_cast<size_t>(std::max(options.width, kNarrowest));
  const std::array sections = {
      TitleSection(plan, width),
      GlanceSection(plan, width),
      CheckpointSection(plan, width),
      RankSection(plan, width),
      options.verbose ? SourcesSection(plan, width) : std::string(),
      StaticMemorySection(plan, width),
      CacheSection(plan, width),
      ActivationSection(plan, width),
      WindowSection(plan, width),
      TrafficSection(plan, width, options.verbose),
      ExpertLoadSection(plan, width),
      StartupLogSection(plan),
      HostSection(plan, width),
      FilesSection(plan, width, options.verbose),
      LoadingSection(plan, width),
      DefaultsSection(plan, width),
      FindingsSection(plan, width),
      LaunchSection(plan, options.verbose),
      VerdictSection(plan, width, options.color),
  };
  std::string out;
  for (const std::string& section : sections) {
    if (section.empty()) continue;
    if (!out.empty()) out += '\n';
    out += section;
  }
  return out;
}

}  // namespace shardplan
