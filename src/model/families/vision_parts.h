// The vision towers that several publishers share, built by vLLM on every pipeline stage.
#ifndef SHARDPLAN_MODEL_FAMILIES_VISION_PARTS_H_
#define SHARDPLAN_MODEL_FAMILIES_VISION_PARTS_H_

#include <cstdint>
#include <string>

#include "model/families/families.h"

namespace shardplan::families {

// The tower's sizes in the keys that all of these configs use. `patches_per_token` stays one.
VisionShape ReadVision(ConfigReader& vision);

// Rows of a tower, below names that the file and the engine share, or that begin with `file` in the
// one and `engine` in the other.
class TowerRows {
 public:
  TowerRows(TableBuilder& t, std::string file, std::string engine)
      : t_(t), file_(std::move(file)), engine_(std::move(engine)) {}
  TowerRows(TableBuilder& t, const std::string& name) : TowerRows(t, name, name) {}

  // Later rows repeat over this many blocks; their names have a {B}.
  TowerRows& Blocks(int64_t blocks);
  TowerRows& As(Role role);
  // Whether the engine creates later linears with the model's quantization; it doesn't at first.
  TowerRows& Quantizable(bool quantizable);

  // `param` is "name" unless given.
  ModuleRow& Linear(const std::string& name, Split split, int64_t out, int64_t in, bool bias,
                    const std::string& param = "");
  ModuleRow& Tensor(const std::string& name, Split split, Shape shape);
  // A norm's weight and, where it has one, its bias.
  void Norm(const std::string& name, int64_t width, bool bias);

 private:
  TableBuilder& t_;
  std::string file_;
  std::string engine_;
  int64_t blocks_ = 0;
  bool quantizable_ = false;
  Role role_ = Role::kVision;
};

// SigLIP (vllm/model_executor/models/siglip.py, d29f7f5c) below `name`, without a pooling head.
void AddSiglip(TableBuilder& t, ConfigReader& vision, const VisionShape& shape,
               const std::string& name);

// Pixtral in transformers' names (models/pixtral.py:PixtralHFVisionModel, d29f7f5c).
void AddPixtral(TableBuilder& t, ConfigReader& vision, const VisionShape& shape,
                const std::string& name);

// Llama-4's tower with its adapter (models/mllama4.py:Llama4VisionModel, d29f7f5c).
void AddLlama4Vision(TableBuilder& t, ConfigReader& vision, const VisionShape& shape,
                     const std::string& name);

// Gemma-4's tower, which vLLM takes from transformers and keeps whole on every rank
// (models/gemma4_mm.py, d29f7f5c).
void AddGemma4Vision(TableBuilder& t, ConfigReader& vision, const VisionShape& shape,
                     const std::string& file, const std::string& engine);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_VISION_PARTS_H_
