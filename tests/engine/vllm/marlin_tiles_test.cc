#include "engine/vllm/marlin_tiles.h"

#include <gtest/gtest.h>

#include "engine/vllm/legality.h"
#include "support/tiny_models.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

TEST(MarlinTiles, EitherSideMayBeTheShortOne) {
  EXPECT_TRUE(vllm::FitsMarlin(128, 64));
  EXPECT_TRUE(vllm::FitsMarlin(64, 128));
  EXPECT_FALSE(vllm::FitsMarlin(64, 64));
  EXPECT_FALSE(vllm::FitsMarlin(96, 128));
  EXPECT_FALSE(vllm::FitsMarlin(128, 96));
}

nlohmann::json Gptq() {
  return {{"quant_method", "gptq"},
          {"bits", 4},
          {"group_size", 32},
          {"desc_act", false},
          {"sym", true}};
}

// A dense model of 4,096 with an MLP of 11,008, as the first Llamas have it: at TP 8 a rank's slice
// of 1,376 inputs is no multiple of 64.
nlohmann::json Llama(const nlohmann::json& quantization) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"hidden_size", 4096},
          {"intermediate_size", 11008},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 32},
          {"vocab_size", 32000},
          {"max_position_embeddings", 4096},
          {"torch_dtype", "bfloat16"},
          {"quantization_config", quantization}};
}

std::vector<Finding> CheckTiles(const nlohmann::json& config, int64_t tp,
                                const char* dtype = "auto") {
  VllmContext c(testing_support::Build(config));
  c.context.sizes.tp = tp;
  c.context.settings.dtype = dtype;
  c.Resolve();
  return vllm::CheckLayout(c.context, std::nullopt);
}

TEST(MarlinTiles, ASliceWithoutAKernelIsRefused) {
  EXPECT_TRUE(CheckTiles(Llama(Gptq()), 4).empty());
  const std::vector<Finding> findings = CheckTiles(Llama(Gptq()), 8);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "layout.tiles");
  EXPECT_EQ(findings[0].message,
            "mlp.down_proj.qweight: Weight input_size_per_partition = 1376 is not divisible by "
            "min_thread_k = 128. Consider reducing tensor_parallel_size or running with "
            "--quantization gptq.");
  EXPECT_EQ(findings[0].fix, "nearest legal tensor-parallel size below: 4");
}

TEST(MarlinTiles, OtherKernelsAndFormatsAreNotAsked) {
  EXPECT_TRUE(CheckTiles(Llama(Gptq()), 8, "float16").empty());
  const nlohmann::json awq = {
      {"quant_method", "awq"}, {"bits", 4}, {"group_size", 32}, {"zero_point", true}};
  EXPECT_TRUE(CheckTiles(Llama(awq), 8).empty());
}

}  // namespace
}  // namespace shardplan
