// --expert-load: loads of experts, read from JSON or from a table.
#ifndef SHARDPLAN_CLI_EXPERT_LOAD_FILE_H_
#define SHARDPLAN_CLI_EXPERT_LOAD_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "shardplan/base/result.h"
#include "shardplan/plan/expert_load.h"

namespace shardplan::cli {

// Reads one of these (docs/traffic.md):
//
//   [[12, 0, 3.5], [4, 4, 4]]            JSON: mixtures in order, experts in order
//   {"3": [12, 0, 3.5], "4": [4, 4, 4]}  JSON: by the layer's number; either may stand in
//                                        {"layers": …}
//   layer,expert,load                    a table with commas or tabs, its columns in any order;
//   3,0,12                               what is left out has no load
//   12,0,3.5                             a table without header: a mixture in each line
//
// Blank lines and lines that begin with # are skipped in tables. Loads are decimal numbers from 0
// to 1e15. Fails with kIo, and with kInvalidInput for whatever is not as it should be: the message
// has the line.
Result<std::shared_ptr<const ExpertLoads>> ReadExpertLoads(const std::string& path);

// The same of a text; `name` stands for the file in messages.
Result<ExpertLoads> ParseExpertLoads(const std::string& name, std::string_view text);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_EXPERT_LOAD_FILE_H_
