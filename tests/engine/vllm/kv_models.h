// Architectures as tables of numbers: what the cache's rules look at, for models of every kind of
// attention, independent of the families that read configs.
#ifndef SHARDPLAN_TESTS_ENGINE_VLLM_KV_MODELS_H_
#define SHARDPLAN_TESTS_ENGINE_VLLM_KV_MODELS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/model/architecture.h"

namespace shardplan::testing_support {

// F full, L latent, S sliding window, C chunked, K KDA, G gated delta net, M Mamba-2, J Mamba,
// anything else no attention.
inline AttentionKind KindOf(char letter) {
  switch (letter) {
    case 'F':
      return AttentionKind::kFull;
    case 'L':
      return AttentionKind::kMla;
    case 'S':
      return AttentionKind::kSliding;
    case 'C':
      return AttentionKind::kChunked;
    case 'K':
      return AttentionKind::kKda;
    case 'G':
      return AttentionKind::kGdn;
    case 'M':
      return AttentionKind::kMamba2;
    case 'J':
      return AttentionKind::kMamba1;
    default:
      return AttentionKind::kNone;
  }
}

struct KvNumbers {
  const char* name;  // publisher__model
  const char* class_name;
  const char* pattern;  // of the layers, repeated
  int64_t layers, positions, experts;
  int64_t heads, kv_heads, head_dim, v_head_dim;
  int64_t window = 0;
  KvShape sliding_kv = {};
  GdnShape gdn = {};
  LinearAttentionShape kda = {};
  MambaShape mamba = {};
  MlaShape mla = {};
  IndexerShape indexer = {};
  bool fp32_states = false;
  const char* ratios = "";  // DeepSeek-V4's first layers: 0 none, c 4, C 128; then c and C in turn
};

inline const std::vector<KvNumbers>& KvModels() {
  static const MlaShape mla = {1536, 512, 128, 64, 128};
  static const MlaShape v4 = {1024, 448, 448, 64, 512};
  static const std::vector<KvNumbers> models = {
      {"meta-llama__Llama-3.1-8B-Instruct", "LlamaForCausalLM", "F", 32, 131'072, 0, 32, 8, 128,
       128},
      {"Qwen__Qwen3-8B", "Qwen3ForCausalLM", "F", 36, 40'960, 0, 32, 8, 128, 128},
      {"mistralai__Mistral-Large-Instruct-2407", "MistralForCausalLM", "F", 88, 32'768, 0, 96, 8,
       128, 128},
      {"google__gemma-2-9b", "Gemma2ForCausalLM", "SF", 42, 8192, 0, 16, 8, 256, 256, 4096},
      {"google__gemma-2-27b", "Gemma2ForCausalLM", "SF", 46, 8192, 0, 32, 16, 128, 128, 4096},
      {"google__gemma-3-27b-it", "Gemma3ForCausalLM", "SSSSSF", 62, 131'072, 0, 32, 16, 128, 128,
       1024},
      {"openai__gpt-oss-20b", "GptOssForCausalLM", "SF", 24, 131'072, 32, 64, 8, 64, 64, 128},
      {"openai__gpt-oss-120b", "GptOssForCausalLM", "SF", 36, 131'072, 128, 64, 8, 64, 64, 128},
      {"meta-llama__Llama-4-Maverick-17B-128E-Instruct", "Llama4ForConditionalGeneration", "CCCF",
       48, 1'048'576, 128, 40, 8, 128, 128, 8192},
      {"meta-llama__Llama-4-Scout-17B-16E-Instruct", "Llama4ForConditionalGeneration", "CCCF", 48,
       10'485'760, 16, 40, 8, 128, 128, 8192},
      {"XiaomiMiMo__MiMo-V2-Flash",
       "MiMoV2FlashForCausalLM",
       "FSSSSFSSSSSFSSSSSFSSSSSFSSSSSFSSSSSFSSSSSFSSSSSF",
       48,
       262'144,
       256,
       64,
       4,
       192,
       128,
       128,
       {8, 192, 128}},
      {.name = "Qwen__Qwen3-Next-80B-A3B-Instruct",
       .class_name = "Qwen3NextForCausalLM",
       .pattern = "GGGF",
       .layers = 48,
       .positions = 262'144,
       .experts = 512,
       .heads = 16,
       .kv_heads = 2,
       .head_dim = 256,
       .v_head_dim = 256,
       .gdn = {16, 32, 128, 128, 4}},
      {.name = "Qwen__Qwen3.5-397B-A17B",
       .class_name = "Qwen3_5MoeForConditionalGeneration",
       .pattern = "GGGF",
       .layers = 60,
       .positions = 262'144,
       .experts = 512,
       .heads = 32,
       .kv_heads = 2,
       .head_dim = 256,
       .v_head_dim = 256,
       .gdn = {16, 64, 128, 128, 4},
       .fp32_states = true},
      {.name = "Qwen__Qwen3.5-122B-A10B",
       .class_name = "Qwen3_5MoeForConditionalGeneration",
       .pattern = "GGGF",
       .layers = 48,
       .positions = 262'144,
       .experts = 256,
       .heads = 32,
       .kv_heads = 2,
       .head_dim = 256,
       .v_head_dim = 256,
       .gdn = {16, 64, 128, 128, 4},
       .fp32_states = true},
      {.name = "Qwen__Qwen3.5-35B-A3B",
       .class_name = "Qwen3_5MoeForConditionalGeneration",
       .pattern = "GGGF",
       .layers = 40,
       .positions = 262'144,
       .experts = 256,
       .heads = 16,
       .kv_heads = 2,
       .head_dim = 256,
       .v_head_dim = 256,
       .gdn = {16, 32, 128, 128, 4},
       .fp32_states = true},
      {.name = "Qwen__Qwen3.5-27B",
       .class_name = "Qwen3_5ForConditionalGeneration",
       .pattern = "GGGF",
       .layers = 64,
       .positions = 262'144,
       .experts = 0,
       .heads = 24,
       .kv_heads = 4,
       .head_dim = 256,
       .v_head_dim = 256,
       .gdn = {16, 48, 128, 128, 4},
       .fp32_states = true},
      {.name = "moonshotai__Kimi-Linear-48B-A3B",
       .class_name = "KimiLinearForCausalLM",
       .pattern = "KKKLKKKLKKKLKKKLKKKLKKKLKKL",
       .layers = 27,
       .positions = 1'048'576,
       .experts = 256,
       .heads = 32,
       .kv_heads = 32,
       .head_dim = 72,
       .v_head_dim = 128,
       .kda = {32, 128, 4},
       .mla = mla},
      {.name = "nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
       .class_name = "NemotronHForCausalLM",
       .pattern = "MEMEMFEMEMEMFEMEMEMFEMEMEMFEMEMEMFEMEMEMEMFEMEMEMEME",
       .layers = 52,
       .positions = 262'144,
       .experts = 128,
       .heads = 32,
       .kv_heads = 2,
       .head_dim = 128,
       .v_head_dim = 128,
       .mamba = {4096, 64, 64, 8, 128, 4, 0, {}, 128},
       .fp32_states = true},
      {.name = "nvidia__NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
       .class_name = "NemotronHForCausalLM",
       .pattern =
           "MEMEMEMFEMEMEMFEMEMEMEMFEMEMEMEMFEMEMEMFEMEMEMEMFEMEMEMEMFEMEMEMFEMEMEMEMFEMEMEME"
           "MFEMEMEMFEMEMEMEMFEMEMEMEME",
       .layers = 108,
       .positions = 262'144,
       .experts = 512,
       .heads = 64,
       .kv_heads = 2,
       .head_dim = 128,
       .v_head_dim = 128,
       .mamba = {16'384, 256, 64, 8, 128, 4, 0, {}, 128},
       .fp32_states = true},
      {.name = "nvidia__Nemotron-H-56B-Base-8K",
       .class_name = "NemotronHForCausalLM",
       .pattern = "M-M-M-MF-M-M-M-M-MF-M-M-M-M-MF-M-M-M-M-MF-M-M-M-M-MF-M-M-M-M-MF-M-M-M-M-MF-M-M-M"
                  "-M-MF-M-M-M-M-MF-M-M-M-M-MF-M-M-M-M-M-",
       .layers = 118,
       .positions = 8192,
       .experts = 0,
       .heads = 64,
       .kv_heads = 8,
       .head_dim = 128,
       .v_head_dim = 128,
       .mamba = {16'384, 256, 64, 8, 256, 4, 0, {}, 128},
       .fp32_states = true},
      {.name = "ai21labs__AI21-Jamba2-Mini",
       .class_name = "JambaForCausalLM",
       .pattern = "JJJJFJJJ",
       .layers = 32,
       .positions = 262'144,
       .experts = 16,
       .heads = 32,
       .kv_heads = 8,
       .head_dim = 128,
       .v_head_dim = 128,
       .mamba = {8192, 0, 0, 0, 16, 4, 256}},
      {.name = "deepseek-ai__DeepSeek-V3.2",
       .class_name = "DeepseekV32ForCausalLM",
       .pattern = "L",
       .layers = 61,
       .positions = 163'840,
       .experts = 256,
       .heads = 128,
       .kv_heads = 128,
       .head_dim = 192,
       .v_head_dim = 128,
       .mla = mla,
       .indexer = {64, 128, 2048}},
      {.name = "zai-org__GLM-5",
       .class_name = "GlmMoeDsaForCausalLM",
       .pattern = "L",
       .layers = 78,
       .positions = 202'752,
       .experts = 256,
       .heads = 64,
       .kv_heads = 64,
       .head_dim = 256,
       .v_head_dim = 256,
       .mla = {2048, 512, 192, 64, 256},
       .indexer = {32, 128, 2048}},
      {.name = "deepseek-ai__DeepSeek-V4-Flash",
       .class_name = "DeepseekV4ForCausalLM",
       .pattern = "L",
       .layers = 43,
       .positions = 1'048'576,
       .experts = 256,
       .heads = 64,
       .kv_heads = 1,
       .head_dim = 512,
       .v_head_dim = 512,
       .window = 128,
       .mla = v4,
       .indexer = {64, 128, 512},
       .ratios = "00"},
      {.name = "deepseek-ai__DeepSeek-V4-Pro",
       .class_name = "DeepseekV4ForCausalLM",
       .pattern = "L",
       .layers = 61,
       .positions = 1'048'576,
       .experts = 384,
       .heads = 128,
       .kv_heads = 1,
       .head_dim = 512,
       .v_head_dim = 512,
       .window = 128,
       .mla = v4,
       .indexer = {64, 128, 1024},
       .ratios = "CC"},
  };
  return models;
}

inline Architecture ArchitectureOf(const KvNumbers& n) {
  Architecture a;
  a.name = n.class_name;
  a.family = "test";
  a.hidden = 1024;
  a.vocabulary = 32'000;
  a.max_positions = n.positions;
  a.heads = n.heads;
  a.kv_heads = n.kv_heads;
  a.head_dim = n.head_dim;
  a.v_head_dim = n.v_head_dim;
  a.window = n.window;
  a.gdn = n.gdn;
  a.kda = n.kda;
  a.mamba = n.mamba;
  a.mla = n.mla;
  a.indexer = n.indexer;
  a.moe.experts = n.experts;
  if (n.sliding_kv.kv_heads > 0) a.sliding_kv = n.sliding_kv;
  if (n.fp32_states) a.gdn.state_dtype = a.mamba.state_dtype = DType::kF32;
  const std::string_view pattern = n.pattern;
  const std::string_view ratios = n.ratios;
  for (int64_t layer = 0; layer < n.layers; ++layer) {
    const auto i = static_cast<size_t>(layer);
    a.attention.push_back(KindOf(pattern[i % pattern.size()]));
    if (n.indexer.heads > 0) a.indexer_layers.push_back(layer);
    if (ratios.empty()) continue;
    const char ratio = i < ratios.size() ? ratios[i] : i % 2 == 0 ? 'c' : 'C';
    a.compress_ratio.push_back(ratio == 'c' ? 4 : ratio == 'C' ? 128 : 0);
  }
  return a;
}

// Nothing for a name that is not in the table.
inline std::optional<Architecture> NumbersOf(const std::string& name) {
  for (const KvNumbers& numbers : KvModels()) {
    if (name == numbers.name) return ArchitectureOf(numbers);
  }
  return std::nullopt;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_ENGINE_VLLM_KV_MODELS_H_
