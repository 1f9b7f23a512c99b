#include "shardplan/report/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/example_plan.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::ordered_json;
using testing_support::ExamplePlan;
using testing_support::IllegalPlan;
using testing_support::ShortPlan;

std::vector<std::string> Keys(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

// The fields that scripts rely on: additions are fine, renames are not.
TEST(PlanJsonTest, FieldsInOrder) {
  const Json d = Json::parse(RenderPlanJson(ExamplePlan()));
  EXPECT_THAT(Keys(d), ElementsAre("schema_version", "verdict", "verdict_low", "verdict_high",
                                   "limiting", "findings", "model", "engine", "layout", "cluster",
                                   "summary", "basis_share", "ranks", "activations", "kv_cache",
                                   "static_memory", "window", "host", "files", "launch", "traffic",
                                   "loading", "expert_load"));
  EXPECT_THAT(Keys(d["findings"][0]), ElementsAre("id", "severity", "subject", "message", "fix"));
  EXPECT_THAT(Keys(d["model"]),
              ElementsAre("source", "architecture", "family", "tensors", "payload_bytes",
                          "file_bytes", "parameters", "elements", "shape_basis"));
  EXPECT_THAT(Keys(d["engine"]), ElementsAre("name", "version", "defaults"));
  EXPECT_THAT(Keys(d["layout"]),
              ElementsAre("tp", "pp", "dp", "ep", "dcp", "world_size", "stages"));
  EXPECT_THAT(Keys(d["layout"]["stages"][0]), ElementsAre("stage", "first_layer", "layer_count"));
  EXPECT_THAT(Keys(d["ranks"][0]),
              ElementsAre("rank", "node", "gpu", "numa_node", "stage", "tp_rank", "dp_rank",
                          "ep_rank", "device_total_bytes", "capacity_bytes", "budget_bytes",
                          "weights_bytes", "offloaded_bytes", "pinned_allocated_bytes",
                          "weights_detail", "kv_available_bytes", "kv_available_low_bytes",
                          "kv_available_high_bytes", "bytes_per_block", "headroom_bytes",
                          "load_peak_bytes", "assumed_share", "ledger"));
  EXPECT_THAT(
      Keys(d["ranks"][0]["weights_detail"]),
      ElementsAre("parameters_bytes", "buffers_bytes", "post_load_bytes", "rounding_bytes"));
  EXPECT_THAT(
      Keys(d["ranks"][0]["ledger"][0]),
      ElementsAre("account", "in_budget", "bytes", "low_bytes", "high_bytes", "basis", "source"));
  EXPECT_THAT(
      Keys(d["kv_cache"]),
      ElementsAre("dtype", "block_tokens", "bytes_per_block", "page_bytes",
                  "bytes_per_block_by_stage", "attention_layers_by_stage", "groups", "num_blocks",
                  "num_blocks_low", "num_blocks_high", "blocks_per_request", "max_concurrency",
                  "tokens", "full_window_requests", "typical_tokens", "typical_concurrency"));
  EXPECT_EQ(d["kv_cache"]["groups"],
            Json::parse(R"([{"kind": "KDA states", "window": null, "caches": 7,
                             "block_tokens": null, "page_bytes": 524288, "blocks_per_request": 3},
                            {"kind": "sliding window", "window": 128, "caches": 8,
                             "block_tokens": 768, "page_bytes": 524288,
                             "blocks_per_request": 23}])"));
  EXPECT_THAT(Keys(d["window"]), ElementsAre("max_model_len", "output_tokens", "max_input_tokens"));
  EXPECT_THAT(Keys(d["host"][0]),
              ElementsAre("node", "name", "pinned_bytes", "pinned_allocated_bytes", "per_numa",
                          "rows", "memory", "container_memory", "shm"));
  EXPECT_THAT(Keys(d["host"][0]["per_numa"][0]),
              ElementsAre("numa_node", "bytes", "allocated_bytes", "memory_bytes"));
  EXPECT_THAT(Keys(d["cluster"]), ElementsAre("gpu", "gpu_name", "nodes", "gpus_per_node", "file"));
  EXPECT_THAT(Keys(d["files"][0]), ElementsAre("node", "shards", "needed_shards", "bytes"));
  EXPECT_THAT(Keys(d["launch"][0]), ElementsAre("node", "env", "argv"));
}

TEST(PlanJsonTest, HostMemoryThatAClusterTells) {
  Plan plan = ExamplePlan();
  EXPECT_EQ(Json::parse(RenderPlanJson(plan))["host"][0]["memory"], nullptr);
  EXPECT_EQ(Json::parse(RenderPlanJson(plan))["cluster"]["file"], nullptr);
  plan.cluster_file = "c.yaml";
  plan.host[0].name = "h20-0";
  plan.host[0].memory = {Range(Bytes(9)), Basis::kMeasured, "meminfo"};
  plan.host[0].per_numa[1].memory = Bytes(4);
  plan.host[0].rows = {
      {"page_cache", Range(Bytes(1), Bytes(2), Bytes(3)), Basis::kExact, "f", true}};
  const Json d = Json::parse(RenderPlanJson(plan));
  EXPECT_EQ(d["cluster"]["file"], "c.yaml");
  EXPECT_EQ(d["host"][0]["name"], "h20-0");
  EXPECT_EQ(d["host"][0]["memory"],
            Json::parse(R"({"bytes": 9, "basis": "measured", "source": "meminfo"})"));
  EXPECT_EQ(d["host"][0]["container_memory"], nullptr);
  EXPECT_EQ(d["host"][0]["per_numa"][0]["memory_bytes"], nullptr);
  EXPECT_EQ(d["host"][0]["per_numa"][1]["memory_bytes"], 4);
  EXPECT_EQ(d["host"][0]["rows"],
            Json::parse(R"([{"name": "page_cache", "bytes": 2, "low_bytes": 1, "high_bytes": 3,
                             "basis": "exact", "source": "f", "reclaimable": true}])"));
  EXPECT_EQ(d["host"][1]["rows"], Json::array());
}

