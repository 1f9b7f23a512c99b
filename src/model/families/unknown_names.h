// What a tensor's name says of it, in an architecture that no family covers.
#ifndef SHARDPLAN_MODEL_FAMILIES_UNKNOWN_NAMES_H_
#define SHARDPLAN_MODEL_FAMILIES_UNKNOWN_NAMES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan::families {

// What a number in a name counts: decoder layers below layers, h, blocks, …; routed experts below
// experts; anything else (blocks of a tower, items of a list) is a block.
enum class Hole { kLayer, kExpert, kBlock };

struct NameParts {
  std::vector<std::string> segments;  // of the pattern, as they are; "{}" for a number
  std::vector<Hole> holes;            // of its numbers, in order
  std::string stack;                  // what stands before the layer's number, dot included

  // In lower case, without numbers: the modules from the stack on (or from the start) to the one
  // that owns the tensor, and which of its tensors it is ("weight", "scales"; empty: the name has
  // no such ending).
  std::vector<std::string> path;
  std::string suffix;

  bool tower = false;      // vision or audio
  bool projector = false;  // between a tower and the decoder
  bool draft = false;      // multi-token prediction
  bool routed = false;     // of routed experts
  bool shared = false;     // of shared experts

  const std::string& module() const { return path.back(); }
  bool InModule(std::initializer_list<std::string_view> names) const;  // any owner is one of them
  bool HasLayer() const { return !stack.empty(); }

  // "model.layers.{L}.mlp.experts.{E}.w1.weight"; `fixed` numbers stand for all holes but layers.
  std::string Name(const std::vector<int64_t>* fixed = nullptr) const;
  // The layers of this name are not the model's: their number counts blocks.
  void LayersAreBlocks();
};

// Reads a pattern of Inventory::patterns; nothing for names that a table could not spell (they hold
// braces or numbers with leading zeros).
std::optional<NameParts> ReadName(std::string_view pattern);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_UNKNOWN_NAMES_H_
