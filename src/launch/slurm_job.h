// A job for Slurm.
#ifndef SHARDPLAN_LAUNCH_SLURM_JOB_H_
#define SHARDPLAN_LAUNCH_SLURM_JOB_H_

#include <string>

#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan {

// Words of #SBATCH lines; empty: left to the cluster's defaults.
struct SlurmOptions {
  std::string partition;
  std::string account;
  std::string qos;
  std::string time;  // "2-00:00:00"
};

// job.sbatch, which takes whole nodes and starts one task on each, node.sh, which a task runs, and
// the scripts of MakeNodeScripts. Node 0's address is the first host of the job. Fails as
// PrepareLaunch does, and with kUsage for an option that no #SBATCH line can hold.
Result<Bundle> MakeSlurmJob(const LaunchInput& input, const SlurmOptions& options);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_SLURM_JOB_H_
