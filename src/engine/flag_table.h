// The flags of an engine's server, version by version, and what they mean for memory.
#ifndef SHARDPLAN_ENGINE_FLAG_TABLE_H_
#define SHARDPLAN_ENGINE_FLAG_TABLE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/config_store.h"
#include "shardplan/base/result.h"

namespace shardplan {

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
  kNone,     // nothing for memory
  kMemory,   // changes memory: the plan may be wrong
  kVision,   // the same, of a model with a tower
  kPlace,    // says which process this is; launch commands have their own
  kSecret,   // nothing, and its value is not shown
  kSetting,  // of a variable: it becomes a setting, so its value has to be known
};

struct FlagRow {
  std::string name;                  // "--moe-backend"; a field: "--attention-config.backend"
  std::vector<std::string> aliases;  // "-tp", "--ep"; "-O." is a name for its fields alone
  FlagTakes takes = FlagTakes::kOne;
  std::string since;  // first version; empty: an old one
  std::string until;  // last version; empty: still there; "never": people write it, there is none
  FlagEffect effect = FlagEffect::kNone;
  // Of ours that reads it, where its name is another; no dashes. "-": none, although one of ours
  // has its name.
  std::string option;
  std::vector<std::string> harmless;  // values with which it changes nothing
  std::string note;                   // what to write instead

  bool exists() const { return until != "never"; }
};

// What the parsers of two engines do differently, beyond their flags.
struct Dialect {
  std::string_view engine;      // "vllm": in configs/engines and of --engine
  std::string_view name;        // "vLLM"
  std::string_view variables;   // "VLLM_": what its own variables begin with
  std::string_view model_flag;  // "--model"
  std::string_view model_hint;  // how to say which model to serve
  bool model_is_word = true;    // a word without a flag is the model
  bool underscores = true;      // --max_model_len is --max-model-len
};

// configs/engines/<engine>/flags.tsv and environment.tsv.
class FlagTable {
 public:
  // Of "vllm" or "sglang". Fails with kInvalidInput where a line is malformed (the files can be
  // overridden) and with kUnsupported for another engine.
  static Result<FlagTable> Load(const ConfigStore& store, std::string_view engine);

  const Dialect& dialect() const { return *dialect_; }

  // By one of its names, with its dashes; nothing when there is none.
  const FlagRow* Find(std::string_view name) const;
  // The long names that `prefix` abbreviates at a version (empty: the newest), in order. Python's
  // argparse takes the flag where there is one, and refuses several.
  std::vector<std::string> Completions(std::string_view prefix, std::string_view version) const;
  // Long names of the flags that are still there, for suggestions.
  std::vector<std::string> Names() const { return Completions("--", ""); }
  // All rows, by name.
  const std::map<std::string, FlagRow, std::less<>>& rows() const { return rows_; }

  // What a variable of the environment can do. Those of others than the engine that are not listed
  // do nothing, its own may do anything.
  FlagEffect EffectOfVariable(std::string_view name) const;

 private:
  const Dialect* dialect_ = nullptr;
  std::map<std::string, FlagRow, std::less<>> rows_;
  std::map<std::string, std::string, std::less<>> names_;      // of rows and aliases → the row's
  std::vector<std::pair<std::string, FlagEffect>> variables_;  // "NAME" and "PREFIX*", in order
};

// Whether a version (empty: the newest) has the flag.
bool HasFlag(std::string_view version, const FlagRow& row);

// Whether version `a` comes before `b`, by their leading numbers: "0.26.1rc1" before "0.27".
bool IsOlder(std::string_view a, std::string_view b);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_FLAG_TABLE_H_
