// A table for an architecture that no family covers, made up from the names and shapes in the
// headers.
//
// Layers are what the largest stack of the file counts (model.layers.{L}., transformer.h.{L}., …);
// other stacks, towers and lists stand outside of it. Layers at and above num_hidden_layers and
// modules called mtp, nextn, … are drafts: in the file, on no card. Tensors of one name, shape and
// dtype become a row; those whose numbers have gaps become rows of their own. Role and split are
// RuleFor's (unknown_rules.h), numbers ReadUnknownNumbers' (unknown_config.h). Each tensor is taken
// as it is stored: what an engine repacks in a quantized format is not known, but for the padding
// of MXFP4 experts.
//
// Attention: MLA where the config has a kv_lora_rank and the layer its projection; keys and values
// where they are recognised; windows, chunks and states where layer_types says so in a known word.
// A layer with tensors of linear attention and no known word caches nothing at the central
// estimate, and keys and values at the dear end; unrecognised attention one head at the cheap end
// and all of them on every rank at the dear end.
#ifndef SHARDPLAN_MODEL_FAMILIES_UNKNOWN_H_
#define SHARDPLAN_MODEL_FAMILIES_UNKNOWN_H_

#include "model/config_reader.h"
#include "model/quantization_plan.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/model/family.h"

namespace shardplan::families {

// `headers` has them. `plan` is what the config says of quantization; where it failed, tensors are
// taken as they are stored all the same. Fails with kUnsupported where there is no stack of layers
// to plan, and with kInvalidInput where config and headers contradict each other. Findings:
// model.family_unknown, launch.architecture.
Result<ModelSpec> BuildUnknown(ConfigReader& config, const Inventory& headers,
                               const Result<QuantPlan>& plan);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_UNKNOWN_H_
