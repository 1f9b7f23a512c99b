#include "shardplan/report/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/text.h"
#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::Cards;
using testing_support::ExampleFromConfig;
using testing_support::Store;
using Json = nlohmann::json;

SearchRequest Asking() {
  SearchRequest request;
  request.objectives = {Objective::kMaxConcurrency};
  request.limit = 2;
  request.variants.emplace_back();
  Deployment& d = request.variants[0].base;
  d.gpu = "h100-80-sxm";
  d.settings.max_model_len = 8192;
  request.variants[0].words = {"a model"};
  request.variants[0].given.pp = request.variants[0].given.dp = true;
  return request;
}

SearchResult Search(const SearchRequest& request) {
  return *SearchLayouts(ExampleFromConfig("dense-70b"), Cards(), Store(), request);
}

TEST(SearchReport, TheCommandOfACandidate) {
  Candidate c;
  c.words = {"my model", "--gpu", "h20-96"};
  Deployment& d = c.deployment;
  d.nodes = 2;
  d.sizes = {.tp = 8, .pp = 2, .dcp = 4, .expert_parallel = true};
  d.partition = std::vector<int64_t>{48, 45};
  c.chosen = {{"cpu-offload-gb", "32"}};
  EXPECT_THAT(CommandOf(c),
              ElementsAre("shardplan", "plan", "my model", "--gpu", "h20-96", "--nodes", "2",
                          "--tp", "8", "--pp", "2", "--pp-partition", "48,45", "--dcp", "4",
                          "--enable-expert-parallel", "--cpu-offload-gb", "32"));
  Candidate sglang;
  sglang.deployment.engine = "sglang";
  sglang.deployment.sizes = {.tp = 16, .dp = 4};
  sglang.deployment.sglang.enable_dp_attention = true;
  sglang.deployment.sglang.ep_size = 16;
  EXPECT_THAT(CommandOf(sglang),
              ElementsAre("shardplan", "plan", "--nodes", "1", "--tp", "16", "--dp", "4",
                          "--enable-dp-attention", "--ep-size", "16"));
}

TEST(SearchReport, TableAndDocument) {
  const SearchRequest request = Asking();
  const SearchResult result = Search(request);
  const std::string table = RenderSearchTable(result, request);
  EXPECT_THAT(table, HasSubstr("Layouts on 1 node × 8 NVIDIA H100"));
  EXPECT_THAT(table, HasSubstr("Best first, by max-concurrency\n"));
  EXPECT_THAT(table, HasSubstr("\n1. TP8\n  limited by rank 0 on stage 0: "));
  EXPECT_THAT(table, HasSubstr("\n  shardplan plan 'a model' --nodes 1 --tp 8\n"));
  EXPECT_THAT(table, HasSubstr("Rejected, by reason\n"));
  EXPECT_THAT(table, HasSubstr("\nbest: TP8; "));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100u) << line;

  const Json d = Json::parse(RenderSearchJson(result));
  EXPECT_EQ(d["schema_version"], 1);
  EXPECT_EQ(d["feasible"], result.feasible);
  ASSERT_EQ(d["candidates"].size(), 2u);
  const Json& first = d["candidates"][0];
  EXPECT_EQ(first["verdict"], "fits");
  EXPECT_EQ(first["layout"]["tp"], 8);
  EXPECT_EQ(first["engine_settings"], Json::object());
  EXPECT_DOUBLE_EQ(first["score"]["concurrency"], result.candidates[0].score.concurrency);
  EXPECT_EQ(first["kv_cache"]["num_blocks"], result.candidates[0].plan.kv->num_blocks);
  EXPECT_GE(first["limiting"]["headroom_bytes"], 0);
  EXPECT_EQ(first["argv"], Json(CommandOf(result.candidates[0])));
  ASSERT_EQ(d["rejected"].size(), result.rejected.size());
  for (const char* key : {"reason_id", "count", "example"}) {
    EXPECT_TRUE(d["rejected"][0].contains(key)) << key;
  }
}

