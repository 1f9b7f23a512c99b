#include "shardplan/report/standin.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(StandInReportTest, SaysWhatAndWhereAndWhatNext) {
  const StandInReport report = {96, 497'220, Bytes(1'560'860'324'864), Bytes(1'560'936'091'448)};
  EXPECT_EQ(RenderStandInReport(report, "/tmp/my k3"),
            "Stand-in checkpoint in /tmp/my k3\n"
            "  shards         96\n"
            "  tensors        497,220\n"
            "  apparent size  1,560,936,091,448 B = 1,453.735 GiB, of which 72.3 MiB are headers\n"
            "  payload        holes: reads as zeros, takes no room on disk\n"
            "Plan it: shardplan plan '/tmp/my k3' --gpu ID --tp N\n");
}

}  // namespace
}  // namespace shardplan
