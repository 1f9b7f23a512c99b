// Everything a checkpoint says about its tensors, read from headers and index alone.
#ifndef SHARDPLAN_CHECKPOINT_INVENTORY_H_
#define SHARDPLAN_CHECKPOINT_INVENTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/dtype.h"
#include "shardplan/checkpoint/shape.h"
#include "shardplan/checkpoint/tensor_name.h"

namespace shardplan {

// One tensor. Names and shapes are interned in the inventory: 48 bytes each instead of strings and
// vectors, so that Kimi-K3's 497,220 tensors take 24 MB.
struct TensorRecord {
  NameIndices indices = kNoIndices;
  uint32_t pattern = 0;  // into Inventory::patterns
  uint32_t shape = 0;    // into Inventory::shapes
  int32_t shard = 0;     // into Inventory::shards
  DType dtype = DType::kU8;
  int64_t begin = 0;  // offsets in the shard's payload
  int64_t end = 0;

  friend bool operator==(const TensorRecord&, const TensorRecord&) = default;
};

struct ShardInfo {
  std::string name;     // file name, relative to the model directory
  Bytes file_bytes;     // length of the file
  Bytes header_bytes;   // the 8-byte length field and the header text
  Bytes payload_bytes;  // what the tensors cover
  int64_t tensors = 0;
};

// What the checkpoint is: a directory with weights, an index that was named, one shard that was
// named, or a config alone (named, or all that a directory holds).
enum class SourceKind { kDirectory, kIndex, kSingleShard, kConfig };

struct Inventory {
  SourceKind kind = SourceKind::kDirectory;
  std::string path;               // as given
  std::string directory;          // where shards and config live
  std::string config_path;        // empty when there is none
  std::string quant_config_path;  // hf_quant_config.json beside the config; may be empty

  // False when only a config (or an index without its shards) was there; then `tensors` is empty
  // and, with an index, `index_names` says what it lists.
  bool has_headers = false;

  std::vector<std::string> patterns;
  std::vector<Shape> shapes;
  std::vector<ShardInfo> shards;      // sorted by name
  std::vector<TensorRecord> tensors;  // grouped by shard, in payload order within it

  bool has_index = false;
  std::optional<int64_t> index_total_size;  // metadata.total_size; compared, never trusted
  // An index whose shards are not downloaded: one entry per tensor in the index's order, pattern
  // and indices only.
  std::vector<TensorRecord> index_names;

  Bytes payload_bytes;  // sum over shards
  Bytes file_bytes;
  Bytes header_bytes;

  std::vector<Finding> findings;  // survivable oddities, e.g. checkpoint.total_size

  // The full name; `record` is one of `tensors` or `index_names`.
  std::string NameOf(const TensorRecord& record) const;
};

struct OpenOptions {
  int threads = 2;  // from 1 to 64; the result does not depend on it
  // Header texts above this are refused: safetensors itself stops at 100 MB.
  Bytes max_header = Bytes(100'000'000);
  Bytes max_index = Bytes(512 * (int64_t{1} << 20));
  // Where there is an index, its names are all that is read, whatever shards are there.
  bool index_only = false;
};

// Reads the checkpoint at `path`: a model directory, a model.safetensors.index.json, a single
// .safetensors or a config.json. Only headers and the index are read; nothing is ever written.
//
// Checked, each with one clear error: header length within the file and the limit; JSON (bounded
// depth); no duplicate names, within a shard and across shards; dtype known; shape × dtype without
// overflow and equal to the offsets; offsets in order, contiguous from zero, without holes, ending
// at the file's end; every tensor of the index in the shard that it names and the other way round;
// shard names plain (no "..", absolute path or slash out of the directory). A directory that holds
// only Git LFS pointers says so. Symlinks (a Hugging Face cache) are followed. Names may come in
// any order in a header; a tensor may be empty.
//
// Findings (Inventory::findings), none of which stops the work:
//   checkpoint.total_size      metadata.total_size of the index is missing, no number, or wrong
//   checkpoint.no_index        several .safetensors files without an index, taken as one model
//   checkpoint.headers_absent  none of the index's shards is there; see index_names
//   checkpoint.extra_shard     a .safetensors file that the index does not name, left out
//
// Fails with kIo when the system refuses (missing, unreadable, a loop of symlinks) and with
// kInvalidInput for everything that is wrong with the content.
Result<Inventory> OpenCheckpoint(const std::string& path, const OpenOptions& options = {});

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_INVENTORY_H_
