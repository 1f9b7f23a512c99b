// What a search for a layout found.
#ifndef SHARDPLAN_REPORT_SEARCH_H_
#define SHARDPLAN_REPORT_SEARCH_H_

#include <string>
#include <vector>

#include "shardplan/plan/layout_search.h"
#include "shardplan/report/plan_table.h"

namespace shardplan {

// The command that plans a candidate: "shardplan", "plan", the words of its variant, "--nodes",
// "2",
// "--tp", "8", …
std::vector<std::string> CommandOf(const Candidate& candidate);

// A table of the candidates, best first, with what limits each and the options that plan it; then
// the reasons of what was rejected. The layout of the text may change.
std::string RenderSearchTable(const SearchResult& result, const SearchRequest& request,
                              const TableOptions& options = {});

// {"schema_version", "evaluated", "feasible", "candidates": [{"layout", "engine_settings",
// "kv_cache", "limiting", "score", "verdict", "findings", "argv"}], "rejected": [{"reason_id",
// "count", "example"}], "nearest": [finding]}.
std::string RenderSearchJson(const SearchResult& result);
std::string RenderSearchYaml(const SearchResult& result);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_SEARCH_H_
