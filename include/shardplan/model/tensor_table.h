// A family's table: tensor name → role → shape → kind of split.
#ifndef SHARDPLAN_MODEL_TENSOR_TABLE_H_
#define SHARDPLAN_MODEL_TENSOR_TABLE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/checkpoint/dtype.h"
#include "shardplan/checkpoint/shape.h"
#include "shardplan/model/quantization.h"

namespace shardplan {

enum class Role {
  kEmbedding,
  kHead,
  kNorm,
  kAttention,
  kLinearAttention,
  kDenseMlp,
  kRouter,
  kRoutedExpert,
  kSharedExpert,
  kLatentProjection,   // into and out of the width that routed experts see
  kAttentionResidual,  // norms and projections of attention residuals
  kHyperConnection,    // what mixes the residual streams of hyper-connections
  kVision,
  kProjector,
  kDraft,     // multi-token-prediction layers
  kLeftover,  // stored, but loaded by no engine (rotary inv_freq)
};

std::string_view ToString(Role role);  // "routed_expert", …
const std::vector<Role>& AllRoles();

// How a tensor is divided over the ranks of a stage. A tag: the arithmetic is sharding's.
enum class Split {
  kReplicated,
  kColumn,      // the output dimension by TP
  kRow,         // the input dimension by TP; a bias stays whole
  kKvHeads,     // the output dimension by TP in whole KV heads, replicated where TP exceeds them
  kVocabulary,  // rows padded to a multiple, then by TP
  kExpertGate,  // routed experts: whole experts by EP, or the intermediate dimension by DP × TP
  kExpertUp,
  kExpertDown,
  kSharedColumn,  // shared expert or dense MLP that sequence parallelism replicates
  kSharedRow,
  kVisionColumn,  // by TP when the vision heads divide, replicated otherwise
  kVisionRow,
};

// Whether a row is one of the scales that some quantization methods keep beside an attention layer.
enum class AttentionScale { kNone, kGqa, kMla };

// Where a module lives.
enum class Placement {
  kLayers,      // on the stage that holds its layer
  kFirstStage,  // the embedding
  kLastStage,   // final norm and head
  kEveryStage,  // towers, and what some models build on every pipeline stage
  kNotLoaded,   // in the file, on no card
};

// What a row of the table stores.
enum class Form {
  kLinear,  // "<name>.weight" of [out, in], with quantization companions and an optional bias
  kTensor,  // one tensor called exactly <name>
  // All experts of a layer in one tensor called exactly <name>: [experts, out, in], or transposed
  // [experts, in, out]. The row's shape is one expert's [out, in].
  kStacked,
};

// A set of decoder layers, kept sorted.
class LayerSet {
 public:
  LayerSet() = default;
  explicit LayerSet(std::vector<int64_t> layers);
  static LayerSet Range(int64_t first, int64_t last);  // [first, last)

  bool Contains(int64_t layer) const;
  int64_t CountIn(int64_t first, int64_t last) const;  // members in [first, last)
  bool empty() const { return layers_.empty(); }
  int64_t size() const { return static_cast<int64_t>(layers_.size()); }
  const std::vector<int64_t>& layers() const { return layers_; }

 private:
  std::vector<int64_t> layers_;
};

// A part of a tensor that the file stores fused and the engine slices part by part: q, k and v of a
// qkv_proj, the halves of a gate_up_proj, the streams of a Mamba in_proj.
struct RowPart {
  Split split = Split::kColumn;
  int64_t rows = 0;      // of the first dimension; the parts of a row add up to all of it
  int64_t kv_heads = 0;  // of Split::kKvHeads, where they are not the model's
};

// How a tensor of any shape is sliced, where a family was made up from names and shapes
// (model/families/unknown.h). The row's split says by what, this says along which dimension.
struct TensorSlice {
  int dim = 0;           // that the split divides; -1: none
  bool stacked = false;  // dimension 0 counts routed experts
  // The split rests on a guess: at the cheap end the tensor is sliced as finely as its kind allows,
  // at the dear end it stands whole on every rank.
  bool guessed = false;
  bool on_every_stage = false;  // at the dear end: some models build it on every pipeline stage
  bool rounds_up = false;       // scales: a slice may end inside one
  int64_t values = 1;           // logical weights in one stored element; 0: a scale or an index
  std::vector<RowPart> parts;   // as ModuleRow::parts, along `dim` and in proportion
};

// One row: a module of the checkpoint, repeated over layers, experts or blocks.
struct ModuleRow {
  // {L} stands for the layer, {E} for the expert, {B} for a block of the vision tower.
  std::string name;
  Form form = Form::kLinear;
  Role role = Role::kNorm;
  Split split = Split::kReplicated;
  Placement placement = Placement::kLayers;

