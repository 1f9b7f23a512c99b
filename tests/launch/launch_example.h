// A plan on two nodes, and one whose every word is hostile.
#ifndef SHARDPLAN_TESTS_LAUNCH_LAUNCH_EXAMPLE_H_
#define SHARDPLAN_TESTS_LAUNCH_LAUNCH_EXAMPLE_H_

#include <string>
#include <utility>
#include <vector>

#include "shardplan/base/bytes.h"
#include "shardplan/launch/launch_input.h"
#include "shardplan/model/model.h"
#include "shardplan/plan/plan.h"

namespace shardplan::testing_support {

struct LaunchExample {
  Plan plan;
  Model model;
  LaunchSite site;

  LaunchInput input() const { return {plan, model, site}; }
};

// What must come through a shell, YAML and JSON as it is.
inline std::vector<std::string> HostileWords() {
  return {"two words",
          "it's",
          "say \"hi\"",
          "$(touch /tmp/shardplan-was-here)",
          "`touch /tmp/shardplan-was-here`",
          "${HOME}",
          "$$",
          "two\nlines\n",
          "-rf",
          "--",
          "back\\slash\\",
          "mod\xc3\xa8le \xe6\xa8\xa1\xe5\x9e\x8b",
          "; reboot #",
          "a: b #c",
          "*",
          "~",
          "!!",
          "<MASTER_ADDR> and more",
          "{\"a\": [1, \"b\"]}",
          "\x1b[2J",
          "tab\tin",
          ""};
}

// Whole nodes of eight cards, a stage each; `words` stand behind the plan's own flags.
inline LaunchExample TwoNodes(const std::vector<std::string>& words = {}) {
  LaunchExample out;
  Plan& plan = out.plan;
  plan.verdict = Verdict::kFits;
  plan.source = "/models/Kimi-K3/config.json";
  plan.engine = "vllm";
  plan.engine_version = "0.31.0";
  plan.gpu_name = "NVIDIA H20";
  plan.nodes = 2;
  plan.sizes.tp = 8;
  plan.sizes.pp = 2;
  plan.gpus_per_node = 8;
  for (int64_t rank = 0; rank < 16; ++rank) {
    RankPlan r;
    r.place.rank = rank;
    r.place.node = rank / 8;
    r.place.gpu = rank % 8;
    r.place.stage = rank / 8;
    r.weights = Bytes(int64_t{10} << 30);
    plan.ranks.push_back(r);
  }
  for (int64_t node = 0; node < 2; ++node) {
    LaunchPlan launch;
    launch.node = node;
    launch.env = {{"VLLM_PP_LAYER_PARTITION", "48,45"}};
    launch.argv = {"vllm",
                   "serve",
                   "/models/Kimi-K3",
                   "--tensor-parallel-size",
                   "8",
                   "--pipeline-parallel-size",
                   "2",
                   "--distributed-executor-backend",
                   "mp",
                   "--nnodes",
                   "2",
                   "--node-rank",
                   std::to_string(node),
                   "--master-addr",
                   "<MASTER_ADDR>",
                   "--master-port",
                   "29501"};
    if (node > 0) launch.argv.emplace_back("--headless");
    for (const std::string& word : words) {
      launch.argv.emplace_back("--chat-template=" + word);
      launch.env.emplace_back("WORD_" + std::to_string(launch.env.size()), word);
    }
    plan.launch.push_back(launch);
    plan.host.push_back({node, Bytes(), Bytes(int64_t{4} << 30), {}});
  }
  out.site.model_path = "/models/Kimi-K3";
  return out;
}

// The same on one node of two cards, without flags of several nodes.
inline LaunchExample OneNode(const std::vector<std::string>& words = {}) {
  LaunchExample out = TwoNodes(words);
  Plan& plan = out.plan;
  plan.nodes = 1;
  plan.sizes.tp = 2;
  plan.sizes.pp = 1;
  plan.ranks.resize(2);
  plan.launch.resize(1);
  plan.host.resize(1);
  std::vector<std::string>& argv = plan.launch[0].argv;
  argv.erase(argv.begin() + 7, argv.begin() + 17);
  return out;
}

// Its model is at another place.
inline void MoveModel(LaunchExample* example, const std::string& path) {
  example->site.model_path = path;
  for (LaunchPlan& launch : example->plan.launch) launch.argv[2] = path;
}

// What the place knows of its network.
inline void FillSite(LaunchSite* site) {
  site->hosts = {"10.0.0.1", "10.0.0.2"};
  site->socket_ifname = "lo";
  site->ib_hca = "mlx5_0,mlx5_1";
  site->gid_index = 3;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_LAUNCH_LAUNCH_EXAMPLE_H_
