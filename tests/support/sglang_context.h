// An SGLang context for one of the example models, without a checkpoint or a cluster.
#ifndef SHARDPLAN_TESTS_SUPPORT_SGLANG_CONTEXT_H_
#define SHARDPLAN_TESTS_SUPPORT_SGLANG_CONTEXT_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/sglang/context.h"
#include "support/example_model.h"

namespace shardplan::testing_support {

// Owns what the context points to. The card is an H200 unless Card() says otherwise.
class SglangContext {
 public:
  explicit SglangContext(const std::string& example, const std::string& version = "0.5.17")
      : SglangContext(Build(ExampleConfig(example)), version) {}
  explicit SglangContext(ModelSpec spec, const std::string& version = "0.5.17")
      : spec_(std::move(spec)) {
    std::vector<Finding> findings;
    auto profile = sglang::LoadProfile(ConfigStore::BuiltIn(), version, &findings);
    EXPECT_TRUE(profile.has_value()) << (profile ? "" : profile.error().ToString());
    if (profile) profile_ = *std::move(profile);
    gpu_.id = "test";
    gpu_.vendor = "nvidia";
    Card(143771, 90);
    context.arch = &spec_.arch;
    context.dtype = spec_.arch.dtype;
    context.table = &spec_.table;
    context.gpu = &gpu_;
    context.profile = &profile_;
  }
  SglangContext(const SglangContext&) = delete;
  SglangContext& operator=(const SglangContext&) = delete;

  // nvidia-smi's memory.total in MiB; a capability of zero is an AMD card.
  void Card(int64_t mib, int capability) {
    gpu_.device_total.bytes = Range(Bytes(mib * kMiB));
    gpu_.capability = capability;
    gpu_.vendor = capability == 0 ? "amd" : "nvidia";
  }

  ModelSpec& spec() { return spec_; }
  sglang::ServerArgs& args() { return context.args; }

  sglang::Context context;

 private:
  ModelSpec spec_;
  GpuSpec gpu_;
  sglang::Profile profile_;
};

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_SGLANG_CONTEXT_H_
