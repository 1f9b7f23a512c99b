#include "checkpoint/work_list.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace shardplan {
namespace {

TEST(WorkListTest, EveryJobOnce) {
  for (const int threads : {-1, 0, 1, 2, 7, 1000}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{500}}) {
      std::vector<std::atomic<int>> calls(count);
      RunJobs(threads, count, [&](size_t job) { ++calls[job]; });
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(calls[i], 1) << threads << " " << i;
    }
  }
}

}  // namespace
}  // namespace shardplan
