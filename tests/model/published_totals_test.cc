#include <gtest/gtest.h>

#include "shardplan/base/file.h"
#include "shardplan/model/family.h"
#include "support/example_model.h"
#include "support/published_configs.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::DenseConfig;
using testing_support::ExampleConfig;
using testing_support::PrunedQwen35;
using testing_support::With;

nlohmann::json GemmaTower() {
  return {{"hidden_size", 1152},     {"intermediate_size", 4304}, {"num_attention_heads", 16},
          {"num_hidden_layers", 27}, {"patch_size", 14},          {"image_size", 896},
          {"vision_use_head", false}};
}

nlohmann::json Llama4Tower() {
  return {{"hidden_size", 1408},
          {"intermediate_size", 5632},
          {"num_attention_heads", 16},
          {"num_hidden_layers", 34},
          {"patch_size", 14},
          {"image_size", 336},
          {"projector_input_dim", 4096},
          {"projector_output_dim", 4096},
          {"vision_output_dim", 4096}};
}

nlohmann::json PixtralTower() {
  return {{"hidden_size", 1024},     {"intermediate_size", 4096}, {"num_attention_heads", 16},
          {"num_hidden_layers", 24}, {"patch_size", 14},          {"image_size", 1540}};
}

nlohmann::json MistralSmall() {
  return testing_support::Multimodal(
      "Mistral3ForConditionalGeneration",
      testing_support::DecoderNumbers("", 5120, 32768, 40, 32, 8, 128, 131072, 131072),
      PixtralTower());
}

struct Published {
  const char* name;
  nlohmann::json config;
  Assumptions assumptions;
  int64_t tensors;     // 0 where only the parameters were published
  int64_t payload;     // the same
  int64_t parameters;  // logical: without scales; 0 where only the element count was published
  int64_t elements;    // scales included; 0 where unknown
};

Assumptions InvFreq(int64_t entries) {
  Assumptions a;
  a.inv_freq = entries;
  return a;
}

Assumptions OwnEmbed(bool own) {
  Assumptions a;
  a.mtp_embed = own;
  return a;
}

// As kvcache-ai/sglang_awq exports it: half precision, groups of 64.
nlohmann::json HalfAwq64(nlohmann::json config) {
  config["torch_dtype"] = "float16";
  config["quantization_config"] = testing_support::Awq(true);
  config["quantization_config"]["group_size"] = 64;
  return config;
}

Assumptions Mtp(bool stored) {
  Assumptions a;
  a.mtp = stored;
  return a;
}

nlohmann::json Fp8Blocks(const std::vector<std::string>& ignore) {
  return {{"quantization_config",
           {{"quant_method", "fp8"},
            {"weight_block_size", {128, 128}},
            {"modules_to_not_convert", ignore}}}};
}

Assumptions EachDraftExpert() {
  Assumptions a;
  a.stacked_draft_experts = false;
  return a;
}

