// What stands beside the weights: config, tokenizer, code.
#ifndef SHARDPLAN_PREFLIGHT_SIDE_FILES_H_
#define SHARDPLAN_PREFLIGHT_SIDE_FILES_H_

#include <string>
#include <vector>

#include "shardplan/base/finding.h"

namespace shardplan {

// `names` are those of the directory's entries. Finds model.config_missing, model.json_broken,
// model.tokenizer_missing, model.code_missing and model.code_elsewhere.
std::vector<Finding> SideFileFindings(const std::string& directory,
                                      const std::vector<std::string>& names);

}  // namespace shardplan

#endif  // SHARDPLAN_PREFLIGHT_SIDE_FILES_H_
