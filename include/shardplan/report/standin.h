// What a stand-in checkpoint turned out to be.
#ifndef SHARDPLAN_REPORT_STANDIN_H_
#define SHARDPLAN_REPORT_STANDIN_H_

#include <string>

#include "shardplan/checkpoint/standin.h"

namespace shardplan {

// A few lines: what was written and where, and the command that plans it.
std::string RenderStandInReport(const StandInReport& report, const std::string& directory);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_STANDIN_H_
