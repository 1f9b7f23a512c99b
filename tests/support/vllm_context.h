// A vLLM context for one of the example models, without a checkpoint or a cluster.
#ifndef SHARDPLAN_TESTS_SUPPORT_VLLM_CONTEXT_H_
#define SHARDPLAN_TESTS_SUPPORT_VLLM_CONTEXT_H_

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/vllm/context.h"
#include "engine/vllm/weights.h"
#include "shardplan/base/file.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/model/family.h"
#include "support/example_model.h"

namespace shardplan::testing_support {

inline ModelSpec ExampleModel(const std::string& name) { return Build(ExampleConfig(name)); }

// Owns what the context points to; fill in `sizes`, `settings`, then call Resolve.
class VllmContext {
 public:
  explicit VllmContext(const std::string& example, const std::string& version = "")
      : VllmContext(ExampleModel(example), version) {}
  explicit VllmContext(ModelSpec spec, const std::string& version = "") : spec_(std::move(spec)) {
    std::vector<Finding> of_profile;
    profile_ = *vllm::LoadProfile(ConfigStore::BuiltIn(), version, &of_profile);
    gpu_.id = "test";
    gpu_.capability = 90;
    gpu_.multiprocessors = 132;
    gpu_.device_total.bytes = Range(Bytes(150'754'820'096));  // NVML's total of an H200
    gpu_.cuda_visible.bytes = Range(Bytes(150'109'880'320));
    context.arch = &spec_.arch;
    context.table = &spec_.table;
    context.gpu = &gpu_;
    context.profile = &profile_;
  }
  VllmContext(const VllmContext&) = delete;
  VllmContext& operator=(const VllmContext&) = delete;

  // Resolves settings and forms the stages.
  void Resolve(const std::optional<std::string>& partition = std::nullopt) {
    const auto resolved = vllm::ResolveSettings(context, &defaults, &findings);
    ASSERT_TRUE(resolved.has_value()) << resolved.error().ToString();
    context.resolved = *resolved;
    context.stages = partition ? PartitionFrom(*ParsePartition(*partition))
                               : DefaultPartition(spec_.arch.layers(), context.sizes.pp);
  }

  DeviceWeights Weights(int64_t ep_rank = 0) const {
    return ComputeDeviceWeights(spec_.arch, spec_.table, vllm::RulesFor(context, ep_rank));
  }

  ModelSpec& spec() { return spec_; }
  GpuSpec& gpu() { return gpu_; }
  vllm::Profile& profile() { return profile_; }

  vllm::Context context;
  std::vector<OptionValue> defaults;
  std::vector<Finding> findings;

 private:
  ModelSpec spec_;
  GpuSpec gpu_;
  vllm::Profile profile_;
};

// Rows of a .jsonl file below tests/data.
inline std::vector<nlohmann::json> ReadRows(const std::string& name) {
  std::ifstream in(std::string(SHARDPLAN_TEST_DATA) + "/" + name);
  EXPECT_TRUE(in.good()) << name;
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(in, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

// Test names take letters, digits and underscores only.
inline std::string ExampleName(const ::testing::TestParamInfo<std::string>& example) {
  std::string name = example.param;
  for (char& c : name) c = c == '-' || c == '.' || c == '+' ? '_' : c;
  return name;
}

// A field that may be null.
template <typename T>
std::optional<T> Optional(const nlohmann::json& row, const char* key) {
  if (row.at(key).is_null()) return std::nullopt;
  return row.at(key).get<T>();
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_VLLM_CONTEXT_H_
