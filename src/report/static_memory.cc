// What SGLang makes of the free memory: its fraction, its pools, its start-up log.
#include <fmt/format.h>

#include "report/plan_document.h"
#include "report/sections.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string RangeText(const Range& range) {
  if (range.low == range.high) return FormatGiB(range.central, 2);
  return fmt::format("{} ({} to {})", FormatGiB(range.central, 2), FormatGiB(range.low, 2),
                     FormatGiB(range.high, 2));
}

void AddFraction(const StaticMemoryPlan& s, Facts* facts) {
  facts->emplace_back("--mem-fraction-static",
                      fmt::format("{:.4g}{}: weights and pools of the {} free before loading",
                                  s.fraction, s.fraction_given ? "" : ", SGLang's own",
                                  FormatGiB(s.free_before_load.central, 2)));
  std::string terms;
  double sum = 0;
  for (const ReserveTerm& term : s.terms) {
    sum += term.mib;
    terms += fmt::format("{}{} {:.0f}", terms.empty() ? "" : " + ", Printable(term.name), term.mib);
  }
  if (!terms.empty()) facts->emplace_back("", fmt::format("leaves {:.0f} MiB: {}", sum, terms));
  facts->emplace_back("weights alone need", fmt::format("{:.4f} of it", s.minimum_fraction));
  if (s.smallest_fraction) {
    facts->emplace_back("smallest that works", fmt::format("{:.3f}", *s.smallest_fraction));
  }
  if (s.largest_fraction) {
    facts->emplace_back("largest that works", fmt::format("{:.3f}", *s.largest_fraction));
  }
}

void AddPools(const StaticMemoryPlan& s, Facts* facts) {
  if (s.window_tokens > 0) {
    facts->emplace_back("window pool", FormatCount(s.window_tokens) + " tokens");
  }
  if (s.states) {
    facts->emplace_back(
        "states",
        fmt::format("{} slots of {} ({} layers), {} a request: {} requests",
                    FormatCount(s.states->slots), FormatAuto(s.states->slot), s.states->layers,
                    s.states->slots_per_request, FormatCount(s.states->requests)));
  }
  facts->emplace_back("running requests", fmt::format("{} at most, of one DP rank",
                                                      FormatCount(s.max_running_requests)));
  if (s.host_cache) {
    facts->emplace_back(
        "host cache",
        fmt::format("{} a rank, {} tokens; {} a node", FormatGiB(s.host_cache->per_rank, 2),
                    FormatCount(s.host_cache->tokens), FormatGiB(s.host_cache->per_node, 2)));
  }
}

}  // namespace

std::string StaticMemorySection(const Plan& plan, size_t width) {
  if (!plan.static_memory) return "";
  const StaticMemoryPlan& s = *plan.static_memory;
  Facts facts = {{"free before loading", RangeText(s.free_before_load)},
                 {"free after loading", RangeText(s.free_after_load)}};
  AddFraction(s, &facts);
  AddPools(s, &facts);
  return "SGLang's static memory\n" + RenderFacts(facts, width);
}

std::string StartupLogSection(const Plan& plan) {
  if (!plan.static_memory) return "";
  std::string out = "What a rank will print, in SGLang's GB (2^30 bytes)\n";
  const auto& log = plan.static_memory->log;
  for (size_t stage = 0; stage < log.size(); ++stage) {
    if (log.size() > 1) out += fmt::format("  stage {}\n", stage);
    for (const std::string& line : log[stage]) {
      out += fmt::format("{}{}\n", log.size() > 1 ? "    " : "  ", Printable(line, 400));
    }
  }
  return out;
}

Document StaticMemoryDocument(const StaticMemoryPlan& s) {
  const auto range = [](const Range& r) {
    return Document{
        {"low_bytes", r.low.count()}, {"bytes", r.central.count()}, {"high_bytes", r.high.count()}};
  };
  Document terms = Document::array();
  for (const ReserveTerm& term : s.terms) {
    terms.push_back({{"name", term.name}, {"rule", term.rule}, {"mib", term.mib}});
  }
  Document states = nullptr;
  if (s.states) {
    states = {{"layers", s.states->layers},
              {"slots", s.states->slots},
              {"slots_per_request", s.states->slots_per_request},
              {"requests", s.states->requests},
              {"slot_bytes", s.states->slot.count()},
              {"convolution_bytes", s.states->convolution.count()},
              {"recurrent_bytes", s.states->recurrent.count()}};
  }
  Document host = nullptr;
  if (s.host_cache) {
    host = {{"per_rank_bytes", s.host_cache->per_rank.count()},
            {"tokens", s.host_cache->tokens},
            {"per_node_bytes", s.host_cache->per_node.count()}};
  }
  return {
      {"fraction", s.fraction},
      {"fraction_given", s.fraction_given},
      {"reserve_terms", terms},
      {"minimum_fraction", s.minimum_fraction},
      {"smallest_fraction",
       s.smallest_fraction ? Document(*s.smallest_fraction) : Document(nullptr)},
      {"largest_fraction", s.largest_fraction ? Document(*s.largest_fraction) : Document(nullptr)},
      {"free_before_load", range(s.free_before_load)},
      {"free_after_load", range(s.free_after_load)},
      {"max_running_requests", s.max_running_requests},
      {"window_tokens", s.window_tokens > 0 ? Document(s.window_tokens) : Document(nullptr)},
      {"state_pool", states},
      {"host_cache", host},
      {"log", s.log}};
}

}  // namespace shardplan
