// shardplan launch slurm.
#include <memory>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/launch_target.h"
#include "launch/slurm_job.h"

namespace shardplan::cli {

Command AddLaunchSlurm(CLI::App* group) {
  const auto options = std::make_shared<SlurmOptions>();
  LaunchTarget target;
  target.name = "slurm";
  target.description =
      "A batch job for Slurm, one task a node\n\n"
      "Examples:\n"
      "  shardplan launch slurm /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 --slurm-partition gpu "
      "\\\n"
      "    --socket-ifname bond0 --ib-hca mlx5_0 --ib-gid-index 3 -o deploy/";
  target.add_options = [options](OptionSet* set) {
    SlurmOptions* const out = options.get();
    set->Group("Slurm");
    set->Text("--slurm-partition", "NAME", "Partition of the job (default: the cluster's)",
              [out](std::string text) { out->partition = std::move(text); });
    set->Text("--slurm-account", "NAME", "Account that the job is charged to",
              [out](std::string text) { out->account = std::move(text); });
    set->Text("--slurm-qos", "NAME", "Quality of service",
              [out](std::string text) { out->qos = std::move(text); });
    set->Text("--slurm-time", "TIME", "Longest run: 2-00:00:00",
              [out](std::string text) { out->time = std::move(text); });
  };
  target.make = [options](const LaunchInput& input) { return MakeSlurmJob(input, *options); };
  target.finds_master = true;
  return AddLaunchTarget(group, std::move(target));
}

}  // namespace shardplan::cli
