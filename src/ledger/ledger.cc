#include "shardplan/ledger/ledger.h"

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
    case Account::kHeadroom:
      return "headroom";
  }
  return "headroom";
}

void Ledger::Close() {
  Range inside, outside;
  Basis inside_basis = Basis::kExact;
  Basis outside_basis = Basis::kExact;
  bool has_cache = false;
  for (const Entry& entry : entries_) {
    const bool cache = entry.account == Account::kKvCache;
    has_cache |= cache && entry.bytes.central > Bytes();
    (entry.in_budget ? inside : outside) += cache ? Range(entry.bytes.central) : entry.bytes;
    Basis& basis = entry.in_budget ? inside_basis : outside_basis;
    basis = Softer(basis, entry.basis);
  }
  // The cache is cut to what is there: beside one, nothing uncertain is left in the budget.
  if (has_cache) inside = Range(inside.central);
  const Bytes rest = device_total_ - budget_;
  auto remainder = [](Bytes whole, const Range& used) {
    return Range(whole - used.high, whole - used.central, whole - used.low);
  };
  entries_.push_back({Account::kHeadroom, true, remainder(budget_, inside), inside_basis,
                      "budget less everything the engine counts"});
  entries_.push_back({Account::kHeadroom, false, remainder(rest, outside), outside_basis,
                      "card less budget, less what the engine never counts"});
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
