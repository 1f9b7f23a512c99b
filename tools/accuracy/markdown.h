// Tables of docs/accuracy.md and what their first columns say.
#ifndef SHARDPLAN_TOOLS_ACCURACY_MARKDOWN_H_
#define SHARDPLAN_TOOLS_ACCURACY_MARKDOWN_H_

#include <set>
#include <string>
#include <vector>

#include "tools/accuracy/cases.h"

namespace shardplan::accuracy {

class MarkdownTable {
 public:
  // Columns in `right` are aligned to the right.
  MarkdownTable(std::vector<std::string> titles, std::set<size_t> right)
      : right_(std::move(right)), rows_{std::move(titles)} {}

  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string Render() const;

 private:
  std::set<size_t> right_;
  std::vector<std::vector<std::string>> rows_;
};

std::string SourceOf(const Case& c);                 // the id, linked where there is an address
std::string EngineOf(const Case& c);                 // "vllm 0.31.0"
std::string LayoutOf(const Case& c, int64_t stage);  // "TP8 PP2, stage 1"
std::string Because(const Case& c);                  // ": reason; note", or nothing
std::string Printed(const Case& c);                  // "refused (kv)"
std::string Predicted(Verdict verdict, Verdict low, Verdict high);  // "fits", with other ends

}  // namespace shardplan::accuracy

#endif  // SHARDPLAN_TOOLS_ACCURACY_MARKDOWN_H_
