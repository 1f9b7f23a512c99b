// Is a model directory what an engine can start from?
#ifndef SHARDPLAN_PREFLIGHT_MODEL_CHECK_H_
#define SHARDPLAN_PREFLIGHT_MODEL_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/model/family.h"
#include "shardplan/plan/inspection.h"

namespace shardplan {

struct ModelCheckRequest {
  std::string directory;
  // A node that holds some stages alone: their numbers and the layout, or a directory that `launch
  // stage-index` wrote for it. At most one of the two.
  std::vector<int64_t> stages;
  StageRequest layout;
  std::string stage_index;

  Assumptions assumptions;
  OpenOptions open;
};

struct ModelCheck {
  std::string summary;            // "96 shards, 497,220 tensors, 1453.747 GiB"
  std::vector<Finding> findings;  // sorted
};

// Looks at everything that an engine will read and at nothing of the weights but their headers.
// What is wrong with the directory is a finding, not an error. Besides DirectoryFindings and what
// LoadModel and Inspect find:
//
//   model.no_weights         error    no .safetensors file and no index, or none that is meant
//   model.index_broken       error    the index cannot be read
//   model.shard_missing      error    shards that the index names are not there
//   model.shard_truncated    error    a shard ends before its tensors do
//   model.header_broken      error    a shard's header cannot be read, or contradicts itself
//   model.duplicate_tensors  error    a tensor stands in two shards
//   model.index_contradicts  error    index and headers disagree
//   model.config_contradicts error    tensors that the config implies are missing or of another
//                                     shape, or the config cannot be read
//   model.not_modelled       note     no family covers the model: its tensors were not compared
//   model.config_missing     error    no config.json
//   model.json_broken        error    a JSON file that engines load is none
//   model.tokenizer_missing  warning  no tokenizer, or no tokenizer_config.json
//   model.code_missing       error, of the model's config a warning: code that auto_map names
//   model.code_elsewhere     warning  auto_map names code of another repository
//   model.file_size          error    a file has another size than the stage's manifest says
//   model.stage_index_broken error    a stage's index is not the one of its manifest
//   model.index_changed      warning  the model's index is another one than the stage's was cut
//   from
//
// Fails with kIo where the directory is not there, with kUsage for stages that the layout does not
// have, with kInvalidInput for a manifest that is none, and with kUnsupported for a stage of a
// model that cannot be cut.
Result<ModelCheck> CheckModelDirectory(const ModelCheckRequest& request);

}  // namespace shardplan

#endif  // SHARDPLAN_PREFLIGHT_MODEL_CHECK_H_
