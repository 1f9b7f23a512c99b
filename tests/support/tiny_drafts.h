// Tiny drafts of every kind, for a target of 32 wide and 130 words.
#ifndef SHARDPLAN_TESTS_SUPPORT_TINY_DRAFTS_H_
#define SHARDPLAN_TESTS_SUPPORT_TINY_DRAFTS_H_

#include <nlohmann/json.hpp>

#include "support/tiny_families.h"

namespace shardplan::testing_support {

inline nlohmann::json TinyEagle() { return TinyDecoder("EagleLlamaForCausalLM", 2); }

inline nlohmann::json TinyEagle3Mla(int64_t layers = 1) {
  return With(TinyDecoder("Eagle3DeepseekV2ForCausalLM", layers), {{"q_lora_rank", 24},
                                                                   {"kv_lora_rank", 16},
                                                                   {"qk_nope_head_dim", 8},
                                                                   {"qk_rope_head_dim", 4},
                                                                   {"v_head_dim", 8},
                                                                   {"draft_vocab_size", 100}});
}

inline nlohmann::json TinyDflash() {
  return With(TinyDecoder("DFlashDraftModel", 2),
              {{"block_size", 8}, {"dflash_config", {{"target_layer_ids", {1, 2, 4}}}}});
}

inline nlohmann::json TinyQwen3Dspark() {
  return With(TinyDflash(), {{"architectures", {"Qwen3DSparkModel"}},
                             {"markov_rank", 6},
                             {"enable_confidence_head", true},
                             {"confidence_head_with_markov", true}});
}

inline nlohmann::json TinyKimiK3Dspark() {
  return With(TinyEagle3Mla(2), {{"architectures", {"K3DSparkModel"}},
                                 {"draft_vocab_size", nullptr},
                                 {"num_target_layers", 3},
                                 {"markov_rank", 6}});
}

// Llama's layers, for a target as wide.
inline nlohmann::json TinyEagle3(int64_t layers = 1) {
  return With(TinyDecoder("LlamaForCausalLM", layers), {{"draft_vocab_size", 100}});
}

// The same in the speculators format, as RedHatAI publishes heads.
inline nlohmann::json TinySpeculators() {
  nlohmann::json layer = TinyDecoder("LlamaForCausalLM", 1);
  layer.erase("architectures");
  layer["model_type"] = "llama";
  return {{"architectures", {"Eagle3DraftModel"}},
          {"speculators_model_type", "eagle3"},
          {"draft_vocab_size", 100},
          {"target_hidden_size", nullptr},
          {"eagle_aux_hidden_state_layer_ids", {1, 2, 3}},
          {"transformer_layer_config", layer},
          {"speculators_config",
           {{"algorithm", "eagle3"},
            {"proposal_methods", {{{"proposal_type", "greedy"}, {"speculative_tokens", 3}}}},
            {"verifier", {{"name_or_path", "org/verifier"}}}}}};
}

inline nlohmann::json TinyMedusa() {
  return {{"architectures", {"MedusaModel"}},
          {"hidden_size", 32},
          {"vocab_size", 130},
          {"medusa_num_heads", 3},
          {"medusa_num_layers", 2}};
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_TINY_DRAFTS_H_
