#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/launch_files.h"

namespace shardplan::cli {
namespace {

using testing::HasSubstr;
using testing_support::LaunchFiles;
using testing_support::TextOf;

TEST(LaunchSlurmTest, WritesAJob) {
  const Bundle files = LaunchFiles(
      "slurm tiny-dense/config.json --gpu h20-96 --gpus-per-node 1 --pp 2 --slurm-partition gpu "
      "--slurm-account team --slurm-qos high --slurm-time 1:00:00 --name t");
  const std::string job = TextOf(files, "job.sbatch");
  for (const char* line : {"--job-name=t", "--nodes=2", "--partition=gpu", "--account=team",
                           "--qos=high", "--time=1:00:00", "--gres=gpu:1"}) {
    EXPECT_THAT(job, HasSubstr(std::string("\n#SBATCH ") + line + "\n"));
  }
  EXPECT_THAT(TextOf(files, "README.md"), HasSubstr("`sbatch job.sbatch`"));
}

}  // namespace
}  // namespace shardplan::cli
