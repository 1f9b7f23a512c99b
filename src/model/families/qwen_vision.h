// What Qwen's multimodal checkpoints share: the names of their text tower, and the vision tower of
// Qwen3-VL, which Qwen3.5 took over.
#ifndef SHARDPLAN_MODEL_FAMILIES_QWEN_VISION_H_
#define SHARDPLAN_MODEL_FAMILIES_QWEN_VISION_H_

#include <cstdint>

#include "model/families/text_tower.h"

namespace shardplan::families {

// Below these stands the text tower in Qwen's multimodal checkpoints.
TowerNames QwenTowerNames();

// The sizes of a tower that Architecture has no need of.
struct QwenVision {
  int64_t channels = 0;
  int64_t temporal_patch = 0;
  int64_t patch = 0;
  int64_t positions = 0;  // rows of the learned position table
  int64_t merged = 0;     // width of a patch group before it becomes a token
};

// vision_config, into arch->vision. Its output must be as wide as the text.
QwenVision ReadQwenVision(ConfigReader& vision, Architecture* arch);

// The tower on every stage: patch embedding, mergers, blocks.
void AddQwenVision(TableBuilder& t, const QwenVision& v, const Architecture& arch);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_QWEN_VISION_H_
