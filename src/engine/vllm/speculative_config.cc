#include "engine/vllm/speculative_config.h"

#include <fmt/format.h>

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
                                                "use_heterogeneous_vocab",
                                                "prompt_lookup_max",
                                                "prompt_lookup_min",
                                                "enable_adaptive_verification",
                                                "dspark_draft_topk",
                                                "suffix_decoding_max_tree_depth",
                                                "suffix_decoding_max_cached_requests",
                                                "suffix_decoding_max_spec_factor",
                                                "suffix_decoding_min_token_prob"};
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
                                                "revision",
                                                "code_revision",
                                                "index_share_for_mtp_iteration",
                                                "rejection_sample_method",
                                                "synthetic_acceptance_rates",
                                                "synthetic_acceptance_length",
                                                "speculative_token_tree"};
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

tl::unexpected<Error> Refused(std::string what, std::string instead) {
  return Fail(ErrorCode::kUsage, kOption, std::move(what), std::move(instead));
}

bool IsNgram(const std::string& method) { return method == "ngram" || method == "ngram_gpu"; }

// The sizes of n-grams: of one that is missing the other's stand for both.
Status ReadLookup(ConfigReader& reader, Speculation* out) {
  constexpr int64_t kFar = int64_t{1} << 31;
  constexpr const char* kKeys[] = {"prompt_lookup_min", "prompt_lookup_max"};
  int64_t* const to[] = {&out->lookup_min, &out->lookup_max};
  for (size_t i = 0; i < 2; ++i) {
    if (!reader.Has(kKeys[i])) continue;
    *to[i] = reader.Int(kKeys[i], -kFar, kFar);
    if (!reader.Has(kKeys[1 - i])) *to[1 - i] = *to[i];
    if (reader.ok() && *to[i] < 1) {
      return Refused(
          fmt::format("{} {}: vLLM would say: Input should be greater than or equal to 1", kKeys[i],
                      *to[i]),
          "a number of tokens");
    }
  }
  if (reader.ok() && IsNgram(out->method) && out->lookup_min > out->lookup_max) {
    return Refused(fmt::format("vLLM would say: prompt_lookup_min={} must be <= "
                               "prompt_lookup_max={}",
                               out->lookup_min, out->lookup_max),
                   "the smaller of them as prompt_lookup_min");
  }
  return {};
}

// SpeculativeConfig._validate_suffix_decoding
Status ReadSuffix(ConfigReader& reader, Speculation* out) {
  constexpr int64_t kFar = int64_t{1} << 31;
  constexpr double kWide = 1e12;
  out->tree_depth = reader.IntOr("suffix_decoding_max_tree_depth", -kFar, kFar, out->tree_depth);
  const int64_t cached = reader.IntOr("suffix_decoding_max_cached_requests", -kFar, kFar, 10000);
  const double factor = reader.NumberOr("suffix_decoding_max_spec_factor", -kWide, kWide, 1);
  const double least = reader.NumberOr("suffix_decoding_min_token_prob", -kWide, kWide, 0.1);
  if (!reader.ok() || out->method != "suffix") return {};
  const auto refuse = [](const char* key, const auto& value, const char* what) {
    return Refused(fmt::format("vLLM would say: {}={} must be {}", key, value, what),
                   "a value in that range");
  };
  if (out->tree_depth < 1) {
    return refuse("suffix_decoding_max_tree_depth", out->tree_depth, ">= 1");
  }
  if (cached < 0) return refuse("suffix_decoding_max_cached_requests", cached, ">= 0");
  if (factor < 0) return refuse("suffix_decoding_max_spec_factor", factor, ">= 0");
  if (least < 0 || least > 1) return refuse("suffix_decoding_min_token_prob", least, "in [0, 1]");
  return {};
}

// Keys of one method alone. Where the draft decides the method, nothing is known yet.
Status CheckMethodKeys(ConfigReader& reader, const Speculation& s) {
  const bool adaptive = reader.BoolOr("enable_adaptive_verification", false);
  if (!reader.ok() || s.method.empty()) return {};
  if (s.any_vocabulary && s.method != "draft_model") {
    return Refused("vLLM would say: use_heterogeneous_vocab only works with method='draft_model'",
                   "leave it out");
  }
  if (adaptive && s.method != "dspark") {
    return Refused("vLLM would say: Adaptive verification only supported with DSpark",
                   "leave enable_adaptive_verification out");
  }
  const bool has_weights = !IsNgram(s.method) && s.method != "suffix";
  if (reader.Has("dspark_draft_topk") && has_weights && s.method != "dspark") {
    return Refused("vLLM would say: dspark_draft_topk is only supported by DSpark", "leave it out");
  }
  return {};
}

}  // namespace

void HeedPath(const std::string& path, Speculation* speculation) {
  static const std::vector<std::string> yielding = {"", "draft_model", "medusa", "mlp_speculator"};
  if (path.empty() || !Has(yielding, speculation->method)) return;
  const std::string named = MethodOfName(path);
  if (named.empty() || named == "ngram") return;
  const std::string asked = std::exchange(speculation->method, named);
  if (!asked.empty()) speculation->asked = asked;
}

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
  HeedPath(out.model, &out);
  SHARDPLAN_RETURN_IF_ERROR(ReadLookup(reader, &out));
  SHARDPLAN_RETURN_IF_ERROR(ReadSuffix(reader, &out));
  SHARDPLAN_RETURN_IF_ERROR(CheckMethodKeys(reader, out));
  if (out.any_vocabulary && out.keeps_probabilities) {
    return Refused(
        "vLLM would say: use_heterogeneous_vocab currently only supports greedy draft "
        "sampling",
        R"("draft_sample_method": "greedy")");
  }
  if (!reader.ok()) return AsUsage(reader.error());
  return out;
}

}  // namespace shardplan::vllm
