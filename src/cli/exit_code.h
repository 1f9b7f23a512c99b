// Every exit code of the program.
#ifndef SHARDPLAN_CLI_EXIT_CODE_H_
#define SHARDPLAN_CLI_EXIT_CODE_H_

#include "shardplan/base/result.h"

namespace shardplan::cli {

enum ExitCode : int {
  kExitYes = 0,        // fits, clean, done
  kExitNo = 1,         // answered no: does not fit, illegal layout
  kExitUsage = 2,      // the request is malformed
  kExitInput = 3,      // a file is corrupt or contradictory, or not modelled
  kExitIo = 4,         // the system refused to read or write
  kExitInternal = 70,  // our own mistake
};

constexpr ExitCode ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return kExitUsage;
    case ErrorCode::kInvalidInput:
    case ErrorCode::kUnsupported:
      return kExitInput;
    case ErrorCode::kIo:
      return kExitIo;
    case ErrorCode::kInternal:
      return kExitInternal;
  }
  return kExitInternal;
}

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_EXIT_CODE_H_
