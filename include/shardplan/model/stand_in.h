// A stand-in checkpoint from a config alone.
#ifndef SHARDPLAN_MODEL_STAND_IN_H_
#define SHARDPLAN_MODEL_STAND_IN_H_

#include <string>

#include "shardplan/base/result.h"
#include "shardplan/checkpoint/standin.h"
#include "shardplan/model/family.h"

namespace shardplan {

// The shards that the family's table implies, in its published order where that is known (Kimi-K3:
// headers and file sizes equal the published ones byte for byte), otherwise table order layer by
// layer, cut at 5 GB of payload as save_pretrained does. `config_text` becomes config.json.
Result<StandInPlan> PlanStandIn(const ModelSpec& spec, std::string config_text);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_STAND_IN_H_
