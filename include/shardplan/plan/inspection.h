// What a checkpoint holds, put in the order in which a person asks.
#ifndef SHARDPLAN_PLAN_INSPECTION_H_
#define SHARDPLAN_PLAN_INSPECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/layout/layout.h"
#include "shardplan/model/model.h"

namespace shardplan {

// The stages whose profile is wanted: one by default.
struct StageRequest {
  std::optional<int64_t> stages;
  std::optional<std::vector<int64_t>> partition;  // layers per stage
};

// The layers of each stage: as the partition says, else the engine's own split. Fails with kUsage
// where they do not add up to `layers`, or where the two contradict each other.
Result<std::vector<StageRange>> StagesFor(const StageRequest& request, int64_t layers);

struct DTypeAmount {
  DType dtype = DType::kBF16;
  Amount amount;
};

struct RoleAmount {
  std::string role;  // "routed_expert", …; "unknown" for what no row of the family explains
  Amount amount;
  std::vector<DTypeAmount> by_dtype;  // in the order of Inspection::by_dtype, absent ones left out
};

struct LayerProfile {
  int64_t layer = 0;
  std::string attention;  // "mla", "kda", …; "draft" for a multi-token-prediction layer
  std::string mlp;        // "moe", "dense" or "none"
  Amount amount;          // of the files

  bool IsLike(const LayerProfile& other) const;  // all but the number
};

// Tensors of one role, dtype and shape that come in equal numbers.
struct LargeTensors {
  std::vector<std::string> names;  // "model.layers.{L}.self_attn.q_proj.weight", in table order
  std::string role;
  DType dtype = DType::kBF16;
  Shape shape;
  int64_t count = 0;  // of all names together
  Bytes each;
};

// Bytes of the files that a pipeline stage's ranks load, all of them together.
struct StageProfile {
  StageRange range;
  Bytes layers;
  Bytes ends;         // embedding on the first stage; final norm, head, tied embedding on the last
  Bytes every_stage;  // what every stage builds: towers, and in some models embedding and head

  Bytes total() const { return layers + ends + every_stage; }
};

struct Inspection {
  std::string source;
  std::string architecture;
  std::string family;
  std::string quantization;       // empty for none
  Basis basis = Basis::kDerived;  // kExact: everything below comes from headers
  bool complete = true;           // false for one shard of several
  Amount totals;
  std::optional<int64_t> active_parameters;  // see ActiveParameters()
  std::optional<Bytes> file_bytes;           // nothing without headers
  std::optional<Bytes> header_bytes;
  std::vector<ShardInfo> shards;
  std::vector<DTypeAmount> by_dtype;  // in the order of the enum
  std::vector<RoleAmount> by_role;    // in the order of the enum, "unknown" last
  std::vector<LayerProfile> layers;
  std::vector<RoleAmount> outside;  // of tensors that belong to no layer
  std::vector<StageProfile> stages;
  std::vector<LargeTensors> largest;  // by the size of one tensor, at most kLargest
  std::vector<Finding> findings;      // the model's, and:
  //   model.layers_differ        layers of one kind store different amounts
  //   checkpoint.empty_tensors   tensors without elements

  static constexpr size_t kLargest = 10;
};

// Arithmetic on a loaded model. Fails with kUsage for stages that the model's layers cannot fill.
Result<Inspection> Inspect(const Model& model, const StageRequest& stages = {});

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_INSPECTION_H_