  Shape shape;              // of one module; a linear's is [out, in]
  bool transposed = false;  // of a stack: [experts, in, out] in the file
  bool bias = false;
  // The engine creates it with the model's quantization, where there is one. Families clear it for
  // linears that the engine keeps plain.
  bool quantizable = true;
  // What the engine creates, where that is not the file's format.
  std::optional<QuantFormat> device_quant;
  AttentionScale attention_scale = AttentionScale::kNone;
  int64_t kv_heads = 0;               // of Split::kKvHeads, where they are not the model's
  std::vector<RowPart> parts;         // in order, where `split` differs inside; empty: one slice
  std::optional<TensorSlice> slice;   // of Form::kTensor, in families made up from names and shapes
  QuantFormat quant;                  // of a linear; plain by default
  DType dtype = DType::kBF16;         // in the file, where not quantized
  DType device_dtype = DType::kBF16;  // as the engine creates it
  // As the engine creates it, where that differs from the file (K3's A_log: 96 of 128 entries).
  std::optional<Shape> device_shape;

  LayerSet layers;      // empty: outside the layer stack
  int64_t experts = 0;  // 0: no expert index
  int64_t blocks = 0;   // 0: no block index

  // The engine's parameter that this module becomes part of: relative to the layer for rows with
  // layers, absolute otherwise. Modules of one layer with the same name are fused along the output
  // dimension, in table order. Rows stand in the order in which the engine walks its parameters.
  std::string param;
  int64_t param_row_align = 1;  // the fused parameter's rows are padded to this

  bool stored = true;     // false: the engine creates it, no checkpoint holds it
  bool optional = false;  // its absence from a checkpoint is a property of it, not damage
  // Published files leave it out, and a draft takes its target's: without a list of tensors it is
  // not there, and stand-ins don't write it.
  bool left_out = false;
  bool frozen_copy = false;  // a draft's copy of its target's table, which engines keep once

  // How many modules the row stands for.
  int64_t Count() const;
  // Vision tower or projector: left out by --language-model-only.
  bool is_tower() const { return role == Role::kVision || role == Role::kProjector; }
};

// One tensor of a module as the checkpoint stores it.
struct StoredTensor {
  std::string suffix;  // ".weight", ".weight_scale_inv", ".bias", or empty for Form::kTensor
  DType dtype = DType::kBF16;
  Shape shape;
  int64_t parameters = 0;  // logical weights: packed values counted singly, scales not at all
};

// The tensors of one module of `row`, in checkpoint order.
std::vector<StoredTensor> StoredTensors(const ModuleRow& row);

// Order and cutting of a family's published shards, for stand-ins.
enum class ShardRule {
  kGreedy,         // table order layer by layer, cut at a payload limit, as save_pretrained does
  kLayerPerShard,  // one shard a layer, then head, projector and tower; sorted by alignment, name
};

// Another spelling of names: files that begin a name with `stored` mean `name`.
struct NameAlias {
  std::string stored;
  std::string name;
};

struct TensorTable {
  // Of the block scales in the published FP8 checkpoints of the family.
  DType fp8_scale_dtype = DType::kF32;
  // "model.layers.{L}.": what relative parameter names of layered rows are appended to.
  std::string layer_prefix;
  std::vector<ModuleRow> rows;
  std::vector<NameAlias> aliases;  // tried in order, where a name is not a row's
  ShardRule shard_rule = ShardRule::kGreedy;
};

// Takes out the rows that published files leave out.
void DropLeftOut(TensorTable* table);

// The rows of `table` as the engine slices them: a row with parts becomes one row a part, which
// share its parameter.
std::vector<ModuleRow> SlicedRows(const TensorTable& table);

struct TensorTotals {
  int64_t tensors = 0;
  Bytes payload;
  int64_t parameters = 0;  // logical weights
  int64_t elements = 0;    // stored elements, scales included
};

// Totals over a table; throws SizeOverflow where a config asks for more than 64 bits.
TensorTotals Totals(const TensorTable& table);

// "model.layers.{L}.x" with the numbers put in; unused ones are ignored.
std::string ExpandName(std::string_view name, int64_t layer, int64_t expert, int64_t block);

// Every tensor of `row` in `layer` (-1 for rows outside the stack), experts and blocks in order.
void ForEachTensor(const ModuleRow& row, int64_t layer,
                   const std::function<void(std::string name, const StoredTensor&)>& visit);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_TENSOR_TABLE_H_
