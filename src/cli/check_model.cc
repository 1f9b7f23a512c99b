// shardplan check model: is everything there that an engine will read?
#include <memory>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/output_options.h"
#include "shardplan/preflight/directory.h"
#include "shardplan/report/findings.h"

namespace shardplan::cli {
namespace {

struct CheckOptions {
  std::string directory;
  OutputOptions output;
};

Result<Answer> Run(const CheckOptions& options) {
  SHARDPLAN_RETURN_IF_ERROR(CheckModelGiven(options.directory, "check model DIR"));
  CheckReport report;
  report.subject = options.directory;
  SHARDPLAN_ASSIGN_OR_RETURN(report.findings, DirectoryFindings(options.directory));
  SortFindings(report.findings);
  return Answer{RenderCheck(report, options.output.format, WantsColor(options.output)),
                HasError(report.findings) ? kExitNo : kExitYes, options.output.file};
}

}  // namespace

Command AddCheckModel(CLI::App* group) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* const app = group->add_subcommand("model",
                                              "Whether a model directory is whole and sound\n\n"
                                              "Examples:\n"
                                              "  shardplan check model /models/Kimi-K3");
  app->footer("Exit code: 0 clean, 1 a finding is an error, 2 usage, 4 I/O.");
  const auto set = std::make_shared<OptionSet>(app);
  set->Positional("DIR", "A model directory", &options->directory);
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options] { return Run(*options); }};
}

}  // namespace shardplan::cli
