// Runs a command several times and prints the median wall time and the largest peak memory:
//   program_benchmark 11 build/default/bin/shardplan plan build/kimi-k3 --gpu h20-96 --tp 8 --pp 2
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct Run {
  double milliseconds = 0;
  double peak_mb = 0;  // decimal megabytes
  int status = 0;
};

Run RunOnce(char** command) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDOUT_FILENO);
    ::execvp(command[0], command);
    ::_exit(127);
  }
  Run run;
  rusage usage = {};
  ::wait4(child, &run.status, 0, &usage);
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
  run.milliseconds = wall.count();
  run.peak_mb = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 2 ? std::atoi(argv[1]) : 0;
  if (runs < 1) {
    std::fputs("usage: program_benchmark RUNS COMMAND [ARGUMENT…]\n", stderr);
    return 2;
  }
  std::vector<double> times;
  double peak = 0;
  for (int i = 0; i < runs; ++i) {
    const Run run = RunOnce(argv + 2);
    // One is an answer (does not fit); anything above is a failure that must not be timed.
    if (!WIFEXITED(run.status) || WEXITSTATUS(run.status) > 1) {
      std::fputs("program_benchmark: the command failed\n", stderr);
      return 1;
    }
    times.push_back(run.milliseconds);
    peak = std::max(peak, run.peak_mb);
  }
  std::sort(times.begin(), times.end());
  fmt::print("median {:.1f} ms (least {:.1f}, most {:.1f}) of {} runs, peak {:.1f} MB\n",
             times[times.size() / 2], times.front(), times.back(), runs, peak);
  return 0;
}
