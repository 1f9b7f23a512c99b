// A tiny Kimi-K3 on disk and its plan on two nodes, for what is written per node.
#ifndef SHARDPLAN_TESTS_LAUNCH_STAGE_WORLD_H_
#define SHARDPLAN_TESTS_LAUNCH_STAGE_WORLD_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>

#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"
#include "support/plan_world.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_models.h"

namespace shardplan::testing_support {

// Six layers, one shard each, then embedding and head (7), projector (8) and tower (9).
class StageWorld : public ::testing::Test {
 protected:
  StageWorld() {
    WriteTiny(TinyKimiK3(), dir_.Path("m"));
    Reload();
    deployment_.gpu = "h20-96";
    deployment_.sizes.tp = 2;
    deployment_.sizes.pp = 2;
    deployment_.gpus_per_node = 2;
    deployment_.partition = std::vector<int64_t>{4, 2};
    deployment_.settings.max_num_seqs = 1;
    deployment_.settings.max_num_batched_tokens = 64;
  }

  void Reload() {
    Result<Model> model = LoadModel(dir_.Path("m"));
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().ToString());
    if (model) model_ = *std::move(model);
  }

  Plan MakePlan() const { return Evaluate(model_, deployment_); }

  static const std::string& TextOf(const Bundle& bundle, const std::string& path) {
    static const std::string none;
    for (const Artefact& file : bundle.files) {
      if (file.path == path) return file.text;
    }
    ADD_FAILURE() << "no " << path;
    return none;
  }

  static std::string Shard(int number) {
    char name[64];
    std::snprintf(name, sizeof(name), "model-%05d-of-000009.safetensors", number);
    return name;
  }

  TempDir dir_;
  Model model_;
  Deployment deployment_;
  LaunchSite site_;
};

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_LAUNCH_STAGE_WORLD_H_
