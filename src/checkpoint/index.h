// A model.safetensors.index.json, as text in memory.
#ifndef SHARDPLAN_CHECKPOINT_INDEX_H_
#define SHARDPLAN_CHECKPOINT_INDEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/padded_text.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/tensor_name.h"

namespace shardplan {

struct IndexEntry {
  NameIndices indices = kNoIndices;
  uint32_t pattern = 0;  // into ParsedIndex::patterns
  uint32_t shard = 0;    // into ParsedIndex::shard_names
};

struct ParsedIndex {
  std::vector<std::string> patterns;
  std::vector<std::string> shard_names;  // in order of first appearance, each once
  std::vector<IndexEntry> entries;       // in the order of the file
  std::optional<int64_t> total_size;
  // What stands there when it is not a natural number: its text, or empty when there is none.
  std::string bad_total_size;
};

// Parses and checks an index by itself: an object with a weight_map from tensor names to plain file
// names, no tensor twice. `path` is for the errors. Fails with kInvalidInput.
Result<ParsedIndex> ParseIndex(const std::string& path, const PaddedText& text);

// True when `name` is a file in the model directory itself: no slash, no NUL, not "" or "..".
bool IsPlainFileName(std::string_view name);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_INDEX_H_
