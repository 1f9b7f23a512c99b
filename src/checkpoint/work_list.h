// A few threads over a list of jobs.
#ifndef SHARDPLAN_CHECKPOINT_WORK_LIST_H_
#define SHARDPLAN_CHECKPOINT_WORK_LIST_H_

#include <cstddef>
#include <functional>

namespace shardplan {

// Calls job(0) … job(count - 1), each once, on up to `threads` threads (the caller's among them),
// lowest numbers first. `job` must not throw. Runs on fewer threads when the system gives no more.
void RunJobs(int threads, size_t count, const std::function<void(size_t)>& job);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_WORK_LIST_H_
