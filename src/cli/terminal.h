// stdout, stderr and who is reading them.
#ifndef SHARDPLAN_CLI_TERMINAL_H_
#define SHARDPLAN_CLI_TERMINAL_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "shardplan/base/result.h"

namespace shardplan::cli {

// Call first: a reader that goes away ends in a failed write, not in a signal, and standard
// descriptors that the caller closed are /dev/null, so that no file opened later takes their place.
void PrepareStreams();

// Writes all of `text` to standard output. A reader that has gone away (`| head -1`) is no error;
// anything else is kIo, a standard output that was closed from the start included.
Status WriteStdout(std::string_view text);

// "shardplan: error: <message>" on stderr, one line whatever the message holds.
void PrintError(std::string_view message);

// As it is, on stderr.
void PrintNote(std::string_view text);

// Colours: on a terminal that has any, unless NO_COLOR is set.
bool StdoutWantsColor();

// Tells someone who waits at a terminal for more than a second what is going on. Nothing is printed
// before, or where stderr is no terminal.
class ProgressNote {
 public:
  explicit ProgressNote(std::string text);
  ~ProgressNote();
  ProgressNote(const ProgressNote&) = delete;
  ProgressNote& operator=(const ProgressNote&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_TERMINAL_H_
