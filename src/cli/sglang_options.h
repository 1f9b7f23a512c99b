// Options that only SGLang has.
#ifndef SHARDPLAN_CLI_SGLANG_OPTIONS_H_
#define SHARDPLAN_CLI_SGLANG_OPTIONS_H_

#include <string>

#include "cli/option_set.h"
#include "shardplan/engine/sglang_settings.h"

namespace shardplan::cli {

// Names are those of `python3 -m sglang.launch_server --help`, older spellings beside them; three
// are ours: what was measured or is known of a draft (--free-memory-before-load, --draft-weights,
// --draft-bytes-per-token).
void AddSglangOptions(OptionSet* options, SglangSettings* out);

// A variable of SGLang's environment with a meaning for memory; others change nothing. Fails with
// kUsage where its value is none.
Status ReadSglangVariable(const std::string& name, const std::string& value, SglangSettings* out);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_SGLANG_OPTIONS_H_
