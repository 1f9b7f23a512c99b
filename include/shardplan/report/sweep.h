// One deployment over a grid of one or two numeric options.
#ifndef SHARDPLAN_REPORT_SWEEP_H_
#define SHARDPLAN_REPORT_SWEEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shardplan/plan/plan.h"
#include "shardplan/report/plan_table.h"

namespace shardplan {

struct SweepValue {
  std::string text;                      // as written: "512K"
  std::variant<int64_t, double> number;  // a count (524,288) or a fraction
};

struct SweepAxis {
  std::string option;  // without dashes
  std::vector<SweepValue> values;
};

// What is told of the plan at one point of the grid.
struct SweepCell {
  Verdict verdict = Verdict::kIllegal;
  bool unsure = false;            // fits, but not where every uncertain entry is at its dear end
  std::optional<KvPlan> kv;       // nothing where illegal
  std::optional<Bytes> headroom;  // the least over the ranks; nothing where illegal
  std::string reason;             // why it does not fit or is illegal; empty where it fits
};

// The cell of an evaluated plan.
SweepCell MakeSweepCell(const Plan& plan);

// The deployment in one line, without what is swept.
std::string SweepTitle(const Plan& plan, const std::vector<SweepAxis>& axes);

struct Sweep {
  std::string title;             // what deployment it is, one line
  std::vector<SweepAxis> axes;   // one or two
  std::vector<SweepCell> cells;  // of every combination, the last axis changing fastest
};

// One axis: a row for each value. Two: one matrix for each figure, the first axis down, the second
// across; columns that are too wide stand in further blocks. What does not fit is marked, what is
// illegal is a dash, and the reasons stand below. The layout of the text may change.
std::string RenderSweepTable(const Sweep& sweep, const TableOptions& options = {});

// {"schema_version", "axes": [{"option", "values"}], "cells": [{"at", "verdict", "kv_cache",
// "headroom_bytes", "reason"}]}.
std::string RenderSweepJson(const Sweep& sweep);
std::string RenderSweepYaml(const Sweep& sweep);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_SWEEP_H_
