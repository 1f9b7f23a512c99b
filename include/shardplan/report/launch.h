// What `shardplan launch` says about the files it made.
#ifndef SHARDPLAN_REPORT_LAUNCH_H_
#define SHARDPLAN_REPORT_LAUNCH_H_

#include <string>

#include "shardplan/launch/bundle.h"
#include "shardplan/plan/plan.h"
#include "shardplan/report/format.h"

namespace shardplan {

// The verdict as one line, without a newline: "does not fit: kv_cache on rank 0 is short by …".
std::string VerdictLine(const Plan& plan);

// The files themselves, for reading before writing: RenderBundle, or a document with their texts.
std::string RenderLaunch(const std::string& target, const Bundle& bundle, Format format);

// The list of files that were written below `directory`, with their sizes.
std::string RenderLaunchReport(const std::string& target, const Bundle& bundle,
                               const std::string& directory, Format format);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_LAUNCH_H_
