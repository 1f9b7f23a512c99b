#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/tiny_drafts.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::DecoderNumbers;
using testing_support::With;

// The published draft for Qwen3-8B (z-lab/Qwen3-8B-DFlash-b16) stores neither embedding nor head:
// five layers of Qwen3, and a projection of five hidden states.
TEST(Dflash, ADraftOfQwen3With8B) {
  const ModelSpec spec = Build(
      With(DecoderNumbers("DFlashDraftModel", 4096, 12288, 5, 32, 8, 128, 151936, 40960),
           {{"block_size", 16}, {"dflash_config", {{"target_layer_ids", {1, 9, 17, 25, 33}}}}}));
  EXPECT_EQ(spec.arch.family, "dflash");
  int64_t parameters = 0, tensors = 0;
  for (const ModuleRow& row : spec.table.rows) {
    if (!row.stored || row.optional) continue;
    for (const StoredTensor& tensor : StoredTensors(row)) {
      parameters += tensor.parameters * row.Count();
      tensors += row.Count();
    }
  }
  const int64_t h = 4096;
  const int64_t layer = (32 + 8 + 8) * 128 * h + h * h + 3 * 12288 * h + 2 * h + 2 * 128;
  EXPECT_EQ(parameters, 5 * layer + 5 * h * h + 2 * h);
  EXPECT_EQ(tensors, 5 * 11 + 3);
}

}  // namespace
}  // namespace shardplan
