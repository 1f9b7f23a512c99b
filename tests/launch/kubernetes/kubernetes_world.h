// Deployments that the tests of manifests share.
#ifndef SHARDPLAN_TESTS_LAUNCH_KUBERNETES_KUBERNETES_WORLD_H_
#define SHARDPLAN_TESTS_LAUNCH_KUBERNETES_KUBERNETES_WORLD_H_

#include <gtest/gtest.h>

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "launch/kubernetes/facts.h"
#include "launch/kubernetes/manifests.h"
#include "shardplan/base/units.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan::testing_support {

// Everything that manifests are made from; small, and made by hand.
struct KubernetesWorld {
  Plan plan;
  Model model;
  LaunchSite site;
  kubernetes::Options options;

  LaunchInput input() const { return {plan, model, site}; }

  kubernetes::Facts Facts() const {
    input_.emplace_back(input());
    auto facts = kubernetes::MakeFacts(input_.back(), options);
    EXPECT_TRUE(facts.has_value()) << (facts ? "" : facts.error().ToString());
    return facts ? std::move(*facts) : kubernetes::Facts();
  }

  Bundle Manifests() const {
    auto bundle = kubernetes::MakeManifests(input(), options);
    EXPECT_TRUE(bundle.has_value()) << (bundle ? "" : bundle.error().ToString());
    return bundle ? std::move(*bundle) : Bundle();
  }

  std::string Error() const {
    const auto bundle = kubernetes::MakeManifests(input(), options);
    return bundle ? "made" : bundle.error().ToString();
  }

 private:
  mutable std::list<LaunchInput> input_;  // facts point to it
};

// A command of vLLM on one node of several, with a word of its own.
inline LaunchPlan VllmOn(int64_t node, int64_t nodes, const std::vector<std::string>& more = {}) {
  LaunchPlan launch;
  launch.node = node;
  launch.env = {{"VLLM_PP_LAYER_PARTITION", "48,45"}};
  launch.argv = {"vllm", "serve", "/models/Kimi K3", "--tensor-parallel-size", "2"};
  if (nodes > 1) {
    launch.argv.insert(launch.argv.end(),
                       {"--nnodes", std::to_string(nodes), "--node-rank", std::to_string(node),
                        "--master-addr", "<MASTER_ADDR>", "--master-port", "29501"});
    if (node > 0) launch.argv.push_back("--headless");
  }
  launch.argv.insert(launch.argv.end(), more.begin(), more.end());
  return launch;
}

// Two ranks a node, a stage a node, two shard files each of which the second is shared.
inline KubernetesWorld VllmWorld(int64_t nodes, const std::vector<std::string>& more = {}) {
  KubernetesWorld world;
  Plan& plan = world.plan;
  plan.verdict = Verdict::kFits;
  plan.source = "/models/Kimi K3";
  plan.engine = "vllm";
  plan.engine_version = "0.31.0";
  plan.gpu = "h20-96";
  plan.gpu_name = "NVIDIA H20";
  plan.nodes = nodes;
  Inventory& inventory = world.model.inventory;
  inventory.directory = "/models/Kimi K3";
  inventory.config_path = "/models/Kimi K3/config.json";
  inventory.has_index = true;
  inventory.has_headers = true;
  for (int64_t node = 0; node < nodes; ++node) {
    plan.launch.push_back(VllmOn(node, nodes, more));
    const std::string own = "model-" + std::to_string(node) + ".safetensors";
    inventory.shards.push_back({own, Bytes(10 + node), {}, {}, 0});
    plan.files.push_back(
        {node, {own, "shared.safetensors"}, {own, "shared.safetensors"}, Bytes(100 * kGiB)});
    plan.host.push_back({node, Bytes(), Bytes(64 * kGiB), {}});
    for (int64_t gpu = 0; gpu < 2; ++gpu) {
      RankPlan rank;
      rank.place.node = node;
      rank.place.gpu = gpu;
      rank.place.stage = node;
      plan.ranks.push_back(std::move(rank));
    }
  }
  inventory.shards.push_back({"shared.safetensors", Bytes(5), {}, {}, 0});
  return world;
}

inline const std::string& TextOf(const Bundle& bundle, const std::string& path) {
  static const std::string none;
  for (const Artefact& file : bundle.files) {
    if (file.path == path) return file.text;
  }
  ADD_FAILURE() << "no file " << path;
  return none;
}

// What breaks out of a shell, of YAML or of a terminal where it is not quoted.
inline std::vector<std::string> HostileBytes() {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  return {"",
          " ",
          "it's",
          "\"quoted\"",
          "$(touch owned)",
          "`touch owned`",
          "$HOME",
          "$(POD_IP)",
          "$$(POD_IP)",
          "$$",
          "*",
          "~",
          "a\nb",
          "a\\",
          "; touch owned",
          "-",
          "#comment",
          ": {}",
          "- x",
          "{{ .Values }}",
          "[x]=y",
          "yes",
          "1e3",
          "modèle-模型",
          "\x1b[31m",
          "trailing ",
          "\t",
          "\r\n",
          "'",
          "\"${server[@]}\"",
          "--- \n...\n",
          all};
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_LAUNCH_KUBERNETES_KUBERNETES_WORLD_H_
