// The example models' configs, and edits of them.
#ifndef SHARDPLAN_TESTS_SUPPORT_EXAMPLE_MODEL_H_
#define SHARDPLAN_TESTS_SUPPORT_EXAMPLE_MODEL_H_

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "shardplan/base/file.h"
#include "shardplan/model/family.h"
#include "support/literal_configs.h"
#include "support/quantized_configs.h"

namespace shardplan::testing_support {

// A folder of examples/, or a published config below tests/data/configs ("publisher__model").
inline std::string ExampleConfigPath(const std::string& name) {
  if (name.find("__") != std::string::npos) {
    return std::string(SHARDPLAN_TEST_DATA) + "/configs/" + name + ".json";
  }
  return std::string(SHARDPLAN_EXAMPLES) + "/" + name + "/config.json";
}

inline nlohmann::json DenseConfig(const std::string& architecture, int64_t hidden,
                                  int64_t intermediate, int64_t layers, int64_t heads,
                                  int64_t kv_heads, int64_t vocabulary);

// "name+suffix" is the example under another quantization (quantized_configs.h).
inline nlohmann::json ExampleConfig(const std::string& name) {
  if (const size_t plus = name.find('+'); plus != std::string::npos) {
    nlohmann::json config = ExampleConfig(name.substr(0, plus));
    config["quantization_config"] = QuantizationOf(name.substr(plus + 1));
    return config;
  }
  if (name == "qwen2-7b") return DenseConfig("Qwen2ForCausalLM", 3584, 18944, 28, 28, 4, 152064);
  if (name == "qwen2-32b") return DenseConfig("Qwen2ForCausalLM", 5120, 27648, 64, 40, 8, 152064);
  if (std::optional<nlohmann::json> literal = LiteralConfig(name)) return *literal;
  const Result<std::string> text = ReadTextFile(ExampleConfigPath(name), Bytes(1 << 20));
  EXPECT_TRUE(text.has_value()) << name;
  return nlohmann::json::parse(*text);
}

inline ModelSpec Build(const nlohmann::json& config, const Assumptions& assumptions = {}) {
  Result<ModelSpec> spec = BuildModelSpec(config.dump(), "config.json", assumptions);
  EXPECT_TRUE(spec.has_value()) << (spec ? "" : spec.error().ToString());
  return spec ? std::move(*spec) : ModelSpec();
}

inline std::string BuildError(const nlohmann::json& config) {
  const Result<ModelSpec> spec = BuildModelSpec(config.dump(), "config.json");
  return spec ? "built" : spec.error().ToString();
}

// A small dense model in the names of Llama.
inline nlohmann::json DenseConfig(const std::string& architecture, int64_t hidden,
                                  int64_t intermediate, int64_t layers, int64_t heads,
                                  int64_t kv_heads, int64_t vocabulary) {
  return {{"architectures", {architecture}},   {"hidden_size", hidden},
          {"intermediate_size", intermediate}, {"num_hidden_layers", layers},
          {"num_attention_heads", heads},      {"num_key_value_heads", kv_heads},
          {"vocab_size", vocabulary},          {"max_position_embeddings", 8192},
          {"torch_dtype", "bfloat16"},         {"tie_word_embeddings", false}};
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_EXAMPLE_MODEL_H_