TEST(PlanJsonTest, ValuesAreBytesAndCounts) {
  const Json d = Json::parse(RenderPlanJson(ExamplePlan()));
  EXPECT_EQ(d["schema_version"], 1);
  EXPECT_EQ(d["verdict"], "fits");
  EXPECT_EQ(d["limiting"], nullptr);
  EXPECT_EQ(d["model"]["file_bytes"], 30'000'123'456);
  EXPECT_EQ(d["model"]["shape_basis"], "exact");
  EXPECT_EQ(d["engine"]["defaults"], Json({{"dtype", "bfloat16"}, {"block-size", "16"}}));
  EXPECT_EQ(d["layout"]["world_size"], 4);
  EXPECT_EQ(d["layout"]["stages"][1], Json({{"stage", 1}, {"first_layer", 5}, {"layer_count", 4}}));
  EXPECT_EQ(d["summary"]["even_share_bytes"], 7'500'030'864);
  EXPECT_EQ(d["ranks"].size(), 4U);
  EXPECT_EQ(d["ranks"][3]["rank"], 3);
  EXPECT_EQ(d["ranks"][0]["weights_bytes"], 8 * kGiB);
  EXPECT_EQ(d["activations"][0]["binding_phase"], "moe_combine");
  EXPECT_EQ(d["kv_cache"]["tokens"], 1'234'955);
  EXPECT_EQ(d["kv_cache"]["max_concurrency"], 2.3567);
  EXPECT_EQ(d["kv_cache"]["typical_concurrency"], nullptr);
  EXPECT_EQ(d["window"]["max_input_tokens"], 491'520);
  EXPECT_EQ(d["files"][1]["needed_shards"], Json({"model-00004-of-00004.safetensors"}));
  EXPECT_EQ(d["launch"][1]["env"]["VLLM_PP_LAYER_PARTITION"], "5,4");
  EXPECT_EQ(d["launch"][1]["argv"][6], "<MASTER_ADDR>");
}

TEST(PlanJsonTest, LedgersSumToTheCard) {
  const Json d = Json::parse(RenderPlanJson(ExamplePlan()));
  for (const Json& rank : d["ranks"]) {
    int64_t sum = 0;
    for (const Json& entry : rank["ledger"]) sum += entry["bytes"].get<int64_t>();
    EXPECT_EQ(sum, rank["device_total_bytes"]);
  }
}

TEST(PlanJsonTest, WhatIsShort) {
  const Json d = Json::parse(RenderPlanJson(ShortPlan()));
  EXPECT_EQ(d["verdict"], "does_not_fit");
  EXPECT_EQ(d["limiting"],
            Json({{"rank", 1}, {"account", "kv_cache"}, {"short_bytes", kGiB * 13 / 4}}));
}

TEST(PlanJsonTest, IllegalLayoutsAreEmpty) {
  Plan plan = ExamplePlan();
  plan.verdict = Verdict::kIllegal;  // whatever else is there
  for (const Plan& illegal : {plan, IllegalPlan(), Plan()}) {
    const Json d = Json::parse(RenderPlanJson(illegal));
    EXPECT_EQ(d["verdict"], "illegal");
    for (const char* list : {"ranks", "host", "files", "launch", "activations"}) {
      EXPECT_EQ(d[list], Json::array()) << list;
    }
    EXPECT_EQ(d["kv_cache"], nullptr);
  }
}

TEST(PlanJsonTest, UnknownIsNull) {
  Plan plan = ExamplePlan();
  plan.files.clear();
  plan.file_bytes.reset();
  plan.window = {4096, {}, {}};
  const Json d = Json::parse(RenderPlanJson(plan));
  EXPECT_EQ(d["model"]["file_bytes"], nullptr);
  EXPECT_EQ(d["window"]["output_tokens"], nullptr);
  EXPECT_EQ(d["window"]["max_input_tokens"], nullptr);
  ASSERT_EQ(d["files"].size(), 2U);
  EXPECT_EQ(
      d["files"][1],
      Json({{"node", 1}, {"shards", nullptr}, {"needed_shards", nullptr}, {"bytes", nullptr}}));
}

TEST(PlanJsonTest, SurvivesHostileNames) {
  Plan plan = ExamplePlan();
  plan.source = "a\xff\n\"";
  plan.launch[0].argv[2] = "\xc3";
  plan.files[0].shards = {"\xe2\x82"};
  const Json d = Json::parse(RenderPlanJson(plan));
  EXPECT_EQ(d["model"]["source"], "a\xef\xbf\xbd\n\"");
  EXPECT_NE(RenderPlanYaml(plan), "");
}

TEST(PlanYamlTest, IsTheSameDocument) {
  const std::string text = RenderPlanYaml(ExamplePlan());
  EXPECT_THAT(text, ::testing::StartsWith("schema_version: 1\nverdict: \"fits\"\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("      - \"<MASTER_ADDR>\"\n"));
}

}  // namespace
}  // namespace shardplan
