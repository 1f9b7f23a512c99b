// The values that an engine's parser lists for a flag, version by version.
#ifndef SHARDPLAN_ENGINE_CHOICE_TABLE_H_
#define SHARDPLAN_ENGINE_CHOICE_TABLE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/config_store.h"
#include "shardplan/base/result.h"

namespace shardplan {

// How a value has to agree with the list.
enum class ChoiceForm {
  kExact,   // one of it
  kLoose,   // the same in either case, with "-" for "_"
  kOpen,    // one of it, a class by its path, or what an installed plugin adds
  kParser,  // one of it, or what the plugin that another flag names registers
};

struct Choice {
  std::string name;
  std::string after;  // the last version seen without it; empty: an old one
  std::string gone;   // the first version seen without it again; empty: still there
};

struct ChoiceRow {
  std::string flag;  // in its long form
  ChoiceForm form = ChoiceForm::kExact;
  std::string plugin;  // of kParser: the flag that names a plugin
  std::vector<Choice> choices;

  // The choice that a value is, of any version known; nothing where it is none.
  const Choice* Find(const std::string& value) const;
  // A value as this form compares it.
  std::string Compared(const std::string& value) const;
  // The names that a version (empty: the newest) is not known to lack.
  std::vector<std::string> NamesAt(std::string_view version) const;
};

// Whether a version (empty: the newest) comes before the choice, or after it was taken out. What is
// no version does neither.
bool IsBefore(std::string_view version, const Choice& choice);
bool IsPast(std::string_view version, const Choice& choice);

// configs/engines/<engine>/choices.tsv: flag, form ("exact", "loose", "open", "parser"), the
// plugin's flag, and names between bars; "name>0.10.2" is not in 0.10.2 and before, "name<0.5.18"
// not from 0.5.18 on. Sources: those of flags.tsv, and of vLLM's parsers the modules that its
// documentation lists of 0.9.0, 0.9.2, 0.10.0, 0.10.2, 0.12.0, 0.15.0 and 0.26.0
// (docs.vllm.ai/en/vX/api/vllm/{tool_parsers,reasoning,parser}).
class ChoiceTable {
 public:
  // Of "vllm" or "sglang". Fails with kInvalidInput where a line is malformed.
  static Result<ChoiceTable> Load(const ConfigStore& store, std::string_view engine);

  const std::string& engine() const { return engine_; }
  // By the flag's long name; nothing where its values are not listed.
  const ChoiceRow* Find(std::string_view flag) const;
  // All rows, by flag.
  const std::map<std::string, ChoiceRow, std::less<>>& rows() const { return rows_; }

 private:
  std::string engine_;
  std::map<std::string, ChoiceRow, std::less<>> rows_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_CHOICE_TABLE_H_
