// tests/data/cases/observed.jsonl is read strictly: what is dropped there would be a wrong plan.
#include "tools/accuracy/cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using accuracy::Case;
using testing::HasSubstr;
using testing_support::TempDir;

// A start of `engine`, as the file tells it; `rest` are flags, use and figures.
Result<std::vector<Case>> ReadRow(const std::string& engine, const std::string& rest) {
  TempDir dir;
  dir.Write("configs/x.json", "{}");
  dir.Write("cases/observed.jsonl",
            R"({"id":"x","model":"m","source":null,"engine":")" + engine +
                R"(","version":"0.5.12","gpu":"h100-80-sxm","nodes":1,"tp":4,"pp":1,"dp":2,)"
                R"("ep":true,"config":"configs/x.json","set":{},)" +
                rest + "}\n");
  return accuracy::ReadCases(dir.path());
}

std::string ErrorOf(const Result<std::vector<Case>>& cases) {
  return cases ? "no error" : cases.error().ToString();
}

TEST(AccuracyCases, AFlagThatNobodyKnowsIsNotDropped) {
  const std::string weights = R"("use":["weights"],"weights_gib":[1])";
  EXPECT_THAT(ErrorOf(ReadRow("vllm", R"("flags":{"speed":1},)" + weights)),
              HasSubstr("unknown flag speed"));
  EXPECT_THAT(ErrorOf(ReadRow("sglang", R"("flags":{"speed":1},)" + weights)),
              HasSubstr("unknown flag speed"));
  EXPECT_THAT(ErrorOf(ReadRow("sglang", R"("flags":{"max_model_len":1},)" + weights)),
              HasSubstr("unknown flag max_model_len"));
  EXPECT_THAT(ErrorOf(ReadRow("vllm", R"("flags":{"context_length":1},)" + weights)),
              HasSubstr("unknown flag context_length"));
}

TEST(AccuracyCases, FlagsOfSglangThatMeanTheSameGoToBothEngines) {
  const auto cases = ReadRow(
      "sglang",
      R"("flags":{"mem_fraction_static":0.9,"context_length":32768,"chunked_prefill_size":8192,)"
      R"("max_prefill_tokens":4096,"max_running_requests":32,"ep_size":2,)"
      R"("enable_dp_attention":true,"disable_radix_cache":true,"attention_backend":"fa3",)"
      R"("moe_runner_backend":"marlin"},"use":["kv_tokens","verdict"],"pool_gib":[8.23,8.23],)"
      R"("kv_tokens":5,"result":"started")");
  ASSERT_TRUE(cases.has_value()) << ErrorOf(cases);
  const Case& c = (*cases)[0];
  const SglangSettings& g = c.deployment.sglang;
  const EngineSettings& s = c.deployment.settings;
  EXPECT_EQ(g.mem_fraction_static, 0.9);
  EXPECT_EQ(g.context_length, 32768);
  EXPECT_EQ(s.max_model_len, 32768);
  EXPECT_EQ(g.chunked_prefill_size, 8192);
  EXPECT_EQ(s.max_num_batched_tokens, 8192);
  EXPECT_EQ(g.max_prefill_tokens, 4096);
  EXPECT_EQ(g.max_running_requests, 32);
  EXPECT_EQ(s.max_num_seqs, 32);
  EXPECT_EQ(g.ep_size, 2);
  EXPECT_TRUE(g.enable_dp_attention);
  EXPECT_TRUE(g.disable_radix_cache);
  EXPECT_EQ(s.enable_prefix_caching, false);
  EXPECT_EQ(g.attention_backend, "fa3");
  EXPECT_EQ(g.moe_runner_backend, "marlin");
  EXPECT_THAT(c.pool_gib, testing::ElementsAre(8.23, 8.23));
  EXPECT_EQ(c.kv_tokens, 5);
}

TEST(AccuracyCases, FiguresOfSglangAreReadStrictly) {
  const auto error = [](const std::string& rest) {
    return ErrorOf(ReadRow("sglang", R"("flags":{},)" + rest));
  };
  EXPECT_THAT(error(R"("use":["kv_tokens"],"pool_gib":[1])"), HasSubstr("expected kv_tokens"));
  EXPECT_THAT(error(R"("use":["kv_tokens"],"kv_tokens":5)"), HasSubstr("pool_gib"));
  EXPECT_THAT(error(R"("use":["kv_tokens"],"kv_tokens":5,"pool_gib":[1,2,3])"),
              HasSubstr("expected one or two pool_gib"));
  EXPECT_THAT(error(R"("use":["verdict"])"), HasSubstr("expected a result"));
  EXPECT_THAT(error(R"("use":["unexplained"],"weights_gib":[1],"result":"refused")"),
              HasSubstr("a reason"));
}

}  // namespace
}  // namespace shardplan
