#include "checkpoint/work_list.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace shardplan {

void RunJobs(int threads, size_t count, const std::function<void(size_t)>& job) {
  constexpr size_t kMostThreads = 64;
  const size_t wanted = std::clamp<size_t>(threads > 0 ? static_cast<size_t>(threads) : 1, 1,
                                           std::clamp<size_t>(count, 1, kMostThreads));
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) job(i);
  };
  std::vector<std::thread> helpers;
  helpers.reserve(wanted);
  try {
    while (helpers.size() + 1 < wanted) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had; those that run share the list.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace shardplan