// Totals that publishers and the hub state, to the byte and the element.
TEST(FamilyTotals, EqualThePublishedOnes) {
  const std::string llama = "LlamaForCausalLM";
  const std::string qwen2 = "Qwen2ForCausalLM";
  const std::string qwen3 = "Qwen3ForCausalLM";
  const nlohmann::json head_128 = {{"head_dim", 128}, {"attention_bias", false}};
  const Published published[] = {
      {"Kimi-K3", ExampleConfig("kimi-k3"), {}, 497220, 1560860324864, 2779931837184, 0},
      {"DeepSeek-V3",
       ExampleConfig("deepseek-v3"),
       {},
       91991,
       688574839360,
       684489845504,
       684531386000},
      {"DeepSeek-V2-Lite",
       ExampleConfig("deepseek-ai__DeepSeek-V2-Lite"),
       {},
       5291,
       31412968448,
       15706484224,
       15706484224},
      {"DeepSeek-V3.2",
       ExampleConfig("deepseek-ai__DeepSeek-V3.2"),
       {},
       92425,
       689468986496,
       685355329792,
       685396921376},
      {"DeepSeek-V4-Flash",
       ExampleConfig("deepseek-ai__DeepSeek-V4-Flash"),
       {},
       69187,
       159609485896,
       290944616402,
       0},
      {"DeepSeek-V4-Pro",
       ExampleConfig("deepseek-ai__DeepSeek-V4-Pro"),
       {},
       145116,
       864704792696,
       1598839674782,
       0},
      {"Kimi-K2-Thinking", ExampleConfig("moonshotai__Kimi-K2.5")["text_config"], InvFreq(128),
       208276, 594205920512, 0, 0},
      {"Kimi-K2.5", ExampleConfig("moonshotai__Kimi-K2.5"), {}, 208550, 595148192736, 0, 0},
      {"Kimi-Linear-48B-A3B",
       ExampleConfig("moonshotai__Kimi-Linear-48B-A3B"),
       {},
       20493,
       98245541888,
       49122681728,
       49122681728},
      {"GLM-5",
       ExampleConfig("zai-org__GLM-5"),
       {},
       59870,
       1507728316928,
       753864139008,
       753864139008},
      {"GLM-5-FP8",
       ExampleConfig("zai-org__GLM-5.1-FP8"),
       {},
       119028,
       756162687872,
       753864139008,
       753910024032},
      {"GLM-5.2",
       ExampleConfig("zai-org__GLM-5.2"),
       {},
       59585,
       1506659919872,
       753329940480,
       753329940480},
      {"Kimi-K2-Instruct", ExampleConfig("kimi-k2"), InvFreq(56), 139644, 1029173256720,
       1026408235864, 1026470731056},
      {"Kimi-K2-Instruct-0905", ExampleConfig("kimi-k2"), InvFreq(128), 139644, 1029173265504, 0,
       0},
      {"Llama-3.1-8B",
       DenseConfig(llama, 4096, 14336, 32, 32, 8, 128256),
       {},
       291,
       16060522496,
       8030261248,
       8030261248},
      {"Llama-3.1-70B",
       ExampleConfig("dense-70b"),
       {},
       723,
       141107412992,
       70553706496,
       70553706496},
      {"Llama-3.1-405B",
       DenseConfig(llama, 16384, 53248, 126, 128, 8, 128256),
       {},
       1137,
       811706777600,
       405853388800,
       405853388800},
      {"Reflection-70B",
       With(ExampleConfig("dense-70b"), {{"torch_dtype", "float32"}, {"vocab_size", 128262}}),
       {},
       723,
       282215219200,
       0,
       0},
      {"Llama-2-7B",
       With(DenseConfig(llama, 4096, 11008, 32, 32, 32, 32000), {{"torch_dtype", "float16"}}),
       InvFreq(64), 323, 13476839424, 0, 6738417664},
      {"Mistral-Nemo",
       With(DenseConfig("MistralForCausalLM", 5120, 14336, 40, 32, 8, 131072),
            {{"head_dim", 128}, {"sliding_window", nullptr}}),
       {},
       363,
       24495564800,
       12247782400,
       12247782400},
      {"Qwen2.5-7B",
       DenseConfig(qwen2, 3584, 18944, 28, 28, 4, 152064),
       {},
       339,
       15231233024,
       0,
       0},
      {"Qwen2.5-72B",
       DenseConfig(qwen2, 8192, 29568, 80, 64, 8, 152064),
       {},
       963,
       145412407296,
       72706203648,
       72706203648},
      {"Qwen3-8B", ExampleConfig("Qwen__Qwen3-8B"), {}, 399, 16381470720, 8190735360, 8190735360},
      {"Qwen3-32B",
       With(DenseConfig(qwen3, 5120, 25600, 64, 64, 8, 151936), head_128),
       {},
       707,
       65524246528,
       32762123264,
       32762123264},
      {"Qwen3-30B-A3B", ExampleConfig("Qwen__Qwen3-30B-A3B"), {}, 18867, 61064245248, 0, 0},
      {"Qwen3-30B-A3B-FP8",
       ExampleConfig("Qwen__Qwen3-30B-A3B-FP8"),
       {},
       37491,
       31170895872,
       0,
       30533947392},
      {"Qwen3-235B-A22B",
       ExampleConfig("Qwen__Qwen3-235B-A22B"),
       {},
       36945,
       470187269120,
       235093634560,
       235093634560},
      {"Qwen3-235B-A22B-FP8",
       ExampleConfig("Qwen__Qwen3-235B-A22B-FP8"),
       {},
       73417,
       236416915456,
       235093634560,
       235107904512},
      {"Qwen3-Coder-480B-A35B",
       ExampleConfig("Qwen__Qwen3-Coder-480B-A35B-Instruct"),
       {},
       30321,
       960309750784,
       480154875392,
       480154875392},
      {"Qwen3-Next-80B-A3B",
       ExampleConfig("Qwen__Qwen3-Next-80B-A3B-Instruct"),
       {},
       75944,
       162649725440,
       81324862720,
       81324862720},
      {"Qwen3-Coder-Next", ExampleConfig("Qwen__Qwen3-Next-80B-A3B-Instruct"), Mtp(false), 74391,
       159348782592, 79674391296, 79674391296},
      {"Qwen3-Coder-Next-FP8",
       With(ExampleConfig("Qwen__Qwen3-Next-80B-A3B-Instruct"),
            Fp8Blocks({"lm_head", "in_proj_ba", "mlp.gate", "shared_expert_gate"})),
       Mtp(false), 0, 0, 79674391296, 79679212800},
      {"Qwen3.5-122B-A10B-NVFP4",
       ExampleConfig("Qwen__Qwen3.5-122B-A10B+nvfp4-qwen3-5"),
       {},
       0,
       83474870752,
       125086497008,
       0},
      {"Qwen3.5-25B-REAP-A3B", PrunedQwen35(180), {}, 22213, 50182743296, 25091371648, 25091371648},
      {"Qwen3.8-27B",
       ExampleConfig("Qwen__Qwen3.5-27B"),
       {},
       1199,
       55562855904,
       27781427952,
       27781427952},
      {"Qwen3.6-35B-A3B",
       ExampleConfig("Qwen__Qwen3.5-35B-A3B"),
       {},
       1045,
       71903645408,
       35951822704,
       35951822704},
      // These store two small tensors of each delta net in F32, which their configs do not tell.
      {"Qwen3.5-35B-A3B", ExampleConfig("Qwen__Qwen3.5-35B-A3B"), EachDraftExpert(), 1811, 0,
       35951822704, 35951822704},
      {"Qwen3.5-122B-A10B", ExampleConfig("Qwen__Qwen3.5-122B-A10B"), EachDraftExpert(), 1949, 0,
       125086497008, 125086497008},
      {"Qwen3.5-397B-A17B", ExampleConfig("Qwen__Qwen3.5-397B-A17B"), EachDraftExpert(), 2924, 0,
       403397928944, 403397928944},
      {"Qwen3-VL-2B",
       ExampleConfig("Qwen__Qwen3-VL-2B-Instruct"),
       {},
       0,
       4255064064,
       2127532032,
       2127532032},
      {"Qwen3-VL-30B-A3B",
       ExampleConfig("Qwen__Qwen3-VL-30B-A3B-Instruct"),
       {},
       0,
       0,
       31070754032,
       31070754032},
      {"Qwen3-VL-235B-A22B",
       ExampleConfig("Qwen__Qwen3-VL-235B-A22B-Instruct"),
       {},
       0,
       0,
       235670022896,
       235670022896},
      {"Mixtral-8x7B",
       ExampleConfig("mistralai__Mixtral-8x7B-v0.1"),
       {},
       995,
       93405585408,
       46702792704,
       46702792704},
      {"Mixtral-8x22B", ExampleConfig("alpindale__WizardLM-2-8x22B"), {}, 1739, 281241268224, 0, 0},
      {"GLM-4.7",
       ExampleConfig("zai-org__GLM-4.7"),
       {},
       44691,
       716675611392,
       358337791296,
       358337791296},
      {"GLM-4.6", ExampleConfig("zai-org__GLM-4.7"), OwnEmbed(false), 44689, 713571826432,
       356785898816, 356785898816},
      {"GLM-4.5-Air",
       ExampleConfig("zai-org__GLM-4.5-Air"),
       {},
       18329,
       220937661440,
       110468824832,
       110468824832},
      {"INTELLECT-3", ExampleConfig("PrimeIntellect__INTELLECT-3-Base"), Mtp(false), 17925,
       213704514048, 106852251264, 106852251264},
      {"MiniMax-M2.5",
       ExampleConfig("MiniMaxAI__MiniMax-M2.5"),
       {},
       96103,
       230024113152,
       0,
       228703644928},
      {"gpt-oss-20b", ExampleConfig("openai__gpt-oss-20b"), {}, 459, 13761264768, 20914757184, 0},
      {"gpt-oss-120b",
       ExampleConfig("openai__gpt-oss-120b"),
       {},
       687,
       65248815744,
       116829156672,
       0},
      {"DeepSeek-V3 AWQ", HalfAwq64(ExampleConfig("deepseek-v3")), Mtp(false), 135459, 364589799936,
       0, 0},
      {"MiniMax-M2.7",
       ExampleConfig("MiniMaxAI__MiniMax-M2.7"),
       {},
       96103,
       230024113152,
       228689764864,
       0},
      {"Devstral-Small",
       testing_support::DecoderNumbers("MistralForCausalLM", 5120, 32768, 40, 32, 8, 128, 131072,
                                       131072),
       {},
       363,
       47144806400,
       23572403200,
       23572403200},
      {"Mistral-Small-3.2", MistralSmall(), {}, 585, 48022722560, 24011361280, 24011361280},
      {"Phi-4", ExampleConfig("phi-4"), {}, 243, 29319014400, 14659507200, 14659507200},
      {"Gemma-2-27B", ExampleConfig("gemma-2-27b"), {}, 508, 54454256640, 27227128320, 27227128320},
      {"Gemma-2-9B",
       testing_support::DecoderNumbers("Gemma2ForCausalLM", 3584, 14336, 42, 16, 8, 256, 256000,
                                       8192),
       {},
       464,
       18483411968,
       9241705984,
       9241705984},
      {"Gemma-3-27B",
       testing_support::Multimodal("Gemma3ForConditionalGeneration", ExampleConfig("gemma-3-27b"),
                                   GemmaTower()),
       {},
       1247,
       54864813280,
       27432406640,
       27432406640},
      {"Llama-4-Scout",
       With(ExampleConfig("llama-4-scout"), {{"vision_config", Llama4Tower()}}),
       {},
       1133,
       217283587072,
       108641793536,
       108641793536},
      // The hub counts the BF16 elements alone: 31,577,937,344 and 123,611,012,096.
      {"Nemotron-3-Nano",
       ExampleConfig("nemotron-3-nano"),
       {},
       6243,
       63155886464,
       0,
       31577937344 + 23 * 128},
      {"Nemotron-3-Super",
       ExampleConfig("nemotron-3-super"),
       {},
       42683,
       247222108160,
       0,
       123611012096 + 41 * 512},
      {"LongCat-Flash-Chat",
       ExampleConfig("meituan-longcat__LongCat-Flash-Chat"),
       {},
       0,
       0,
       561862880256,
       561862880256},
      {"Qwen-72B",
       testing_support::DecoderNumbers("QWenLMHeadModel", 8192, 49152, 80, 64, 64, 128, 152064,
                                       8192),
       {},
       643,
       144575840256,
       0,
       0},
      {"Granite-3.1-1B",
       With(testing_support::DecoderNumbers("GraniteMoeForCausalLM", 1024, 512, 24, 16, 8, 0, 49155,
                                            131072),
            {{"num_local_experts", 32}, {"num_experts_per_tok", 8}, {"tie_word_embeddings", true}}),
       {},
       218,
       2669256704,
       0,
       0},
  };
  for (const Published& p : published) {
    SCOPED_TRACE(p.name);
    const TensorTotals totals = Totals(Build(p.config, p.assumptions).table);
    if (p.tensors != 0) {
      EXPECT_EQ(totals.tensors, p.tensors);
    }
    if (p.payload != 0) {
      EXPECT_EQ(totals.payload, Bytes(p.payload));
    }
    if (p.parameters != 0) {
      EXPECT_EQ(totals.parameters, p.parameters);
    }
    if (p.elements != 0) {
      EXPECT_EQ(totals.elements, p.elements);
    }
  }
}

}  // namespace
}  // namespace shardplan
