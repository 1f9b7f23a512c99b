// Options about the answer's form.
#ifndef SHARDPLAN_CLI_OUTPUT_OPTIONS_H_
#define SHARDPLAN_CLI_OUTPUT_OPTIONS_H_

#include <string>

#include "cli/option_set.h"
#include "shardplan/report/format.h"

namespace shardplan::cli {

struct OutputOptions {
  Format format = Format::kTable;
  std::string file;     // -o; empty or "-": standard output
  std::string configs;  // --configs; empty: the compiled-in catalogue alone
  bool verbose = false;
  bool no_color = false;
};

// Adds --format, -o, --configs, -v and --no-color under "Output"; `value` and `help` are of -o.
void AddOutputOptions(OptionSet* options, OutputOptions* out, const std::string& value = "FILE",
                      const std::string& help = "Write the answer to FILE, whole or not at all");

// Whether a table for standard output is to be coloured.
bool WantsColor(const OutputOptions& options);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_OUTPUT_OPTIONS_H_
