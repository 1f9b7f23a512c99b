// How a rule of an engine is known.
#ifndef SHARDPLAN_ENGINE_EVIDENCE_H_
#define SHARDPLAN_ENGINE_EVIDENCE_H_

#include <map>
#include <string>

namespace shardplan {

// Read in the engine's source or release notes, seen in a public log, or assumed.
enum class Evidence { kSource, kLog, kAssumed };

struct RuleSource {
  Evidence evidence = Evidence::kSource;
  std::string text;
  std::string since;  // the version from which the value holds
};

using RuleSources = std::map<std::string, RuleSource>;  // rule → how it is known

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_EVIDENCE_H_
