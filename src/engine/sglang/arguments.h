// The command that starts SGLang on one node.
#ifndef SHARDPLAN_ENGINE_SGLANG_ARGUMENTS_H_
#define SHARDPLAN_ENGINE_SGLANG_ARGUMENTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "engine/argument_list.h"
#include "engine/sglang/context.h"
#include "engine/sglang/defaults.h"
#include "shardplan/engine/settings.h"

namespace shardplan::sglang {

// --mem-fraction-static as it stands on the line: without what a backend changes of it later.
double FlagFraction(const Defaults& defaults);

// Whether the version that is launched has a flag.
using HasFlagFn = std::function<bool(const std::string& name)>;

// Every number that the plan rests on is spelled out, but a window that nobody asked for, with
// flags that the version has and in full: --pp is ambiguous and --tp an abbreviation. Where a flag
// has an older name, `has` decides.
// --mem-fraction-static is always there. Nodes differ in
// --node-rank alone; the address is a placeholder in angle brackets. `settings` has what was read
// of a command: other flags, variables, the name to serve. `explicit_partition` says that the
// stages are not SGLang's own.
NodeCommand MakeCommand(const Context& context, const Defaults& defaults,
                        const EngineSettings& settings, const std::string& model, int64_t node_rank,
                        bool explicit_partition, const HasFlagFn& has);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_ARGUMENTS_H_
