#include "cli/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "shardplan/base/file.h"

namespace shardplan::cli {
namespace {

// Whether the caller closed standard output before the program began.
bool stdout_was_closed = false;

// The error of the write that failed, or 0.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

}  // namespace

void PrepareStreams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (fd == STDOUT_FILENO) stdout_was_closed = true;
    // The lowest free number is this one, as those below are open by now.
    if (::open("/dev/null", O_RDWR) != fd) return;
  }
}

Status WriteStdout(std::string_view text) {
  if (stdout_was_closed) {
    return Fail(ErrorCode::kIo, "standard output", "is closed", "give it a reader, or -o FILE");
  }
  const int error = WriteAll(STDOUT_FILENO, text);
  if (error == 0 || error == EPIPE) return {};
  return Fail(ErrorCode::kIo, "standard output",
              "cannot write: " + std::generic_category().message(error));
}

void PrintError(std::string_view message) {
  constexpr size_t kLongest = 4000;
  PrintNote("shardplan: error: " + Printable(message, kLongest) + "\n");
}

void PrintNote(std::string_view text) {
  WriteAll(STDERR_FILENO, text);  // nobody is left to tell if this fails
}

bool StdoutWantsColor() {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

ProgressNote::ProgressNote(std::string text) {
  if (::isatty(STDERR_FILENO) != 1) return;
  thread_ = std::thread([this, text = std::move(text)] {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) {
      PrintNote("shardplan: " + Printable(text) + " …\n");
    }
  });
}

ProgressNote::~ProgressNote() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

}  // namespace shardplan::cli
