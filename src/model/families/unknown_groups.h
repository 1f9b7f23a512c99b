// The records of an inventory, gathered by name.
#ifndef SHARDPLAN_MODEL_FAMILIES_UNKNOWN_GROUPS_H_
#define SHARDPLAN_MODEL_FAMILIES_UNKNOWN_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/families/unknown_names.h"
#include "shardplan/checkpoint/inventory.h"

namespace shardplan::families {

// Tensors of one pattern, dtype and shape: a row of a table to be.
struct UnknownGroup {
  size_t pattern = 0;  // into UnknownStack::names
  DType dtype = DType::kBF16;
  Shape shape;
  std::vector<int64_t> layers;  // empty outside the stack
  int64_t count = 0;            // experts or blocks, numbered from zero; 0: the name counts none
  std::vector<int64_t> fixed;   // the numbers of a group whose numbers have gaps
};

struct UnknownStack {
  std::vector<std::optional<NameParts>> names;  // one per pattern of the inventory
  std::string stack;                            // "model.layers."; empty: there is none
  int64_t layers = 0;                           // one above the highest number
  int64_t first_gap = -1;                       // a number below it that no tensor has
  int64_t experts = 0;  // the most routed experts that a layer numbers or stacks
  std::vector<UnknownGroup> groups;
  bool too_many = false;  // more groups than any model has; `groups` is then cut short
};

// Finds the stack with the most bytes and gathers all records. Throws SizeOverflow.
UnknownStack GatherTensors(const Inventory& headers);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_UNKNOWN_GROUPS_H_