TEST(SearchReport, WhatWasVariedStandsBehindTheLayout) {
  const SearchRequest request = Asking();
  SearchResult result = Search(request);
  ASSERT_FALSE(result.candidates.empty());
  result.candidates[0].settings = {
      {"engine", "vllm@0.30.0"}, {"tp", "8"}, {"kv-cache-dtype", "fp8"}};
  const std::string table = RenderSearchTable(result, request);
  EXPECT_THAT(table, HasSubstr("  TP8, kv-cache-dtype fp8  "));
  EXPECT_THAT(table, HasSubstr("\n1. TP8, kv-cache-dtype fp8\n"));
  EXPECT_THAT(table, HasSubstr("\nbest: TP8, kv-cache-dtype fp8; "));
  EXPECT_THAT(table, testing::Not(HasSubstr("engine vllm@")));
}

TEST(SearchReport, OtherKindsAndWhatRunsToday) {
  SearchRequest request = Asking();
  request.limit = 1;
  request.variants[0].given = {};
  request.today = request.variants[0].base;
  request.today->sizes.tp = 8;
  request.freed = {"--tensor-parallel-size 8", "--pipeline-parallel-size 1"};
  const SearchResult result = Search(request);
  const std::string table = RenderSearchTable(result, request);
  EXPECT_THAT(table, HasSubstr("\ntoday: TP8 on 8 cards; "));
  EXPECT_THAT(table, HasSubstr("\nfree in this search, although the command gives them: "
                               "--tensor-parallel-size 8,\n  --pipeline-parallel-size 1; the "
                               "rest of it stays. Give one beside the command to keep it\n"));
  EXPECT_THAT(table, HasSubstr("\nInstead\n  "));
  EXPECT_THAT(table, HasSubstr("\n    limited by rank "));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100u) << line;
  const Json d = Json::parse(RenderSearchJson(result));
  EXPECT_EQ(d["today"]["layout"]["tp"], 8);
  ASSERT_FALSE(d["instead"].empty());
  for (const Json& other : d["instead"]) {
    EXPECT_NE(other["candidate"].is_null(), other["miss"].is_null());
  }
}

// Whatever is in it, a hundred columns are enough.
TEST(SearchReport, WideTablesShortenThenWrap) {
  const SearchRequest request = Asking();
  SearchResult result = Search(request);
  ASSERT_EQ(result.candidates.size(), 2u);
  for (Candidate& c : result.candidates) {
    c.plan.sizes = {.tp = 16, .pp = 16, .dp = 16, .dcp = 16, .expert_parallel = true};
    c.score.window = 1'048'576;
    c.score.concurrency = 12'345.67;
  }
  result.candidates[1].plan.engine = "sglang";
  result.candidates[0].narrowed = true;
  result.candidates[0].deployment.settings.kv_cache_dtype = "fp8";
  for (const int width : {100, 84}) {
    TableOptions options;
    options.width = width;
    const std::string table = RenderSearchTable(result, request, options);
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("  shardplan ") != std::string::npos) continue;  // one line, to be pasted
      EXPECT_LE(DisplayWidth(line), static_cast<size_t>(width)) << line;
    }
    EXPECT_THAT(table, HasSubstr("EP: whole experts"));
    EXPECT_THAT(table, HasSubstr("changes precision: its cache holds FP8"));
  }
}

TEST(SearchReport, NothingFits) {
  SearchRequest request = Asking();
  request.variants[0].base.gpu = "l4-24";
  request.variants[0].base.gpus_per_node = 1;
  request.variants[0].given.offload = true;
  const SearchResult result = Search(request);
  EXPECT_EQ(result.feasible, 0);
  const std::string table = RenderSearchTable(result, request);
  EXPECT_THAT(table, HasSubstr("Looked at 1 layout in 3 evaluations: none fits"));
  EXPECT_THAT(table, HasSubstr("\nno layout fits\n"));
  // What `plan` says of the nearest.
  EXPECT_THAT(table, HasSubstr("\nnearest: fit."));
  EXPECT_THAT(table, HasSubstr("\n    fix: "));
  const Json d = Json::parse(RenderSearchJson(result));
  ASSERT_FALSE(d["nearest"].empty());
  EXPECT_EQ(d["nearest"][0]["severity"], "error");
  EXPECT_THAT(RenderSearchYaml(result), HasSubstr("candidates: []"));
}

}  // namespace
}  // namespace shardplan
