#include "shardplan/report/standin.h"

#include <fmt/format.h>

#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"
#include "shardplan/launch/shell.h"

namespace shardplan {

std::string RenderStandInReport(const StandInReport& report, const std::string& directory) {
  return fmt::format("Stand-in checkpoint in {}\n", Printable(directory)) +
         RenderFacts({{"shards", FormatCount(report.shards)},
                      {"tensors", FormatCount(report.tensors)},
                      {"apparent size",
                       fmt::format("{} = {}, of which {} are headers",
                                   FormatBytes(report.file_bytes), FormatGiB(report.file_bytes),
                                   FormatAuto(report.file_bytes - report.payload_bytes))},
                      {"payload", "holes: reads as zeros, takes no room on disk"}},
                     100) +
         fmt::format("Plan it: shardplan plan {} --gpu ID --tp N\n", ShellQuote(directory));
}

}  // namespace shardplan
