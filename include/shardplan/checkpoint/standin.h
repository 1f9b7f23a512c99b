// Stand-in checkpoints: true headers, holes for payloads.
#ifndef SHARDPLAN_CHECKPOINT_STANDIN_H_
#define SHARDPLAN_CHECKPOINT_STANDIN_H_

#include <functional>
#include <string>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/dtype.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/checkpoint/shape.h"

namespace shardplan {

struct StandInTensor {
  std::string name;
  DType dtype = DType::kBF16;
  Shape shape = {};
};

// A shard's tensors in the order in which header and payload hold them.
struct StandInShard {
  std::string file_name;
  std::vector<StandInTensor> tensors;
};

// A file besides the shards (config.json, …): plain name and text.
struct StandInFile {
  std::string name;
  std::string text;
};

// What a directory is to hold. A model.safetensors.index.json is written whenever there is more
// than one shard or `always_index` is set.
struct StandInPlan {
  std::vector<StandInFile> files;
  // Called once per shard, in order, so that half a million names need not exist at once.
  size_t shard_count = 0;
  std::function<Result<StandInShard>(size_t)> shard;
  bool always_index = false;
};

struct StandInReport {
  int64_t shards = 0;
  int64_t tensors = 0;
  Bytes payload_bytes;  // apparent
  Bytes file_bytes;     // apparent, shards only
};

// Writes the checkpoint into `directory`, which must not exist or be empty: everything goes to a
// hidden sibling (".<name>.tmp-XXXXXX") first and is renamed in one step, so `directory` is never
// half there; the sibling is removed on failure (a killed run leaves it).
//
// Headers are compact JSON without __metadata__, keys in payload order, padded with spaces to a
// multiple of eight, as safetensors writes them; payloads are holes in sparse files. The index is
// what Hugging Face writes: two spaces of indentation, sorted by name.
//
// Fails with kInvalidInput when the plan could not be read back (a name twice, one that is not
// UTF-8 or "__metadata__", a file name that is not plain, a size that overflows or does not fill
// whole bytes, a header above safetensors' 100 MB) or the directory is not empty; with kIo when the
// system refuses.
Result<StandInReport> WriteStandIn(const StandInPlan& plan, const std::string& directory);

// The plan of a copy: every shard of `inventory` with its names, dtypes and shapes in payload
// order, and the texts of config.json, hf_quant_config.json and generation_config.json where they
// are there. The plan keeps its own copy of the inventory. Fails when the inventory has no headers,
// or when one of the texts cannot be read or is larger than 16 MiB.
Result<StandInPlan> PlanStandInFrom(const Inventory& inventory);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_STANDIN_H_
