// shardplan check model: is everything there that an engine will read?
#include <memory>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/deployment_options.h"
#include "cli/log.h"
#include "cli/output_options.h"
#include "cli/terminal.h"
#include "shardplan/preflight/model_check.h"
#include "shardplan/report/findings.h"

namespace shardplan::cli {
namespace {

struct CheckOptions {
  ModelCheckRequest what;
  OutputOptions output;
};

// A stage has a number in a layout, and its own index has both.
Status CheckStageOptions(const ModelCheckRequest& what) {
  const bool layout = what.layout.stages || what.layout.partition;
  if (!what.stage_index.empty() && (layout || !what.stages.empty())) {
    return Fail(ErrorCode::kUsage, "--stage-index",
                "expected it alone, found --stage or a layout beside it",
                "its manifest says which stages they are");
  }
  if (!what.stages.empty() && !layout) {
    return Fail(ErrorCode::kUsage, "--stage", "expected the layout as well, found none",
                "give --pp or --pp-partition");
  }
  if (layout && what.stages.empty()) {
    return Fail(ErrorCode::kUsage, what.layout.partition ? "--pp-partition" : "--pp",
                "expected the stage that is here, found none", "give --stage N");
  }
  return {};
}

Result<Answer> Run(const CheckOptions& options) {
  SHARDPLAN_RETURN_IF_ERROR(CheckModelGiven(options.what.directory, "check model DIR"));
  SHARDPLAN_RETURN_IF_ERROR(CheckStageOptions(options.what));
  ModelCheckRequest request = options.what;
  request.open.threads = ReaderThreads();
  const ProgressNote note("reading " + request.directory);
  SHARDPLAN_ASSIGN_OR_RETURN(ModelCheck check, CheckModelDirectory(request));
  Log("checked");
  const CheckReport report = {request.directory, std::move(check.summary),
                              std::move(check.findings)};
  return Answer{RenderCheck(report, options.output.format, WantsColor(options.output)),
                HasError(report.findings) ? kExitNo : kExitYes, options.output.file};
}

}  // namespace

Command AddCheckModel(CLI::App* group) {
  const auto options = std::make_shared<CheckOptions>();
  ModelCheckRequest* const what = &options->what;
  CLI::App* const app = AddSubcommand(
      group, "model",
      "Whether a model directory is whole and sound, or a node's part of it\n\n"
      "Examples:\n"
      "  shardplan check model /models/Kimi-K3\n"
      "  shardplan check model /models/Kimi-K3 --pp-partition 48,45 --stage 0\n"
      "  shardplan check model /models/Kimi-K3 --stage-index k3-index/stage-0",
      "Exit code: 0 clean, 1 a finding is an error, 2 usage, 3 a stage that cannot be told, 4 "
      "I/O.");
  const auto set = std::make_shared<OptionSet>(app);
  set->Positional("DIR", "A model directory", &what->directory);
  set->Group("A node that holds some stages alone");
  set->Repeated("--stage", "N", "A pipeline stage that it runs; once for each",
                [what](const std::string& text) -> Status {
                  SHARDPLAN_ASSIGN_OR_RETURN(const int64_t stage, ParseCount(text, 0));
                  what->stages.push_back(stage);
                  return {};
                });
  set->Count("--pp,--pipeline-parallel-size", "How many stages there are", 1,
             [what](int64_t n) { what->layout.stages = n; });
  set->Value("--pp-partition", "N,N,…", "Layers of each stage (default: vLLM's own split)",
             [what](const std::string& text) -> Status {
               SHARDPLAN_ASSIGN_OR_RETURN(what->layout.partition, ParsePartition(text));
               return {};
             });
  set->Text("--stage-index", "DIR", "What `launch stage-index` wrote for it: …/stage-0",
            [what](std::string text) { what->stage_index = std::move(text); });
  AddAssumeOption(set.get(), &what->assumptions);
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options] { return Run(*options); }};
}

}  // namespace shardplan::cli
