// Writing JSON by appending: half a million entries do not want a tree first.
#ifndef SHARDPLAN_CHECKPOINT_JSON_OUTPUT_H_
#define SHARDPLAN_CHECKPOINT_JSON_OUTPUT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace shardplan {

// Appends `text` with its quotes, escaping what JSON requires and nothing more. `text` must be
// UTF-8, which IsUtf8 tells.
void AppendJsonString(std::string_view text, std::string* out);

void AppendInteger(int64_t value, std::string* out);

bool IsUtf8(std::string_view text);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_JSON_OUTPUT_H_
