// A checkpoint with a meaning: every tensor tied to a row of its family's table.
#ifndef SHARDPLAN_MODEL_MODEL_H_
#define SHARDPLAN_MODEL_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/model/contents.h"
#include "shardplan/model/family.h"

namespace shardplan {

// What one shard holds, as far as stages care.
struct ShardUse {
  std::vector<int64_t> layers;  // decoder layers with tensors that are loaded; sorted
  bool first_stage = false;     // an embedding
  bool last_stage = false;      // final norm or head
  bool every_stage = false;     // what every stage builds, towers aside
  bool tower = false;           // vision tower or projector
  bool draft = false;           // multi-token-prediction layers
  bool outside_stack = false;   // any tensor that belongs to no decoder layer, loaded or not
};

struct Model {
  std::string source;  // the path as given
  Architecture arch;
  TensorTable table;
  TensorTotals totals;              // of the headers where they are, of the table otherwise
  Inventory inventory;              // without its tensor records: they have served their purpose
  Contents contents;                // the same in detail; of one shard alone where that was named
  std::vector<ShardUse> shard_use;  // one per shard; empty without headers
  std::vector<Finding> findings;

  // Of an architecture that no family covers: what the table and the cache rest on.
  std::optional<Guesses> guesses;

  // The quant_method that the config (or hf_quant_config.json) declares, as engines compare it with
  // their --quantization: "compressed-tensors"; empty where it declares none.
  std::string quant_method;

  // Another precision than the checkpoint's: nothing that could be launched.
  bool hypothetical = false;

  // kExact where every shape was read from a header, kDerived where the family made them up.
  Basis shape_basis = Basis::kDerived;
};

// Loads the checkpoint or config at `path` and ties it to its family. Besides what OpenCheckpoint
// and BuildModelSpec refuse, fails with kInvalidInput where config and headers contradict each
// other: a tensor that the config implies is missing or has another shape. An
// architecture that no family covers is planned from shard headers, with a warning
// (model.family_unknown). Tensors that no row explains are a warning (model.unknown_tensors) and
// are counted, not loaded; announced MTP layers that are not stored are a note (model.mtp_absent).
Result<Model> LoadModel(const std::string& path, const Assumptions& assumptions = {},
                        const OpenOptions& options = {});

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_MODEL_H_
