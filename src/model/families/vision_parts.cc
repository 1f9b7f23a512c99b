#include "model/families/vision_parts.h"

#include <utility>

#include "model/families/decoder_parts.h"

namespace shardplan::families {

VisionShape ReadVision(ConfigReader& vision) {
  VisionShape shape;
  shape.present = true;
  shape.hidden = vision.Dim("hidden_size");
  shape.intermediate = vision.Dim("intermediate_size");
  shape.heads = vision.Dim("num_attention_heads");
  shape.blocks = vision.Int("num_hidden_layers", 1, kMaxLayers);
  if (vision.ok() && shape.hidden % shape.heads != 0) {
    vision.Contradiction("num_attention_heads", "does not divide hidden_size");
  }
  return shape;
}

TowerRows& TowerRows::Blocks(int64_t blocks) {
  blocks_ = blocks;
  return *this;
}

TowerRows& TowerRows::As(Role role) {
  role_ = role;
  return *this;
}

TowerRows& TowerRows::Quantizable(bool quantizable) {
  quantizable_ = quantizable;
  return *this;
}

ModuleRow& TowerRows::Linear(const std::string& name, Split split, int64_t out, int64_t in,
                             bool bias, const std::string& param) {
  ModuleRow& row =
      t_.Linear(file_ + name, engine_ + (param.empty() ? name : param), role_, split, out, in);
  row.blocks = blocks_;
  row.bias = bias;
  row.quantizable = quantizable_;
  return row;
}

ModuleRow& TowerRows::Tensor(const std::string& name, Split split, Shape shape) {
  ModuleRow& row = t_.Tensor(file_ + name, engine_ + name, role_, split, std::move(shape));
  row.blocks = blocks_;
  return row;
}

void TowerRows::Norm(const std::string& name, int64_t width, bool bias) {
  Tensor(name + ".weight", Split::kReplicated, Shape{width});
  if (bias) Tensor(name + ".bias", Split::kReplicated, Shape{width});
}

namespace {

// SigLIP's MLPs and Gemma-4's whole tower are quantized where the kernels take their sizes.
bool InSixtyFours(const VisionShape& shape) {
  return shape.hidden % 64 == 0 && shape.intermediate % 64 == 0;
}

// q, k and v of one block, fused into a qkv_proj, each as wide as the tower.
void AddQkv(TowerRows& rows, const std::string& attention, int64_t hidden, bool bias) {
  for (const char* x : {"q", "k", "v"}) {
    rows.Linear(attention + x + "_proj", Split::kVisionColumn, hidden, hidden, bias,
                attention + "qkv_proj");
  }
}

}  // namespace

void AddSiglip(TableBuilder& t, ConfigReader& vision, const VisionShape& shape,
               const std::string& name) {
  const int64_t hidden = shape.hidden;
  const int64_t patch = vision.Dim("patch_size");
  const int64_t side = patch > 0 ? vision.Dim("image_size") / patch : 0;
  TowerRows rows(t, name);
  const std::string embed = "embeddings.";
  rows.Tensor(embed + "patch_embedding.weight", Split::kReplicated, Shape{hidden, 3, patch, patch});
  rows.Tensor(embed + "patch_embedding.bias", Split::kReplicated, Shape{hidden});
  // A vocabulary-parallel embedding, though it holds positions.
  rows.Tensor(embed + "position_embedding.weight", Split::kVocabulary, Shape{side * side, hidden});
  rows.Blocks(shape.blocks);
  const std::string block = "encoder.layers.{B}.";
  rows.Quantizable(true);
  AddQkv(rows, block + "self_attn.", hidden, true);
  rows.Linear(block + "self_attn.out_proj", Split::kVisionRow, hidden, hidden, true);
  rows.Norm(block + "layer_norm1", hidden, true);
  rows.Quantizable(InSixtyFours(shape));
  rows.Linear(block + "mlp.fc1", Split::kVisionColumn, shape.intermediate, hidden, true);
  rows.Linear(block + "mlp.fc2", Split::kVisionRow, hidden, shape.intermediate, true);
  rows.Norm(block + "layer_norm2", hidden, true);
  rows.Blocks(0).Norm("post_layernorm", hidden, true);
}

void AddPixtral(TableBuilder& t, ConfigReader& vision, const VisionShape& shape,
                const std::string& name) {
  const int64_t hidden = shape.hidden;
  const int64_t patch = vision.Dim("patch_size");
  TowerRows rows(t, name);
  rows.Tensor("patch_conv.weight", Split::kReplicated, Shape{hidden, 3, patch, patch});
  rows.Norm("ln_pre", hidden, false);
  rows.Blocks(shape.blocks).Quantizable(true);
  const std::string block = "transformer.layers.{B}.";
  rows.Norm(block + "attention_norm", hidden, false);
  AddQkv(rows, block + "attention.", hidden, false);
  rows.Linear(block + "attention.o_proj", Split::kVisionRow, hidden, hidden, false);
  for (const char* x : {"gate_proj", "up_proj"}) {
    rows.Linear(block + "feed_forward." + x, Split::kVisionColumn, shape.intermediate, hidden,
                false, block + "feed_forward.gate_up_proj");
  }
  rows.Linear(block + "feed_forward.down_proj", Split::kVisionRow, hidden, shape.intermediate,
              false);
  rows.Norm(block + "ffn_norm", hidden, false);
}

void AddLlama4Vision(TableBuilder& t, ConfigReader& vision, const VisionShape& shape,
                     const std::string& name) {
  const int64_t hidden = shape.hidden;
  const int64_t patch = vision.Dim("patch_size");
  const int64_t side = patch > 0 ? vision.Dim("image_size") / patch : 0;
  const int64_t adapter_in = vision.Dim("projector_input_dim");
  const int64_t adapter_out = vision.Dim("projector_output_dim");
  const bool adapter_bias = vision.BoolOr("multi_modal_projector_bias", false);
  TowerRows rows(t, name);
  rows.Tensor("class_embedding", Split::kReplicated, Shape{hidden});
  rows.Tensor("positional_embedding_vlm", Split::kReplicated, Shape{side * side + 1, hidden});
  rows.Linear("patch_embedding.linear", Split::kVisionColumn, hidden, 3 * patch * patch, false);
  rows.Norm("layernorm_pre", hidden, true);
  rows.Norm("layernorm_post", hidden, true);
  rows.Blocks(shape.blocks);
  const std::string block = "model.layers.{B}.";
  AddQkv(rows, block + "self_attn.", hidden, true);
  rows.Linear(block + "self_attn.o_proj", Split::kVisionRow, hidden, hidden, true);
  rows.Linear(block + "mlp.fc1", Split::kVisionColumn, shape.intermediate, hidden, true);
  rows.Linear(block + "mlp.fc2", Split::kVisionRow, hidden, shape.intermediate, true);
  rows.Norm(block + "input_layernorm", hidden, true);
  rows.Norm(block + "post_attention_layernorm", hidden, true);
  rows.Blocks(0);
  // The pixel shuffle has folded patches into channels: the adapter sees as many as an MLP has.
  rows.Linear("vision_adapter.mlp.fc1", Split::kVisionColumn, adapter_in, shape.intermediate,
              adapter_bias);
  rows.Linear("vision_adapter.mlp.fc2", Split::kVisionRow, adapter_out, adapter_in, adapter_bias);
}

void AddGemma4Vision(TableBuilder& t, ConfigReader& vision, const VisionShape& shape,
                     const std::string& file, const std::string& engine) {
  const int64_t hidden = shape.hidden;
  const int64_t head = vision.DimOr("head_dim", hidden / std::max<int64_t>(shape.heads, 1));
  const int64_t kv_heads = vision.DimOr("num_key_value_heads", shape.heads);
  const int64_t patch = vision.Dim("patch_size");
  constexpr Split kWhole = Split::kReplicated;
  TowerRows rows(t, file, engine);
  rows.Quantizable(InSixtyFours(shape));
  rows.Tensor("patch_embedder.position_embedding_table", kWhole,
              Shape{2, vision.Dim("position_embedding_size"), hidden});
  rows.Linear("patch_embedder.input_proj", kWhole, hidden, 3 * patch * patch, false);
  rows.Blocks(shape.blocks);
  const std::string block = "encoder.layers.{B}.";
  const auto linear = [&](const std::string& name, int64_t out, int64_t in) {
    rows.Linear(block + name + ".linear", kWhole, out, in, false);
  };
  linear("self_attn.q_proj", shape.heads * head, hidden);
  linear("self_attn.k_proj", kv_heads * head, hidden);
  linear("self_attn.v_proj", kv_heads * head, hidden);
  linear("self_attn.o_proj", hidden, shape.heads * head);
  for (const char* norm : {"q_norm", "k_norm"}) {
    rows.Norm(block + "self_attn." + norm, head, false);
  }
  linear("mlp.gate_proj", shape.intermediate, hidden);
  linear("mlp.up_proj", shape.intermediate, hidden);
  linear("mlp.down_proj", hidden, shape.intermediate);
  for (const char* norm : {"input_layernorm", "post_attention_layernorm",
                           "pre_feedforward_layernorm", "post_feedforward_layernorm"}) {
    rows.Norm(block + norm, hidden, false);
  }
  rows.Blocks(0);
  if (!vision.BoolOr("standardize", false)) return;
  for (const char* buffer : {"std_bias", "std_scale"}) {
    rows.Tensor(buffer, kWhole, Shape{hidden});
  }
}

}  // namespace shardplan::families
