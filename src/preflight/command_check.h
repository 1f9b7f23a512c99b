// What a person should know before a command is started.
#ifndef SHARDPLAN_PREFLIGHT_COMMAND_CHECK_H_
#define SHARDPLAN_PREFLIGHT_COMMAND_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "engine/command.h"
#include "engine/flag_table.h"
#include "shardplan/base/config_store.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/model/architecture.h"
#include "shardplan/plan/deployment.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// A command that has been read, and as much around it as is known.
struct CommandUnderCheck {
  std::string text;                  // as pasted
  const FlagTable* table = nullptr;  // of its engine
  std::vector<CommandProblem> problems;
  std::vector<std::string> repeated;       // flags that stand in it twice, with other values
  const Deployment* deployment = nullptr;  // what was understood
  std::string version;                     // that it is checked against
  bool version_given = false;              // by --engine or an image's tag
  const Architecture* arch = nullptr;      // null: no model
  const GpuSpec* gpu = nullptr;            // null: no card
  const Catalog* catalog = nullptr;        // that the card is of
  const Plan* plan = nullptr;              // null: not planned,
  std::optional<Error> not_planned;        // because of this, where model and card are known
};

// Everything about it, sorted. Ids beside those of a plan:
//
//   command.flag_unknown, .flag_never, .ambiguous, .value, .word      (error)   the engine's
//   parser,
//                                                                     or ours, refuses it
//   command.flag_removed, .flag_too_new   (error)   not in this version
//   command.shell_variable                (warning) not looked at: only a shell knows its value
//   command.repeated                      (warning) the last one counts
//   command.contradiction, .idle, .incomplete       of preflight/flag_rules.h
//   command.refused                       (error)   values that no start accepts
//   default.max_num_seqs                  (warning) of a model that keeps a state per request
//   default.kv_cache_dtype, default.max_model_len, default.max_num_batched_tokens,
//   default.others                        (note)    what was left out, and the values it takes
//   issue.…                               known issues; a note where they hang on the driver alone
//   those of preflight/command_notes.h
//   check.version, check.not_looked_at, check.not_planned  (note)  what could not be looked at
//
// Without a plan also what settings, sizes and nodes tell alone (plan/settings_check.h).
//
// Fails where the catalogue of known issues is malformed, and where a cluster has too few nodes.
Result<std::vector<Finding>> CheckCommandText(const ConfigStore& store,
                                              const CommandUnderCheck& command);

}  // namespace shardplan

#endif  // SHARDPLAN_PREFLIGHT_COMMAND_CHECK_H_
