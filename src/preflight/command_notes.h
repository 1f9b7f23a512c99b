// What people read wrongly in a command, and in what its engine prints.
#ifndef SHARDPLAN_PREFLIGHT_COMMAND_NOTES_H_
#define SHARDPLAN_PREFLIGHT_COMMAND_NOTES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/model/architecture.h"
#include "shardplan/plan/deployment.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Of the command alone; `text` is what a person pasted:
//
//   command.typography    (warning) quotes and blanks of a text processor, one for each kind, with
//                                   its places
//   command.idle_gpus     (warning) CUDA_VISIBLE_DEVICES shows more cards than the layout uses
//   command.device_order  (note)    it counts cards in CUDA's order, not in nvidia-smi's
//   container.ipc         (warning) a container whose ranks share neither memory nor IPC
std::vector<Finding> NoteSurroundings(std::string_view text, const Deployment& deployment);

// Cards of a node that the layout uses, if nodes share it evenly; else zero.
int64_t RanksOfNode(const Deployment& deployment);

// Of its model:
//
//   command.own_code  (note) --trust-remote-code is missing, and the config names code of its own
//
// Source: vllm/transformers_utils/config.py:HFConfigParser.parse (main of November 2026).
void NoteOwnCode(const Architecture& arch, const Deployment& deployment,
                 std::vector<Finding>* findings);

// Of its plan:
//
//   kv.least_stage         (note) which pipeline stage sizes the cache of all
//   kv.printed_tokens      (note) what the printed number of tokens is, for hybrid models
//   layout.experts_sliced  (note) data parallelism without whole experts
std::vector<Finding> NoteReadings(const Architecture& arch, const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PREFLIGHT_COMMAND_NOTES_H_
