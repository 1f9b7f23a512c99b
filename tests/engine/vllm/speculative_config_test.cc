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

// A path outweighs the methods that it doesn't fit.
TEST(ParseSpeculation, APathOutweighsAMethod) {
  const auto method = [](const char* asked, const char* model) {
    const auto s = ParseSpeculation(std::string(R"({"method": ")") + asked + R"(", "model": ")" +
                                    model + R"("})");
    EXPECT_TRUE(s.has_value()) << asked;
    return s ? s->method + " of " + s->asked : "";
  };
  EXPECT_EQ(method("medusa", "heads/EAGLE3-LLaMA3.1"), "eagle3 of medusa");
  EXPECT_EQ(method("draft_model", "z-lab/Qwen3-8B-DFlash-b16"), "dflash of draft_model");
  EXPECT_EQ(method("eagle", "heads/EAGLE3-LLaMA3.1"), "eagle of ");
  EXPECT_EQ(method("draft_model", "small"), "draft_model of ");
}

// The path that the engine is given may be another than the one that was planned from.
TEST(HeedPath, TellsTheMethod) {
  Speculation s = *ParseSpeculation(R"({"model": "head/config.json"})");
  HeedPath("org/head", &s);
  EXPECT_EQ(s.method, "");
  HeedPath("RedHatAI/m-speculator.eagle3", &s);
  EXPECT_EQ(s.method, "eagle3");
  EXPECT_EQ(s.asked, "");
  HeedPath("z-lab/DFlash", &s);
  EXPECT_EQ(s.method, "eagle3");
}

// One that is missing is as the other; without both they are 5.
TEST(ParseSpeculation, SizesOfNgrams) {
  const auto sizes = [](const std::string& keys) {
    const auto s =
        ParseSpeculation(R"({"method": "ngram", "num_speculative_tokens": 3)" + keys + "}");
    EXPECT_TRUE(s.has_value()) << keys << s.error().ToString();
    return s ? std::pair(s->lookup_min, s->lookup_max) : std::pair<int64_t, int64_t>();
  };
  using Sizes = std::pair<int64_t, int64_t>;
  EXPECT_EQ(sizes(""), Sizes(5, 5));
  EXPECT_EQ(sizes(R"(, "prompt_lookup_max": 3)"), Sizes(3, 3));
  EXPECT_EQ(sizes(R"(, "prompt_lookup_min": 7)"), Sizes(7, 7));
  EXPECT_EQ(sizes(R"(, "prompt_lookup_min": 2, "prompt_lookup_max": 4)"), Sizes(2, 4));
  constexpr const char* kOrder =
      "--speculative-config: vLLM would say: prompt_lookup_min=4 must be <= prompt_lookup_max=3; "
      "the smaller of them as prompt_lookup_min";
  for (const char* method : {"ngram", "ngram_gpu", "[ngram]"}) {
    EXPECT_EQ(SpeculationError(
                  std::string(R"({"prompt_lookup_min": 4, "prompt_lookup_max": 3, "method": ")") +
                  method + "\"}"),
              kOrder);
  }
  EXPECT_EQ(
      SpeculationError(R"({"method": "mtp", "prompt_lookup_min": 4, "prompt_lookup_max": 3})"),
      "read");
  EXPECT_EQ(SpeculationError(R"({"method": "mtp", "prompt_lookup_max": 0})"),
            "--speculative-config: prompt_lookup_max 0: vLLM would say: Input should be greater "
            "than or equal to 1; a number of tokens");
  EXPECT_NE(SpeculationError(R"({"method": "ngram", "prompt_lookup_min": "2"})"), "read");
}

TEST(ParseSpeculation, SizesOfSuffixes) {
  EXPECT_EQ(ParseSpeculation(R"({"method": "suffix"})")->tree_depth, 24);
  EXPECT_EQ(
      ParseSpeculation(R"({"method": "suffix", "suffix_decoding_max_tree_depth": 8})")->tree_depth,
      8);
  const std::pair<const char*, const char*> refused[] = {
      {R"("suffix_decoding_max_tree_depth": 0)", "suffix_decoding_max_tree_depth=0 must be >= 1"},
      {R"("suffix_decoding_max_cached_requests": -1)",
       "suffix_decoding_max_cached_requests=-1 must be >= 0"},
      {R"("suffix_decoding_max_spec_factor": -0.5)",
       "suffix_decoding_max_spec_factor=-0.5 must be >= 0"},
      {R"("suffix_decoding_min_token_prob": 1.5)",
       "suffix_decoding_min_token_prob=1.5 must be in [0, 1]"}};
  for (const auto& [key, says] : refused) {
    EXPECT_EQ(
        SpeculationError(std::string(R"({"method": "suffix", )") + key + "}"),
        std::string("--speculative-config: vLLM would say: ") + says + "; a value in that range");
    EXPECT_EQ(SpeculationError(std::string(R"({"method": "ngram", )") + key + "}"), "read");
  }
}

TEST(ParseSpeculation, KeysOfOneMethodAlone) {
  EXPECT_EQ(SpeculationError(R"({"method": "eagle3", "use_heterogeneous_vocab": true})"),
            "--speculative-config: vLLM would say: use_heterogeneous_vocab only works with "
            "method='draft_model'; leave it out");
  EXPECT_EQ(SpeculationError(R"({"model": "m", "use_heterogeneous_vocab": true,)"
                             R"( "draft_sample_method": "probabilistic"})"),
            "--speculative-config: vLLM would say: use_heterogeneous_vocab currently only supports "
            "greedy draft sampling; \"draft_sample_method\": \"greedy\"");
  EXPECT_EQ(SpeculationError(R"({"model": "m", "use_heterogeneous_vocab": true})"), "read");
  EXPECT_EQ(SpeculationError(R"({"method": "mtp", "enable_adaptive_verification": true})"),
            "--speculative-config: vLLM would say: Adaptive verification only supported with "
            "DSpark; leave enable_adaptive_verification out");
  EXPECT_EQ(SpeculationError(R"({"method": "eagle", "dspark_draft_topk": 3})"),
            "--speculative-config: vLLM would say: dspark_draft_topk is only supported by DSpark; "
            "leave it out");
  EXPECT_EQ(SpeculationError(R"({"method": "dspark", "dspark_draft_topk": 3,)"
                             R"( "enable_adaptive_verification": true})"),
            "read");
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
