// Outputs of tools on one server, put together.
#ifndef SHARDPLAN_HARDWARE_FACTS_READ_FACTS_H_
#define SHARDPLAN_HARDWARE_FACTS_READ_FACTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster_spec.h"

namespace shardplan::facts {

enum class FactKind { kUnknown, kSmiQuery, kSmiLog, kTopology, kNvlink, kHost };

// What a text is, by its content: file names mean nothing.
FactKind FactKindOf(std::string_view text);

// Adds what the files tell to what `kind` has: figures that are written already stay. Totals are
// `measured`, what CUDA sees is nvidia-smi's total less what the driver reserves, `derived`, give
// or take the MiB that both are rounded to. Files of no known kind are left out where
// `skip_unknown`, else refused; so are two of one kind, and a number of cards that differs between
// files. Fails with kIo and kInvalidInput.
Status ReadFacts(const std::vector<std::string>& paths, bool skip_unknown, NodeKind* kind);

}  // namespace shardplan::facts

#endif  // SHARDPLAN_HARDWARE_FACTS_READ_FACTS_H_
