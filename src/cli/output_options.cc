#include "cli/output_options.h"

#include <utility>

#include "cli/log.h"
#include "cli/terminal.h"

namespace shardplan::cli {

void AddOutputOptions(OptionSet* options, OutputOptions* out, const std::string& value,
                      const std::string& help) {
  options->Group("Output");
  options->Value("--format", "table|json|yaml", "Form of the answer (default: table)",
                 [out](const std::string& text) -> Status {
                   if (text == "table") {
                     out->format = Format::kTable;
                   } else if (text == "json") {
                     out->format = Format::kJson;
                   } else if (text == "yaml") {
                     out->format = Format::kYaml;
                   } else {
                     return Fail(ErrorCode::kUsage, text, "expected table, json or yaml");
                   }
                   return {};
                 });
  options->Text("-o,--output", value, help,
                [out](std::string text) { out->file = std::move(text); });
  options->Text("--configs", "DIR",
                "Add to and override the built-in catalogue, file by file, from DIR",
                [out](std::string text) { out->configs = std::move(text); });
  options->Flag("-v,--verbose", "More in the table, and diagnostics on stderr", [out] {
    out->verbose = true;
    EnableLog();
  });
  options->Flag("--no-color", "Never colour the table (nor with NO_COLOR set, or in a pipe)",
                [out] { out->no_color = true; });
}

bool WantsColor(const OutputOptions& options) {
  const bool to_stdout = options.file.empty() || options.file == "-";
  return to_stdout && !options.no_color && StdoutWantsColor();
}

}  // namespace shardplan::cli
