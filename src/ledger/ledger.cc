#include "shardplan/ledger/ledger.h"

#include <algorithm>
#include <utility>

namespace shardplan {

std::string_view ToString(Account account) {
  switch (account) {
    case Account::kDriverReserved:
      return "driver_reserved";
    case Account::kInUseByOthers:
      return "in_use_by_others";
    case Account::kCudaContext:
      return "cuda_context";
    case Account::kCommunication:
      return "communication";
    case Account::kWeights:
      return "weights";
    case Account::kActivations:
      return "activations";
    case Account::kCudaGraphs:
      return "cuda_graphs";
    case Account::kWorkspace:
      return "workspace";
    case Account::kKvCache:
      return "kv_cache";
    case Account::kStateCache:
      return "state_cache";
    case Account::kHeadroom:
      return "headroom";
  }
  return "headroom";
}

void Ledger::Close() {
  // Sums at the cheap end (low), the central estimate and the dear end (high).
  Range inside, outside;
  Basis inside_basis = Basis::kExact;
  Basis outside_basis = Basis::kExact;
  for (const Entry& entry : entries_) {
    Range bytes = entry.bytes;
    const bool cache = entry.account == Account::kKvCache || entry.account == Account::kStateCache;
    if (cache) std::swap(bytes.low, bytes.high);
    (entry.in_budget ? inside : outside) += bytes;
    Basis& basis = entry.in_budget ? inside_basis : outside_basis;
    basis = Softer(basis, entry.basis);
  }
  const auto ordered = [](Bytes cheap, Bytes central, Bytes dear) {
    return Range(std::min({cheap, central, dear}), central, std::max({cheap, central, dear}));
  };
  entries_.push_back({Account::kHeadroom,
                      true,
                      ordered(budget_.high - inside.low, budget_.central - inside.central,
                              budget_.low - inside.high),
                      inside_basis,
                      "budget less everything the engine counts",
                      {}});
  entries_.push_back({Account::kHeadroom,
                      false,
                      ordered(device_total_ - budget_.high - outside.low,
                              device_total_ - budget_.central - outside.central,
                              device_total_ - budget_.low - outside.high),
                      outside_basis,
                      "card less budget, less what the engine never counts",
                      {}});
}

Bytes Ledger::Sum() const {
  Bytes sum;
  for (const Entry& entry : entries_) sum += entry.bytes.central;
  return sum;
}

Bytes Ledger::Sum(Account account) const {
  Bytes sum;
  for (const Entry& entry : entries_) {
    if (entry.account == account) sum += entry.bytes.central;
  }
  return sum;
}

Bytes Ledger::SumInBudget(bool in_budget) const {
  Bytes sum;
  for (const Entry& entry : entries_) {
    if (entry.in_budget == in_budget) sum += entry.bytes.central;
  }
  return sum;
}

double Ledger::AssumedShare() const {
  Bytes assumed, all;
  for (const Entry& entry : entries_) {
    if (entry.account == Account::kHeadroom) continue;
    all += entry.bytes.central;
    if (entry.basis == Basis::kAssumed) assumed += entry.bytes.central;
  }
  if (all.count() <= 0) return 0;
  return static_cast<double>(assumed.count()) / static_cast<double>(all.count());
}

}  // namespace shardplan
