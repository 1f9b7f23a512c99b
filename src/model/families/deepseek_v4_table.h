// The rows of DeepSeek-V4.
#ifndef SHARDPLAN_MODEL_FAMILIES_DEEPSEEK_V4_TABLE_H_
#define SHARDPLAN_MODEL_FAMILIES_DEEPSEEK_V4_TABLE_H_

#include <cstdint>

#include "model/families/families.h"

namespace shardplan::families {

// Layers whose entries stand for this many tokens have an indexer that chooses among them.
constexpr int64_t kIndexedRatio = 4;

// What is V4's alone.
struct V4Shape {
  int64_t o_rank = 0;  // of each group of output heads
  int64_t o_groups = 0;
  int64_t hash_layers = 0;  // the first layers route by token id
  QuantFormat linear;
  QuantFormat expert;
  QuantFormat draft_expert;  // of the MTP modules
};

// The table of the stack and, where the file has them, of `drafts` MTP modules.
void AddDeepseekV4(TensorTable* table, const Architecture& arch, const V4Shape& shape,
                   int64_t drafts);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_DEEPSEEK_V4_TABLE_H_
