// The spellings in which quantization configs name modules.
#ifndef SHARDPLAN_MODEL_MODULE_PATTERNS_H_
#define SHARDPLAN_MODEL_MODULE_PATTERNS_H_

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "shardplan/base/result.h"

namespace re2 {
class RE2;
}

namespace shardplan {

// A list of module names, each in one of these spellings:
//   "re:.*self_attn.*"    a regular expression that matches from the start of the name
//   "model.layers.0*"     a wildcard for the whole name or for one of its ancestors
//   "model.layers.0.mlp"  a run of whole components: the module itself, or anything below or above
//                         it that contains them ("lm_head", "gate")
// Regular expressions are RE2's, which match in linear time whatever the file says; of expressions
// and wildcards there may be 2,000, names are looked up and may be any number.
class ModulePatterns {
 public:
  // Fails with kInvalidInput for a regular expression that cannot be read or is too large, and for
  // too many patterns; `subject` names the file and the key.
  Status Add(std::string_view text, const std::string& subject);

  bool Match(std::string_view module) const;
  bool empty() const { return names_.empty() && globs_.empty() && regexes_.empty(); }

 private:
  std::unordered_set<std::string> names_;
  std::vector<std::string> globs_;
  std::vector<std::shared_ptr<const re2::RE2>> regexes_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_MODULE_PATTERNS_H_
