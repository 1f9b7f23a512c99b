#include "engine/vllm/speculative_config.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "model/config_reader.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"

namespace shardplan::vllm {
namespace {

constexpr const char* kOption = "--speculative-config";

// Keys that are read here.
const std::vector<std::string>& ReadKeys() {
  static const std::vector<std::string> keys = {"method",
                                                "model",
                                                "num_speculative_tokens",
                                                "draft_tensor_parallel_size",
                                                "draft_sample_method",
                                                "use_heterogeneous_vocab"};
  return keys;
}

// Keys that change what a draft takes, and are passed on without a model of it.
const std::vector<std::string>& UnmodelledKeys() {
  static const std::vector<std::string> keys = {
      "quantization",      "moe_backend",
      "attention_backend", "kv_cache_dtype",
      "max_model_len",     "enforce_eager",
      "parallel_drafting", "num_speculative_tokens_per_batch_size",
      "draft_load_config"};
  return keys;
}

// Keys that change no memory worth a row.
const std::vector<std::string>& HarmlessKeys() {
  static const std::vector<std::string> keys = {"disable_padded_drafter_batch",
                                                "disable_eagle_block_drop",
                                                "disable_by_batch_size",
                                                "use_local_argmax_reduction",
                                                "prompt_lookup_max",
                                                "prompt_lookup_min",
                                                "revision",
                                                "code_revision",
                                                "index_share_for_mtp_iteration",
                                                "rejection_sample_method",
                                                "synthetic_acceptance_rates",
                                                "synthetic_acceptance_length",
                                                "enable_adaptive_verification",
                                                "dspark_draft_topk",
                                                "speculative_token_tree",
                                                "suffix_decoding_max_tree_depth",
                                                "suffix_decoding_max_cached_requests",
                                                "suffix_decoding_max_spec_factor",
                                                "suffix_decoding_min_token_prob"};
  return keys;
}

const std::vector<std::string>& Methods() {
  static const std::vector<std::string> methods = {"mtp",
                                                   "eagle",
                                                   "eagle3",
                                                   "draft_model",
                                                   "ngram",
                                                   "suffix",
                                                   "ngram_gpu",
                                                   "medusa",
                                                   "dflash",
                                                   "dspark",
                                                   "mlp_speculator",
                                                   "custom_class",
                                                   "extract_hidden_states"};
  return methods;
}

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// vLLM's method for a name, empty for one that it doesn't know: every "…_mtp" is "mtp".
std::string MethodOf(const std::string& name) {
  if (name == "[ngram]") return "ngram";
  if (name.size() > 4 && name.ends_with("_mtp")) return "mtp";
  return Has(Methods(), name) ? name : "";
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// What vLLM reads out of the model's name where no method is given.
std::string MethodOfName(const std::string& model) {
  if (model == "ngram" || model == "[ngram]") return "ngram";
  const std::string lower = Lower(model);
  if (lower.find("eagle-") != std::string::npos) return "eagle";
  for (const char* word : {"eagle3", "dflash", "dspark"}) {
    if (lower.find(word) != std::string::npos) return word;
  }
  return "";
}

// What the readers of configs call invalid input is a misspelt option here.
tl::unexpected<Error> AsUsage(Error error) {
  error.code = ErrorCode::kUsage;
  return tl::unexpected(std::move(error));
}

Status SortKeys(const nlohmann::json& json, Speculation* out) {
  std::vector<std::string> known = ReadKeys();
  for (const auto* keys : {&UnmodelledKeys(), &HarmlessKeys()}) {
    known.insert(known.end(), keys->begin(), keys->end());
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "tensor_parallel_size") {
      return Fail(ErrorCode::kUsage, kOption, "tensor_parallel_size: vLLM refuses it",
                  "did you mean draft_tensor_parallel_size?");
    }
    if (Has(UnmodelledKeys(), key)) out->unmodelled.push_back(key);
    if (Has(known, key)) continue;
    const std::vector<std::string> close = CloseNames(key, known);
    if (!close.empty()) {
      return Fail(ErrorCode::kUsage, kOption, Printable(key) + ": no such key",
                  "did you mean " + JoinWithOr(close) + "?");
    }
    out->unknown.push_back(Printable(key));
  }
  return {};
}

}  // namespace

Result<Speculation> ParseSpeculation(const std::string& text) {
  Speculation out;
  out.text = text;
  const Result<nlohmann::json> json = ParseConfigObject(text, kOption);
  if (!json) return AsUsage(json.error());
  SHARDPLAN_RETURN_IF_ERROR(SortKeys(*json, &out));
  ConfigReader reader(*json, kOption);
  const std::string method = reader.StringOr("method", "");
  out.model = reader.StringOr("model", "");
  out.tokens = reader.IntOr("num_speculative_tokens", 1, 1024, 0);
  const int64_t tp = reader.IntOr("draft_tensor_parallel_size", 1, 8192, 0);
  if (tp > 0) out.draft_tp = tp;
  out.any_vocabulary = reader.BoolOr("use_heterogeneous_vocab", false);
  const std::string sampling = reader.StringOr("draft_sample_method", "greedy");
  if (reader.ok() && sampling != "greedy" && sampling != "probabilistic") {
    reader.Contradiction("draft_sample_method", "expected greedy or probabilistic");
  }
  if (!reader.ok()) return AsUsage(reader.error());
  out.keeps_probabilities = sampling == "probabilistic";
  if (!method.empty()) {
    out.method = MethodOf(method);
    if (out.method.empty()) {
      const std::vector<std::string> close = CloseNames(method, Methods());
      return Fail(ErrorCode::kUsage, kOption,
                  "method " + Printable(method) + ": expected one of " + JoinWithOr(Methods()),
                  close.empty() ? "" : "did you mean " + JoinWithOr(close) + "?");
    }
  } else if (out.model.empty()) {
    return Fail(ErrorCode::kUsage, kOption, "expected a method or a model, found neither",
                R"({"method": "mtp", "num_speculative_tokens": 1})");
  } else {
    out.method = MethodOfName(out.model);
  }
  return out;
}

}  // namespace shardplan::vllm
