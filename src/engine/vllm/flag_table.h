// The flags of `vllm serve`, version by version, and what they mean for memory.
#ifndef SHARDPLAN_ENGINE_VLLM_FLAG_TABLE_H_
#define SHARDPLAN_ENGINE_VLLM_FLAG_TABLE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/config_store.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

// What comes behind a flag.
enum class FlagTakes {
  kSwitch,  // nothing; --no-… turns it off
  kOn,      // nothing, and there is no --no-…
  kOne,     // a word
  kMaybe,   // a word or nothing
  kMany,    // words up to the next flag
  kJson,    // an object, or its fields one by one: --flag.field value
};

// What a flag can do where shardplan has no option that reads it.
enum class FlagEffect {
  kNone,    // nothing for memory
  kMemory,  // changes memory: the plan may be wrong
  kVision,  // the same, of a model with a tower
  kPlace,   // says which process this is; launch commands have their own
  kSecret,  // nothing, and its value is not shown
};

struct FlagRow {
  std::string name;        // "--moe-backend"; a field: "--attention-config.backend"
  std::string short_name;  // "-tp", or empty
  FlagTakes takes = FlagTakes::kOne;
  std::string since;  // first version; empty: an old one
  std::string until;  // last version; empty: still there; "never": people write it, vLLM has none
  FlagEffect effect = FlagEffect::kNone;
  std::string option;                 // of ours that reads it, where its name is another; no dashes
  std::vector<std::string> harmless;  // values with which it changes nothing
  std::string note;                   // what to write instead

  bool exists() const { return until != "never"; }
};

// configs/engines/vllm/flags.tsv and environment.tsv.
class FlagTable {
 public:
  // Fails with kInvalidInput where a line is malformed: the files can be overridden.
  static Result<FlagTable> Load(const ConfigStore& store);

  // By its long name, or by its short one with a single dash; nothing when there is none.
  const FlagRow* Find(std::string_view name) const;
  // The flags that `prefix` abbreviates, as Python's argparse takes them: unique ones count.
  std::vector<const FlagRow*> Completions(std::string_view prefix) const;
  // Long names of the flags that are still there, for suggestions.
  std::vector<std::string> Names() const;

  // What a variable of the environment can do. Those of others than vLLM that are not listed do
  // nothing, those of vLLM may do anything.
  FlagEffect EffectOfVariable(std::string_view name) const;

 private:
  std::map<std::string, FlagRow, std::less<>> rows_;
  std::map<std::string, std::string, std::less<>> short_names_;  // → long
  std::vector<std::pair<std::string, FlagEffect>> variables_;    // "NAME" and "PREFIX*", in order
};

// Whether version `a` comes before `b`, by their leading numbers: "0.26.1rc1" before "0.27".
bool IsOlder(std::string_view a, std::string_view b);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_FLAG_TABLE_H_
