// Values or errors.
#ifndef SHARDPLAN_BASE_RESULT_H_
#define SHARDPLAN_BASE_RESULT_H_

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace shardplan {

// What kind of failure it is; each maps to one exit code (cli/exit_code.h).
enum class ErrorCode {
  kUsage,         // exit 2: the request itself is malformed
  kInvalidInput,  // exit 3: a file or value is corrupt or contradictory
  kUnsupported,   // exit 3: well formed, but outside what this version models
  kIo,            // exit 4: the system refused to read or write
  kInternal,      // exit 70: our own mistake
};

// An expected failure. Printed as one line: "<subject>: <message>; <hint>". `message` says what was
// expected and what was found, `hint` what to do; the hint may be empty. No trailing full stop.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string subject;
  std::string message;
  std::string hint;

  std::string ToString() const {
    std::string out = subject.empty() ? message : subject + ": " + message;
    if (!hint.empty()) out += "; " + hint;
    return out;
  }
};

template <typename T>
using Result = tl::expected<T, Error>;

using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string subject, std::string message,
                                  std::string hint = "") {
  return tl::unexpected<Error>(
      Error{code, std::move(subject), std::move(message), std::move(hint)});
}

// Returns the error of `expr` from the enclosing function.
#define SHARDPLAN_RETURN_IF_ERROR(expr)                           \
  do {                                                            \
    if (auto shardplan_status = (expr); !shardplan_status) {      \
      return tl::unexpected(std::move(shardplan_status).error()); \
    }                                                             \
  } while (false)

#define SHARDPLAN_CONCAT_INNER(a, b) a##b
#define SHARDPLAN_CONCAT(a, b) SHARDPLAN_CONCAT_INNER(a, b)

// SHARDPLAN_ASSIGN_OR_RETURN(auto x, F()): x is the value of F(), or its error is returned.
#define SHARDPLAN_ASSIGN_OR_RETURN(lhs, expr) \
  SHARDPLAN_ASSIGN_OR_RETURN_INNER(SHARDPLAN_CONCAT(shardplan_result_, __LINE__), lhs, expr)
#define SHARDPLAN_ASSIGN_OR_RETURN_INNER(result, lhs, expr)      \
  auto result = (expr);                                          \
  if (!result) return tl::unexpected(std::move(result).error()); \
  lhs = std::move(result).value()

}  // namespace shardplan

#endif  // SHARDPLAN_BASE_RESULT_H_
