#include "model/families/qwen_vision.h"

namespace shardplan::families {
namespace {

// A layer norm or a convolution: weight and bias, replicated.
void AddBiased(TableBuilder& t, const std::string& name, Role role, Shape weight, int64_t blocks) {
  const int64_t out = weight.dims[0];
  t.Tensor("model." + name + ".weight", name + ".weight", role, Split::kReplicated,
           std::move(weight))
      .blocks = blocks;
  t.Tensor("model." + name + ".bias", name + ".bias", role, Split::kReplicated, Shape{out}).blocks =
      blocks;
}

void AddProjection(TableBuilder& t, const std::string& name, Role role, Split split, int64_t out,
                   int64_t in, int64_t blocks) {
  ModuleRow& row = t.Linear("model." + name, name, role, split, out, in);
  row.bias = true;
  row.blocks = blocks;
}

// Four patches become one token: after the last block, and after some in between (deepstack), which
// norm the group instead of the patch.
void AddMerger(TableBuilder& t, const std::string& name, const QwenVision& v, const Architecture& a,
               int64_t norm, int64_t blocks) {
  AddBiased(t, name + ".norm", Role::kProjector, Shape{norm}, blocks);
  AddProjection(t, name + ".linear_fc1", Role::kProjector, Split::kVisionColumn, v.merged, v.merged,
                blocks);
  AddProjection(t, name + ".linear_fc2", Role::kProjector, Split::kVisionRow, a.hidden, v.merged,
                blocks);
}

}  // namespace

TowerNames QwenTowerNames() {
  return {"model.language_model.", "language_model.model.", "", "language_model."};
}

QwenVision ReadQwenVision(ConfigReader& vision, Architecture* a) {
  QwenVision v;
  VisionShape& shape = a->vision;
  shape.present = true;
  shape.hidden = vision.Dim("hidden_size");
  shape.intermediate = vision.Dim("intermediate_size");
  shape.heads = vision.Dim("num_heads");
  shape.blocks = vision.Int("depth", 1, kMaxLayers);
  shape.heads_must_divide = true;
  const int64_t merge = vision.IntOr("spatial_merge_size", 1, 64, 2);
  shape.patches_per_token = merge * merge;
  // The processors' largest image; vllm/model_executor/models/qwen3_vl.py (d29f7f5c).
  shape.item_tokens = 16384;
  if (vision.Has("deepstack_visual_indexes")) {
    const auto levels = vision.IntList("deepstack_visual_indexes", 0, shape.blocks - 1);
    shape.deepstack_levels = static_cast<int64_t>(levels.size());
  }
  if (vision.ok() && shape.hidden % shape.heads != 0) {
    vision.Contradiction("num_heads", "does not divide hidden_size");
  }
  if (vision.Int("out_hidden_size", 1, int64_t{1} << 24) != a->hidden) {
    vision.Contradiction("out_hidden_size", "expected the hidden_size of the text tower");
  }
  // Half of a head turns with the row of a patch, half with its column.
  shape.rotary_dim = vision.ok() ? shape.hidden / shape.heads / 2 : 0;
  v.channels = vision.IntOr("in_channels", 1, 1024, 3);
  v.temporal_patch = vision.IntOr("temporal_patch_size", 1, 1024, 2);
  v.patch = vision.Int("patch_size", 1, 1024);
  v.positions = vision.Dim("num_position_embeddings");
  v.merged = shape.hidden * shape.patches_per_token;
  return v;
}

void AddQwenVision(TableBuilder& t, const QwenVision& v, const Architecture& a) {
  const int64_t hidden = a.vision.hidden;
  const int64_t blocks = a.vision.blocks;
  constexpr Role kRole = Role::kVision;
  t.At(Placement::kEveryStage);
  // Order: vllm/model_executor/models/qwen3_vl.py (d29f7f5c).
  AddBiased(t, "visual.patch_embed.proj", kRole,
            Shape{hidden, v.channels, v.temporal_patch, v.patch, v.patch}, 0);
  t.Tensor("model.visual.pos_embed.weight", "visual.pos_embed.weight", kRole, Split::kReplicated,
           Shape{v.positions, hidden});
  AddMerger(t, "visual.merger", v, a, hidden, 0);
  if (a.vision.deepstack_levels > 0) {
    AddMerger(t, "visual.deepstack_merger_list.{B}", v, a, v.merged, a.vision.deepstack_levels);
  }
  const std::string block = "visual.blocks.{B}.";
  AddBiased(t, block + "norm1", kRole, Shape{hidden}, blocks);
  AddBiased(t, block + "norm2", kRole, Shape{hidden}, blocks);
  AddProjection(t, block + "attn.qkv", kRole, Split::kVisionColumn, 3 * hidden, hidden, blocks);
  AddProjection(t, block + "attn.proj", kRole, Split::kVisionRow, hidden, hidden, blocks);
  AddProjection(t, block + "mlp.linear_fc1", kRole, Split::kVisionColumn, a.vision.intermediate,
                hidden, blocks);
  AddProjection(t, block + "mlp.linear_fc2", kRole, Split::kVisionRow, hidden,
                a.vision.intermediate, blocks);
}

}  // namespace shardplan::families
