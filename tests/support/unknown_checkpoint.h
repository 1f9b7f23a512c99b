// A tiny checkpoint of a known family that calls itself something nobody knows.
#ifndef SHARDPLAN_TESTS_SUPPORT_UNKNOWN_CHECKPOINT_H_
#define SHARDPLAN_TESTS_SUPPORT_UNKNOWN_CHECKPOINT_H_

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "shardplan/model/model.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace shardplan::testing_support {

inline constexpr const char* kUnknownClass = "BrandNewForCausalLM";

// Writes `config` as a checkpoint to `path`, then renames its class; other keys may be changed too.
inline void WriteUnknown(nlohmann::json config, const std::string& path,
                         const nlohmann::json& changes = nlohmann::json::object()) {
  WriteTiny(config, path);
  config["architectures"] = {kUnknownClass};
  config.update(changes);
  WriteText(path + "/config.json", config.dump());
}

inline Model Load(const std::string& path) {
  Result<Model> model = LoadModel(path);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().ToString());
  return model ? std::move(*model) : Model();
}

inline std::string LoadError(const std::string& path) {
  const Result<Model> model = LoadModel(path);
  return model ? "loaded" : model.error().ToString();
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_UNKNOWN_CHECKPOINT_H_
