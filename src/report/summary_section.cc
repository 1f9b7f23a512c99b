#include <fmt/format.h>

#include "report/sections.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

TextTable GlanceTable(const Plan& plan, const std::string& gpu) {
  const EvenShare& s = plan.even_share;
  const std::string physical = FormatGiB(s.physical);
  const auto aligned = [&](Bytes bytes) {
    return PadLeft(FormatGiB(bytes), DisplayWidth(physical));
  };
  TextTable table({Align::kLeft, Align::kLeft, Align::kLeft});
  table.AddRow({"cards",
                fmt::format("{} × {} ({} = {})", s.cards, Printable(gpu, 60), FormatMiB(s.card),
                            FormatGiB(s.card)),
                physical + " = " + FormatTiB(s.physical)});
  table.AddRow({s.from_files ? "checkpoint files" : "checkpoint payload", FormatBytes(s.file_bytes),
                aligned(s.file_bytes)});
  table.AddRow({"even share a card", "", aligned(s.share)});
  table.AddRow({"margin a card", "before anything runs", aligned(s.margin)});
  return table;
}

}  // namespace

std::string ShortSource(const std::string& source) {
  const std::string base = BaseName(source);
  if (!base.ends_with(".json") && !base.ends_with(".safetensors")) return Printable(base, 60);
  const std::string parent = BaseName(source.substr(0, source.size() - base.size()));
  return Printable(parent.empty() || parent == "/" ? base : JoinPath(parent, base), 60);
}

std::string DescribeLayout(const Plan& plan) {
  const ParallelSizes& s = plan.sizes;
  std::string text =
      s.dp > 1 && !s.dp_in_tp ? fmt::format("DP{} × TP{}", s.dp, s.tp) : fmt::format("TP{}", s.tp);
  if (s.pp > 1) text += fmt::format(" × PP{}", s.pp);
  if (s.pp > 1 && !plan.stages.empty()) {
    text += fmt::format(" ({})", FormatPartition(plan.stages));
  }
  if (s.dcp > 1) text += fmt::format(", DCP{}", s.dcp);
  if (s.expert_size && *s.expert_size > 1) text += fmt::format(", EP{}", *s.expert_size);
  if (s.dp_in_tp) text += fmt::format(", attention DP{}", s.dp);
  if (s.expert_parallel && !s.expert_size) text += " with expert parallel";
  return text;
}

std::string TitleSection(const Plan& plan, size_t width) {
  return Wrap(
      fmt::format("{} ({}) on {}@{} · {} · {} × {} {}", ShortSource(plan.source),
                  Printable(plan.family), Printable(plan.engine), Printable(plan.engine_version),
                  DescribeLayout(plan), Plural(plan.nodes, "node", "nodes"), plan.gpus_per_node,
                  Printable(plan.gpu_name)),
      width, 0, 2);
}

std::string GlanceSection(const Plan& plan, size_t width) {
  if (plan.even_share.cards == 0) return "";
  TextTable table = GlanceTable(plan, plan.gpu_name);
  if (table.NaturalWidth() > width) table = GlanceTable(plan, plan.gpu);  // the id is short
  return "Memory at a glance\n" + table.Render(width) +
         Wrap(
             "The even share is not a rank: ranks hold unequal parts and more than the files' "
             "bytes (see below).",
             width, 2, 2);
}

std::string CheckpointSection(const Plan& plan, size_t width) {
  const bool exact = plan.shape_basis == Basis::kExact;
  return "Checkpoint\n" +
         RenderFacts({{"source", Printable(plan.source)},
                      {"architecture", fmt::format("{}, family {}", Printable(plan.architecture),
                                                   Printable(plan.family))},
                      {"tensors", FormatCount(plan.totals.tensors)},
                      {"parameters",
                       fmt::format("{} in {} stored elements", FormatCount(plan.totals.parameters),
                                   FormatCount(plan.totals.elements))},
                      {"payload", fmt::format("{} = {}", FormatBytes(plan.totals.payload),
                                              FormatGiB(plan.totals.payload))},
                      {"shapes", exact ? "exact: read from the shard headers"
                                       : "derived: the family's, from config.json alone"}},
                     width);
}

}  // namespace shardplan
