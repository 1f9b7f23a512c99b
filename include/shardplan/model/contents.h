// What a checkpoint holds, summed up: by kind of tensor and by layer.
#ifndef SHARDPLAN_MODEL_CONTENTS_H_
#define SHARDPLAN_MODEL_CONTENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/bytes.h"
#include "shardplan/model/architecture.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan {

struct Amount {
  int64_t tensors = 0;
  int64_t parameters = 0;  // logical weights: packed values counted singly, scales not at all
  int64_t elements = 0;    // stored ones, scales included
  Bytes bytes;

  Amount& operator+=(const Amount& other);
  friend Amount operator+(Amount a, const Amount& b) { return a += b; }
  friend bool operator==(const Amount&, const Amount&) = default;
};

// Tensors that are alike: of one module of the table (or one pattern, where no row explains them),
// of one dtype and shape.
struct TensorGroup {
  std::string name;          // "model.layers.{L}.mlp.gate.weight"; "{}" where no row explains it
  std::optional<Role> role;  // nothing: no row of the family explains these
  Placement placement = Placement::kNotLoaded;
  DType dtype = DType::kBF16;  // the file's
  Shape shape;                 // of one tensor
  int64_t experts = 0;         // of the module's row; 0: no routed experts
  Amount amount;               // of all of them
};

// One layer: everything that the table ties to its number, leftovers apart.
struct LayerContents {
  int64_t layer = 0;
  std::vector<Role> roles;  // that its rows have, sorted
  Amount amount;

  bool Has(Role role) const;
};

struct Contents {
  Basis basis = Basis::kDerived;      // kExact: names, dtypes and sizes are the headers'
  bool complete = true;               // false for one shard of several: it holds a part
  std::vector<TensorGroup> groups;    // in table order, what no row explains last
  std::vector<LayerContents> layers;  // sorted; draft layers follow the decoder's

  Amount Totals() const;
};

// What the family's rules imply, optional rows included. Throws SizeOverflow.
Contents ContentsOf(const TensorTable& table);

// Parameters that one text token passes through: all but the routed experts, and of those top_k of
// all; the embedding counts in full, once where it is tied. Towers, projectors, draft layers,
// leftovers and unexplained tensors have no part in it. Nothing where the contents are a part.
std::optional<int64_t> ActiveParameters(const Architecture& arch, const Contents& contents);

// "full", "mla", "kda", "sliding", …
std::string_view ToString(AttentionKind kind);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_CONTENTS_H_
