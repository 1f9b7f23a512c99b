// What the readers of tools' outputs share. The texts may be cut, binary or made up.
#ifndef SHARDPLAN_HARDWARE_FACTS_FACT_TEXT_H_
#define SHARDPLAN_HARDWARE_FACTS_FACT_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"

namespace shardplan::facts {

constexpr size_t kMostCards = 64;  // of one server

// Lines without their ends and without terminal escapes ("\x1b[4m").
std::vector<std::string> LinesOf(std::string_view text);

std::string_view Trim(std::string_view text);

// Trimmed pieces between the separators.
std::vector<std::string> Split(std::string_view line, char separator);

// Words between spaces and tabs.
std::vector<std::string> Words(std::string_view line);

// A whole number of at most nine digits, and nothing else.
std::optional<int> ParseInt(std::string_view text);

// "143771 MiB" → bytes; KiB, kB (which the kernel means as KiB), MB and GB (numactl's are binary)
// as well, a bare number as `unit`. Nothing for "N/A" and the like.
std::optional<Bytes> ParseSize(std::string_view text, int64_t unit);

// "file:line: message; hint", kInvalidInput; `line` counts from zero.
tl::unexpected<Error> FailAt(const std::string& file, size_t line, std::string message,
                             std::string hint = "");

}  // namespace shardplan::facts

#endif  // SHARDPLAN_HARDWARE_FACTS_FACT_TEXT_H_
