// What a plan of SGLang says in words: its refusals, quoted, and what a person should know.
#ifndef SHARDPLAN_PLAN_SGLANG_NOTES_H_
#define SHARDPLAN_PLAN_SGLANG_NOTES_H_

#include <optional>
#include <vector>

#include "plan/sglang/evaluate.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Errors: what SGLang would raise at start-up (fit.no_kv_memory, fit.states), windows and requests
// that its pools cannot hold (fit.window, fit.concurrency), and what it never checks: memory
// outside the fraction (fit.outside_budget), weights larger than the card (fit.load).
std::vector<Finding> SglangRefusals(const SglangPrepared& prepared,
                                    const SglangEvaluation& evaluation, const Plan& plan);

// Warnings and notes on a legal plan.
std::vector<Finding> SglangNotes(const SglangPrepared& prepared, const SglangEvaluation& evaluation,
                                 const Plan& plan);

// The smallest --mem-fraction-static, to three digits, whose pools hold what was asked for; nothing
// where none below 1 does.
std::optional<double> SmallestFraction(const SglangPrepared& prepared,
                                       const SglangEvaluation& evaluation);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_SGLANG_NOTES_H_
