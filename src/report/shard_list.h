// Hundreds of file names in a line.
#ifndef SHARDPLAN_REPORT_SHARD_LIST_H_
#define SHARDPLAN_REPORT_SHARD_LIST_H_

#include <string>
#include <vector>

namespace shardplan {

// Names that differ in their first number only are folded, one entry a pattern, in order of first
// appearance: "model-{00001…00048, 00094}-of-000096.safetensors". Others stand for themselves. The
// result is safe to print.
std::vector<std::string> FoldNames(const std::vector<std::string>& names);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_SHARD_LIST_H_
