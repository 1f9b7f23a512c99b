// Configs of published checkpoints whose files are not in this repository: the fields that matter.
#ifndef SHARDPLAN_TESTS_SUPPORT_PUBLISHED_CONFIGS_H_
#define SHARDPLAN_TESTS_SUPPORT_PUBLISHED_CONFIGS_H_

#include <nlohmann/json.hpp>

#include "support/example_model.h"

namespace shardplan::testing_support {

// Exports of Qwen3.5-35B-A3B with fewer experts: its text tower alone, under the same class, in
// F16, each expert by itself and no draft layer.
inline nlohmann::json PrunedQwen35(int64_t experts) {
  const nlohmann::json whole = ExampleConfig("Qwen__Qwen3.5-35B-A3B");
  nlohmann::json config = whole["text_config"];
  config["architectures"] = whole["architectures"];
  config["dtype"] = "float16";
  config["num_experts"] = experts;
  return config;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_PUBLISHED_CONFIGS_H_
