#include "plan/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

Range Plus(Range range, Bytes bytes) { return range + Range(bytes); }

Entry* Find(StageEvaluation* e, Account account, bool in_budget) {
  for (Entry& entry : e->entries) {
    if (entry.account == account && entry.in_budget == in_budget) return &entry;
  }
  return nullptr;
}

bool SameLayout(const ParallelSizes& a, const ParallelSizes& b) {
  return a.tp == b.tp && a.pp == b.pp && a.dp == b.dp && a.dcp == b.dcp &&
         a.expert_parallel == b.expert_parallel;
}

std::string Layout(const ParallelSizes& s) {
  std::string text = fmt::format("TP{} × PP{}", s.tp, s.pp);
  if (s.dp > 1) text += fmt::format(" × DP{}", s.dp);
  if (s.dcp > 1) text += fmt::format(", DCP{}", s.dcp);
  return text + (s.expert_parallel ? " with expert parallel" : "");
}

std::string Signed(Bytes bytes) { return (bytes < Bytes() ? "" : "+") + FormatGiB(bytes); }

// Puts a difference on an entry whose own range is settled by the measurement.
void Settle(const PredictedRun& run, Range difference, Entry* entry) {
  if (entry->parts.empty()) {
    entry->parts.push_back({fmt::format("{}, as derived", ToString(entry->account)), entry->source,
                            entry->bytes.central});
  }
  if (difference.central != Bytes()) {
    entry->parts.push_back({"measured beyond what is derived", run.source, difference.central});
  }
  const Bytes central = entry->bytes.central;
  entry->bytes = Plus(difference, central);
  entry->basis = Basis::kMeasured;
  entry->source = fmt::format("{}: {} to what is derived ({})", run.source,
                              Signed(difference.central), entry->source);
}

// Spreads a difference: the first entry takes it, the next what would make it negative.
void Settle(const PredictedRun& run, Range difference, const std::vector<Entry*>& entries) {
  Bytes left = difference.central;
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool last = i + 1 == entries.size();
    const Bytes take = last ? left : std::max(left, -entries[i]->bytes.central);
    const Range own = i > 0 ? Range(take)
                            : Range(take - (difference.central - difference.low), take,
                                    take + (difference.high - difference.central));
    Settle(run, own, entries[i]);
    left -= take;
  }
}

std::vector<Entry*> Present(StageEvaluation* e, std::initializer_list<Account> accounts,
                            bool in_budget) {
  std::vector<Entry*> found;
  for (const Account account : accounts) {
    if (Entry* const entry = Find(e, account, in_budget)) found.push_back(entry);
  }
  return found;
}

Range WidenedBy(Range range, Bytes bytes) {
  return Range(range.low - bytes, range.central, range.high + bytes);
}

Bytes Distance(Bytes a, Bytes b) { return a < b ? b - a : a - b; }

// Settles the reserve for graphs; returns how unsure it leaves the sum of the others.
Range SettleGraphs(const PredictedRun& run, const Range& ran, const Prepared& p,
                   StageEvaluation* e) {
  Entry* const entry = Find(e, Account::kCudaGraphs, true);
  const bool captured = !run.capture_sizes.empty();
  if (!captured || (!run.graphs && !run.rest)) return Range();
  if (!entry) {
    // Its own reserve is in the run's sum, and is only assumed.
    if (run.graphs || !run.rest) return Range();
    return Range(ran.central - ran.high, Bytes(), ran.central - ran.low);
  }
  Range difference = run.graphs.value_or(Range());
  if (run.rest) difference = Range(difference.central);
  if (run.capture_sizes != p.context.resolved.capture_sizes) {
    difference = WidenedBy(difference, Distance(entry->bytes.central, ran.central));
  }
  Settle(run, difference, entry);
  return Range();
}

}  // namespace

const PredictedRun* NearestRun(const CalibrationTable& table, const Prepared& p, int64_t stage) {
  const vllm::Resolved& r = p.context.resolved;
  const PredictedRun* best = nullptr;
  const auto distance = [&](const PredictedRun& run) {
    return std::tuple(run.run->stage.value_or(stage) != stage,
                      run.capture_sizes.empty() != r.capture_sizes.empty(),
                      std::abs(run.batched_tokens - r.max_num_batched_tokens));
  };
  for (const PredictedRun& run : table.runs) {
    if (!run.refused.empty() || !SameLayout(run.run->deployment.sizes, p.context.sizes)) continue;
    if (!best || distance(run) < distance(*best)) best = &run;
  }
  return best;
}

