#include "model/speculators.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

constexpr const char* kType = "speculators_model_type";
constexpr const char* kLayer = "transformer_layer_config";
constexpr const char* kSpeculators = "speculators_config";

const nlohmann::json* Find(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

std::string StringAt(const nlohmann::json& object, const char* key) {
  const nlohmann::json* const value = Find(object, key);
  return value && value->is_string() ? value->get<std::string>() : "";
}

tl::unexpected<Error> Missing(const std::string& subject, const char* key, const char* what) {
  return Fail(ErrorCode::kInvalidInput, subject,
              fmt::format("{}: expected {}, which a draft of this kind needs", key, what));
}

class Reader {
 public:
  Reader(const nlohmann::json& config, const std::string& subject)
      : config_(config), subject_(subject) {}

  Result<nlohmann::json> Read() {
    const std::string type = StringAt(config_, kType);
    if (const nlohmann::json* const layer = Find(config_, kLayer)) {
      if (!layer->is_object()) return Missing(subject_, kLayer, "an object");
      out_ = *layer;
    }
    // The files' own, where the layers' differs.
    for (const char* key :
         {"dtype", "torch_dtype", "quantization_config", "embed_requires_grad", kSpeculators}) {
      Copy(key);
    }
    if (type == "eagle3" || type == "peagle") {
      SHARDPLAN_RETURN_IF_ERROR(Eagle3(type == "peagle"));
    } else if (type == "dflash") {
      Name("DFlashDraftModel");
      SHARDPLAN_RETURN_IF_ERROR(Block());
    } else if (type == "dspark") {
      Name("Qwen3DSparkModel");
      SHARDPLAN_RETURN_IF_ERROR(Block());
      for (const char* key :
           {"markov_rank", "block_size", "enable_confidence_head", "confidence_head_with_markov"}) {
        Copy(key);
      }
    } else if (type == "medusa") {
      Medusa();
    } else {
      return Fail(ErrorCode::kUnsupported, subject_,
                  fmt::format("{} {}: expected one of eagle3, peagle, dflash, medusa, dspark; vLLM "
                              "reads no others",
                              kType, Printable(type)));
    }
    // Families know the format by it.
    if (!Find(out_, kSpeculators)) out_[kSpeculators] = nlohmann::json::object();
    return std::move(out_);
  }

 private:
  void Copy(const char* key) {
    if (const nlohmann::json* const value = Find(config_, key)) out_[key] = *value;
  }

  void Name(const char* name) { out_["architectures"] = nlohmann::json::array({name}); }

  // Both kinds come with Llama's layers and with Qwen3's.
  Status Eagle3(bool parallel) {
    for (const char* key : {"draft_vocab_size", "target_hidden_size", "norm_before_fc", "fc_norm",
                            "eagle_aux_hidden_state_layer_ids"}) {
      Copy(key);
    }
    std::string layers = StringAt(out_, "model_type");
    if (layers.empty()) layers = "llama";
    if (layers != "llama" && layers != "qwen3") {
      return Fail(ErrorCode::kUnsupported, subject_,
                  fmt::format("{}.model_type: vLLM would say: Unsupported model_type {} for {} "
                              "speculator",
                              kLayer, Printable(layers), parallel ? "PEagle" : "Eagle3"));
    }
    const bool qwen = layers == "qwen3";
    if (parallel) {
      Name(qwen ? "PeagleQwen3ForCausalLM" : "PeagleLlamaForCausalLM");
    } else {
      Name(qwen ? "Eagle3Qwen3ForCausalLM" : "Eagle3LlamaForCausalLM");
    }
    return {};
  }

  Status Block() {
    for (const char* key : {"draft_vocab_size", "target_hidden_size"}) Copy(key);
    constexpr const char* kIds = "aux_hidden_state_layer_ids";
    const nlohmann::json* const ids = Find(config_, kIds);
    if (!ids || !ids->is_array() || ids->empty()) {
      return Missing(subject_, kIds, "the target's layers that it sees");
    }
    out_["eagle_aux_hidden_state_layer_ids"] = *ids;
    return {};
  }

  void Medusa() {
    Name("MedusaModel");
    out_["model_type"] = "medusa";
    for (const char* key :
         {"num_heads", "num_hidden_layers", "medusa_fc_bias", "original_lm_head"}) {
      Copy(key);
    }
    const std::pair<const char*, const char*> renamed[] = {{"medusa_hidden_size", "hidden_size"},
                                                           {"medusa_vocab_size", "vocab_size"}};
    for (const auto& [own, name] : renamed) {
      const nlohmann::json* const value = Find(config_, own);
      if (value) out_[name] = *value;
      if (!value) Copy(name);
    }
    // Zero stands for all of them.
    const nlohmann::json* const truncated = Find(config_, "truncated_vocab_size");
    if (truncated && *truncated != 0) out_["truncated_vocab_size"] = *truncated;
  }

  const nlohmann::json& config_;
  const std::string& subject_;
  nlohmann::json out_ = nlohmann::json::object();
};

}  // namespace

bool IsSpeculators(const nlohmann::json& config) { return !StringAt(config, kType).empty(); }

Result<nlohmann::json> FromSpeculators(const nlohmann::json& config, const std::string& subject) {
  return Reader(config, subject).Read();
}

void ReadSpeculatorsUse(const nlohmann::json& config, DraftShape* draft) {
  const std::string type = StringAt(config, kType);
  draft->method = type == "peagle" ? "eagle3" : type;
  const nlohmann::json* const use = Find(config, kSpeculators);
  if (!use) return;
  if (const nlohmann::json* const verifier = Find(*use, "verifier")) {
    draft->verifier = StringAt(*verifier, "name_or_path");
  }
  const nlohmann::json* const methods = Find(*use, "proposal_methods");
  if (!methods || !methods->is_array() || methods->empty()) return;
  const nlohmann::json* const tokens = Find(methods->front(), "speculative_tokens");
  if (tokens && tokens->is_number_integer() && *tokens > 0 && *tokens <= 1024) {
    draft->tokens = tokens->get<int64_t>();
  }
}

}  // namespace shardplan
