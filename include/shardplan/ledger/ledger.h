// A rank's memory, entry by entry, adding up to the card.
#ifndef SHARDPLAN_LEDGER_LEDGER_H_
#define SHARDPLAN_LEDGER_LEDGER_H_

#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/bytes.h"

namespace shardplan {

// Accounts in the order in which a ledger is shown.
enum class Account {
  kDriverReserved,  // what nvidia-smi totals and CUDA never sees
  kInUseByOthers,
  kCudaContext,
  kCommunication,
  kWeights,
  kActivations,
  kCudaGraphs,
  kWorkspace,
  kKvCache,
  kStateCache,  // SGLang's pool of recurrent states; in vLLM they are blocks of the KV cache
  kHeadroom,    // the remainder; negative is what is short
};

std::string_view ToString(Account account);  // "driver_reserved", …

// A piece of an entry, for explanations.
struct Part {
  std::string name;
  std::string rule;  // the arithmetic, in words and numbers
  Bytes bytes;       // at the central estimate
};

// One figure: what claims it, how it is known and by which rule.
struct Entry {
  Account account = Account::kHeadroom;
  bool in_budget = false;  // whether the engine counts it against its own budget
  Range bytes;
  Basis basis = Basis::kDerived;
  std::string source;
  std::vector<Part> parts = {};  // what the central bytes are made of; may be empty
};

// The ledger of one rank. Invariant after Close(): the central bytes of all entries sum to
// device_total, exactly; what the entries leave is in the two headroom rows.
class Ledger {
 public:
  Ledger() = default;
  // `capacity` is what CUDA sees, `budget` what the engine allows itself; the budget is a range
  // where what CUDA sees is one.
  Ledger(Bytes device_total, Bytes capacity, Range budget)
      : device_total_(device_total), capacity_(capacity), budget_(budget) {}

  void Add(Entry entry) { entries_.push_back(std::move(entry)); }

  // Adds the remainder inside and outside the budget as headroom entries. At the cheap end the
  // others are at their low end, cache and budget at their high one; at the dear end the other way
  // round.
  void Close();

  Bytes Sum() const;
  Bytes Sum(Account account) const;
  // Central sum of what is (not) in the budget, headroom included.
  Bytes SumInBudget(bool in_budget) const;
  // Share of the card's bytes, headroom aside, that rest on assumptions: 0 to 1.
  double AssumedShare() const;

  Bytes device_total() const { return device_total_; }
  Bytes capacity() const { return capacity_; }
  Bytes budget() const { return budget_.central; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  Bytes device_total_;
  Bytes capacity_;
  Range budget_;
  std::vector<Entry> entries_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_LEDGER_LEDGER_H_
