#include "engine/vllm/speculative_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan::vllm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string SpeculationError(const std::string& text) {
  const Result<Speculation> read = ParseSpeculation(text);
  if (read) return "read";
  EXPECT_EQ(read.error().code, ErrorCode::kUsage) << text;
  return read.error().ToString();
}

TEST(ParseSpeculation, KeepsTheTextAndReadsTheRest) {
  const std::string text =
      R"({"method": "mtp", "num_speculative_tokens": 3, "draft_tensor_parallel_size": 8,)"
      R"( "disable_padded_drafter_batch": true})";
  const auto s = ParseSpeculation(text);
  ASSERT_TRUE(s.has_value()) << s.error().ToString();
  EXPECT_EQ(s->text, text);
  EXPECT_EQ(s->method, "mtp");
  EXPECT_EQ(s->tokens, 3);
  EXPECT_EQ(s->draft_tp, 8);
  EXPECT_FALSE(s->keeps_probabilities);
  EXPECT_THAT(s->unmodelled, IsEmpty());
  EXPECT_THAT(s->unknown, IsEmpty());
}

TEST(ParseSpeculation, OldNamesAreMtp) {
  for (const char* name : {"deepseek_mtp", "qwen3_next_mtp", "glm4_moe_mtp", "mimo_mtp", "mtp"}) {
    const auto s = ParseSpeculation(std::string(R"({"method": ")") + name + R"("})");
    ASSERT_TRUE(s.has_value()) << name;
    EXPECT_EQ(s->method, "mtp") << name;
    EXPECT_EQ(s->tokens, 0);
  }
}

TEST(ParseSpeculation, AModelsNameMayTellTheMethod) {
  const std::pair<const char*, const char*> cases[] = {{"heads/EAGLE3-LLaMA3.1", "eagle3"},
                                                       {"yuhuili/EAGLE-LLaMA3", "eagle"},
                                                       {"ngram", "ngram"},
                                                       {"models/small", ""}};
  for (const auto& [model, method] : cases) {
    const auto s = ParseSpeculation(std::string(R"({"model": ")") + model + R"("})");
    ASSERT_TRUE(s.has_value()) << model;
    EXPECT_EQ(s->method, method) << model;
    EXPECT_EQ(s->model, model);
  }
}

TEST(ParseSpeculation, KeysThatAreOnlyPassedOn) {
  const auto s = ParseSpeculation(
      R"({"method": "mtp", "kv_cache_dtype": "fp8", "a\u001bb": 1, "draft_sample_method":)"
      R"( "probabilistic"})");
  ASSERT_TRUE(s.has_value()) << s.error().ToString();
  EXPECT_THAT(s->unmodelled, ElementsAre("kv_cache_dtype"));
  EXPECT_THAT(s->unknown, ElementsAre("a\\x1bb"));
  EXPECT_TRUE(s->keeps_probabilities);
}

TEST(ParseSpeculation, Refusals) {
  EXPECT_EQ(SpeculationError("{}"),
            "--speculative-config: expected a method or a model, found neither; {\"method\": "
            "\"mtp\", \"num_speculative_tokens\": 1}");
  EXPECT_EQ(SpeculationError(R"({"method": "mtp", "num_speculativ_tokens": 1})"),
            "--speculative-config: num_speculativ_tokens: no such key; did you mean "
            "num_speculative_tokens?");
  EXPECT_EQ(SpeculationError(R"({"method": "mtp", "tensor_parallel_size": 1})"),
            "--speculative-config: tensor_parallel_size: vLLM refuses it; did you mean "
            "draft_tensor_parallel_size?");
  EXPECT_NE(SpeculationError(R"({"method": "eagle4"})").find("did you mean eagle or eagle3"),
            std::string::npos);
  for (const char* text :
       {"", "[", "[1]", "mtp", R"({"method": 3})",
        R"({"method": "mtp", "num_speculative_tokens": 0})",
        R"({"method": "mtp", "num_speculative_tokens": "3"})", R"({"method": "_mtp"})",
        R"({"method": "mtp", "draft_sample_method": "x"})"}) {
    EXPECT_NE(SpeculationError(text), "read") << text;
  }
  // Deep enough to exhaust a recursive parser's stack.
  EXPECT_NE(SpeculationError(std::string(100'000, '[')).find("--speculative-config"),
            std::string::npos);
}

}  // namespace
}  // namespace shardplan::vllm
