#include "tools/accuracy/markdown.h"

#include <fmt/format.h>

namespace shardplan::accuracy {
namespace {

std::string Word(Verdict verdict) {
  return verdict == Verdict::kFits      ? "fits"
         : verdict == Verdict::kIllegal ? "illegal"
                                        : "does not fit";
}

// SGLang has an expert-parallel size of its own; without one it is the whole TP group.
int64_t ExpertRanks(const Deployment& d) {
  if (d.engine != "sglang") return d.sizes.ep();
  return d.sglang.ep_size > 1 ? d.sglang.ep_size : d.sizes.tp;
}

}  // namespace

std::string MarkdownTable::Render() const {
  std::string out;
  for (size_t r = 0; r < rows_.size(); ++r) {
    out += "|";
    for (const std::string& cell : rows_[r]) out += fmt::format(" {} |", cell);
    out += "\n";
    if (r > 0) continue;
    out += "|";
    for (size_t c = 0; c < rows_[0].size(); ++c) out += right_.contains(c) ? "---:|" : "---|";
    out += "\n";
  }
  return out;
}

std::string SourceOf(const Case& c) {
  return c.source.empty() ? c.id : fmt::format("[{}]({})", c.id, c.source);
}

std::string EngineOf(const Case& c) {
  return c.deployment.engine + " " + c.deployment.engine_version;
}

std::string LayoutOf(const Case& c, int64_t stage) {
  const ParallelSizes& s = c.deployment.sizes;
  std::string text = fmt::format("TP{}", s.tp);
  if (s.pp > 1) text += fmt::format(" PP{}, stage {}", s.pp, stage);
  if (s.dp > 1) text += fmt::format(" DP{}", s.dp);
  if (s.expert_parallel) text += fmt::format(" EP{}", ExpertRanks(c.deployment));
  return text;
}

std::string Because(const Case& c) {
  if (c.reason.empty() && c.note.empty()) return "";
  if (c.reason.empty() || c.note.empty()) return ": " + c.reason + c.note;
  return ": " + c.reason + "; " + c.note;
}

std::string Printed(const Case& c) {
  return c.stopped_at.empty() ? c.result : fmt::format("{} ({})", c.result, c.stopped_at);
}

std::string Predicted(Verdict verdict, Verdict low, Verdict high) {
  if (low == high) return Word(verdict);
  return fmt::format("{} (ends: {}, {})", Word(verdict), Word(low), Word(high));
}

}  // namespace shardplan::accuracy