void Calibrate(const PredictedRun& run, const Prepared& p, int64_t stage, StageEvaluation* e) {
  const StageEvaluation& ran = run.stages[static_cast<size_t>(stage)];
  if (run.weights) {
    Settle(run, run.rest ? Range(run.weights->central) : *run.weights,
           Find(e, Account::kWeights, true));
    e->resident += run.weights->central;
    e->detail.rounding += run.weights->central;
    e->weights = Find(e, Account::kWeights, true)->bytes;
  }
  if (run.baseline) {
    Settle(run, *run.baseline, Present(e, {Account::kCommunication, Account::kCudaContext}, false));
  }
  const Range unsure = SettleGraphs(run, ran.graphs.reserved, p, e);
  // Peaks over batched tokens follow logs to a few per cent: so does what they differ by.
  const Bytes slope(Distance(e->activation.bytes.central, ran.activation.bytes.central).count() *
                    3 / 100);
  Entry* const activations = Find(e, Account::kActivations, true);
  if (run.activations || run.rest) {
    const Range difference = run.activations.value_or(Range());
    Settle(run, run.rest ? Range(difference.central) : WidenedBy(difference, slope), activations);
  }
  std::vector<Entry*> growth = Present(e, {Account::kCommunication, Account::kWorkspace}, true);
  if (run.rest) {
    // What CUDA sees of a card is in the sum as well, as far as the run's share of it goes.
    const Range& visible = p.gpu.cuda_visible.bytes;
    const double share = std::abs(run.utilization - p.context.resolved.gpu_memory_utilization);
    const Bytes budget(
        static_cast<int64_t>(share * static_cast<double>((visible.high - visible.low).count())));
    growth.push_back(activations);
    const Bytes more = run.growth ? run.growth->central : Bytes();
    Settle(run, WidenedBy(Plus(*run.rest, more) + unsure, slope + budget), growth);
    e->budget_is_settled = true;
    if (Entry* const reserved = Find(e, Account::kDriverReserved, false)) {
      reserved->bytes = Range(reserved->bytes.central);
    }
  } else if (run.growth) {
    Settle(run, *run.growth, growth);
  }
  e->measured_activation = activations->bytes.central - e->activation.bytes.central;
  e->activation.bytes = activations->bytes;
  SumUp(p, e);
}

std::vector<Finding> CalibrationNotes(const CalibrationTable& table, const Prepared& p) {
  std::vector<Finding> notes;
  for (const PredictedRun& run : table.runs) {
    const auto add = [&](bool used, std::string message) {
      notes.push_back({used ? "calibration.applied" : "calibration.not_applied",
                       run.suspicious ? Severity::kWarning : Severity::kNote, run.source,
                       std::move(message), ""});
    };
    if (!run.refused.empty()) {
      add(false, "not applied: " + run.refused);
      continue;
    }
    const ParallelSizes& sizes = run.run->deployment.sizes;
    if (!SameLayout(sizes, p.context.sizes)) {
      add(false, fmt::format("not applied: it ran as {}, this is {}", Layout(sizes),
                             Layout(p.context.sizes)));
      continue;
    }
    bool used = false;
    for (int64_t stage = 0; stage < sizes.pp; ++stage) {
      used = used || NearestRun(table, p, stage) == &run;
    }
    if (!used) {
      add(false, "not applied: another run is nearer");
      continue;
    }
    std::string terms;
    const auto term = [&](const char* name, const std::optional<Range>& difference) {
      if (!difference) return;
      terms += fmt::format("{}{} {}", terms.empty() ? "" : ", ", name, Signed(difference->central));
    };
    term("weights", run.weights);
    term("activations", run.activations);
    term("growth outside torch", run.growth);
    term("graph reserve", run.graphs);
    term("baseline", run.baseline);
    term(terms.empty() ? "all that is not cache" : "all else that is not cache", run.rest);
    add(true, "measured beside what is derived for that run: " + terms);
  }
  return notes;
}

}  // namespace shardplan
