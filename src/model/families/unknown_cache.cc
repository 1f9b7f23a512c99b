#include "model/families/unknown_cache.h"

#include <algorithm>

namespace shardplan::families {
namespace {

struct Guess {
  AttentionKind kind = AttentionKind::kFull;
  bool guessed = false;
};

Guess ByTensors(const LayerSigns& s, const Architecture& a) {
  if (s.latent && a.mla.kv_lora_rank > 0) return {AttentionKind::kMla, false};
  if (s.linear) return {AttentionKind::kNone, true};
  if (s.keys_and_values) return {AttentionKind::kFull, false};
  if (s.attention) return {AttentionKind::kFull, true};
  return {AttentionKind::kNone, false};
}

Guess ByWord(const std::string& word, const LayerSigns& s, int64_t chunk, const Architecture& a) {
  const Guess by_tensors = ByTensors(s, a);
  const bool tokens = KeepsTokens(by_tensors.kind);
  if (word == "full_attention" || word == "attention" || word == "global_attention") {
    return tokens ? by_tensors : Guess{AttentionKind::kFull, true};
  }
  if (word == "sliding_attention" || word == "sliding_window" || word == "local_attention") {
    if (a.window > 0 && by_tensors.kind == AttentionKind::kFull) {
      return {AttentionKind::kSliding, by_tensors.guessed};
    }
    return {AttentionKind::kFull, true};
  }
  if (word == "chunked_attention" && chunk > 0 && by_tensors.kind == AttentionKind::kFull) {
    return {AttentionKind::kChunked, by_tensors.guessed};
  }
  if (word == "linear_attention" && a.gdn.v_heads > 0) return {AttentionKind::kGdn, false};
  if (word == "linear_attention" || word == "mamba") return {AttentionKind::kNone, true};
  return {by_tensors.kind, true};
}

}  // namespace

void GuessCache(const std::vector<LayerSigns>& signs, const std::vector<std::string>& layer_types,
                int64_t chunk, Architecture* arch, Guesses* guesses) {
  const bool words = layer_types.size() == signs.size();
  std::vector<Guess> kinds;
  for (size_t i = 0; i < signs.size(); ++i) {
    kinds.push_back(words ? ByWord(layer_types[i], signs[i], chunk, *arch)
                          : ByTensors(signs[i], *arch));
  }
  // A model of which no layer is known to keep tokens is taken to keep them everywhere.
  const bool some = std::any_of(kinds.begin(), kinds.end(),
                                [](const Guess& kind) { return KeepsTokens(kind.kind); });
  if (!some) std::fill(kinds.begin(), kinds.end(), Guess{AttentionKind::kFull, true});
  for (const Guess& kind : kinds) arch->attention.push_back(kind.kind);
  if (arch->has_kind(AttentionKind::kChunked)) arch->window = chunk;
  const bool limited =
      arch->has_kind(AttentionKind::kSliding) || arch->has_kind(AttentionKind::kChunked);

  const bool any =
      std::any_of(kinds.begin(), kinds.end(), [](const Guess& k) { return k.guessed; });
  // A window that no layer_types places may hold everywhere or nowhere.
  const bool loose_window = arch->window > 0 && !limited && !words;
  if (!any && !loose_window) {
    if (!limited) arch->window = 0;
    return;
  }
  Architecture least = *arch;
  Architecture most = *arch;
  if (!limited) arch->window = most.window = 0;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].guessed) {
      if (kinds[i].kind == AttentionKind::kNone) most.attention[i] = AttentionKind::kFull;
      if (kinds[i].kind == AttentionKind::kFull) {
        least.kv_heads = 1;
        guesses->heads_may_be_whole = true;
      }
    } else if (loose_window && kinds[i].kind == AttentionKind::kFull) {
      least.attention[i] = AttentionKind::kSliding;
    }
  }
  if (!loose_window && !limited) least.window = 0;
  guesses->least_cache = std::move(least);
  guesses->most_cache = std::move(most);
}

}  // namespace shardplan::families
