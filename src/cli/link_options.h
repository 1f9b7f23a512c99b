// Options about links, and about what runs over them.
#ifndef SHARDPLAN_CLI_LINK_OPTIONS_H_
#define SHARDPLAN_CLI_LINK_OPTIONS_H_

#include "cli/option_set.h"
#include "shardplan/plan/deployment.h"

namespace shardplan::cli {

// --network-gbps, --disk-gb-per-s, --shared-fs-gb-per-s and --expert-load. Rates must be above
// zero and at most a million.
void AddLinkOptions(OptionSet* options, Deployment* out);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_LINK_OPTIONS_H_
