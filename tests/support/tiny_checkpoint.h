// A tiny config written out as a checkpoint directory.
#ifndef SHARDPLAN_TESTS_SUPPORT_TINY_CHECKPOINT_H_
#define SHARDPLAN_TESTS_SUPPORT_TINY_CHECKPOINT_H_

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "shardplan/model/stand_in.h"
#include "support/example_model.h"

namespace shardplan::testing_support {

inline StandInReport WriteTiny(const nlohmann::json& config, const std::string& directory,
                               const Assumptions& assumptions = {}) {
  const Result<StandInPlan> plan = PlanStandIn(Build(config, assumptions), config.dump());
  EXPECT_TRUE(plan.has_value());
  const Result<StandInReport> report = WriteStandIn(*plan, directory);
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().ToString());
  return report ? *report : StandInReport();
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_TINY_CHECKPOINT_H_
