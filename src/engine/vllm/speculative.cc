#include "engine/vllm/speculative.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

constexpr const char* kOption = "--speculative-config";

Bytes Total(const std::vector<ExtraBytes>& extras) {
  Bytes sum;
  for (const ExtraBytes& extra : extras) sum += extra.bytes;
  return sum;
}

// The drafter as if it were the model: one stage, no tower. Points into `c`.
Context ContextOf(const Context& c) {
  Context own = c;
  own.arch = &c.draft->arch;
  own.table = &c.draft->table;
  own.draft = nullptr;
  own.sizes.pp = 1;
  own.stages = {{0, c.draft->arch.layers()}};
  own.resolved.vision_on_device = own.resolved.vision_sharded = false;
  return own;
}

// Methods that see hidden states of layers in the middle of the target.
bool SeesMiddleLayers(const Draft& draft) {
  static const std::set<std::string> methods = {"eagle3", "dflash", "dspark"};
  return methods.contains(draft.method);
}

void CheckStages(const Context& c, std::vector<Finding>* findings) {
  if (!c.draft || c.sizes.pp == 1) return;
  const auto add = [&](Severity severity, std::string what, const char* instead) {
    findings->push_back({"speculative.pipeline", severity, kOption, std::move(what), instead});
  };
  if (SeesMiddleLayers(*c.draft) && !c.profile->aux_states_over_pp) {
    add(Severity::kError,
        fmt::format("{} sees hidden states of layers all over the model, which pipeline stages "
                    "don't hand on before vLLM 0.29: EAGLE3 with pipeline parallel is not "
                    "supported.",
                    c.draft->method),
        "tensor parallelism alone, or vLLM 0.29 and later");
  } else if (SeesMiddleLayers(*c.draft)) {
    add(Severity::kWarning,
        fmt::format("{} across pipeline stages needs a target class that hands on hidden states "
                    "(supports_aux_hidden_states_over_pp); which have it is not known here, and "
                    "vLLM refuses the others while it loads",
                    c.draft->method),
        "tensor parallelism alone, where it does");
  } else if (!c.profile->drafts_over_pp) {
    add(Severity::kWarning,
        "vLLM's documentation up to 0.15 says that speculative decoding and pipeline stages don't "
        "go together",
        "tensor parallelism alone, or a later version");
  }
}

// What stands once in the process, for the model and its drafter.
bool IsShared(const ExtraBytes& extra, bool of_its_own) {
  if (extra.name == "MLA backend workspace" || extra.name == "indexer.topk_indices_buffer") {
    return true;
  }
  return extra.name == "rotary_emb.cos_sin_cache" && !of_its_own;
}

}  // namespace

Bytes DraftOnRank::Resident() const {
  return parameters + Total(buffers) + Total(post_load) + rounding;
}

bool DraftsOnHost(const EngineSettings& settings) {
  static const std::set<std::string> on_device = {"mtp",    "eagle",     "eagle3", "draft_model",
                                                  "dflash", "ngram_gpu", "dspark", ""};
  return settings.speculation && !on_device.contains(settings.speculation->method);
}

std::optional<bool> RunnerOfDrafter(const Context& c) {
  if (!c.settings.speculation) return std::nullopt;
  if (DraftsOnHost(c.settings)) return false;
  static const std::set<std::string> in_first_alone = {"ngram_gpu", "draft_model"};
  const std::string& method = c.draft ? c.draft->method : c.settings.speculation->method;
  if (in_first_alone.contains(method)) return false;
  if (!c.draft || c.profile->v2_runner == V2Runner::kNone) return std::nullopt;
  if (method == "dspark") return true;
  const Architecture& a = c.draft->arch;
  const bool mixed = a.has_kind(AttentionKind::kSliding) &&
                     a.CountKind(AttentionKind::kSliding, 0, a.layers()) < a.layers();
  if (method == "dflash" && mixed) return true;
  if (method == "eagle3" && c.sizes.pp > 1 && !c.profile->aux_states_over_pp) return false;
  return std::nullopt;
}

std::vector<Finding> CheckDraft(const Context& c) {
  std::vector<Finding> out;
  if (!c.draft) return out;
  const Context own = ContextOf(c);
  for (const Indivisible& problem :
       CheckSharding(c.draft->arch, c.draft->table, RulesFor(own, 0))) {
    out.push_back({"speculative.sharding", Severity::kError, kOption,
                   fmt::format("the drafter's {}: {} is not divisible by {}",
                               Printable(problem.param), FormatCount(problem.dimension),
                               FormatCount(problem.block > 0 ? problem.block : problem.divisor)),
                   "another tensor parallel size, or another draft"});
    break;  // one of a kind is enough: the others follow from the same size
  }
  return out;
}

void ResolveSpeculation(const Context& c, Resolved* r, std::vector<Finding>* findings) {
  if (!c.settings.speculation) return;
  CheckStages(c, findings);
  const Speculation& s = *c.settings.speculation;
  r->draft_tokens = s.tokens;
  if (c.draft && !c.draft->of_its_own) {
    for (const AttentionKind kind : c.draft->arch.attention) {
      if (kind != AttentionKind::kNone) r->draft_layers.push_back(kind);
    }
  }
  // As many as the draft's config says; suffix decoding takes its tree's depth.
  if (s.tokens == 0 && s.method == "suffix") r->draft_tokens = s.tree_depth;
  if (s.tokens == 0 && s.method == "mtp" && c.draft) {
    r->draft_tokens = c.draft->arch.mtp_layers;
  }
  if (r->draft_tokens == 0) {
    findings->push_back({"speculative.tokens", Severity::kError, kOption,
                         "num_speculative_tokens must be provided with speculative model unless "
                         "the draft model config contains an n_predict parameter.",
                         R"("num_speculative_tokens": 1)"});
  }
  if (s.draft_tp && *s.draft_tp != 1 && *s.draft_tp != c.sizes.tp) {
    findings->push_back(
        {"speculative.draft_tp", Severity::kError, kOption,
         fmt::format("speculative_draft_tensor_parallel_size={} cannot be other value than 1 or "
                     "target model tensor_parallel_size",
                     *s.draft_tp),
         fmt::format(R"("draft_tensor_parallel_size": {})", c.sizes.tp)});
  }
  if (!s.asked.empty()) {
    findings->push_back(
        {"speculative.method", Severity::kWarning, kOption,
         fmt::format("method {}, and the draft's path tells vLLM {}, which it takes", s.asked,
                     s.method),
         fmt::format(R"("method": "{}", or another path)", s.method)});
  }
  for (const std::string& key : s.unmodelled) {
    findings->push_back({"speculative.key_unmodelled", Severity::kNote, kOption,
                         key + " is passed on; what it changes in the drafter's memory is not "
                               "modelled",
                         ""});
  }
  for (const std::string& key : s.unknown) {
    findings->push_back({"speculative.key_unknown", Severity::kWarning, kOption,
                         key + ": no such key is known here; it is passed on, and vLLM refuses "
                               "keys that it does not know",
                         ""});
  }
}

DraftOnRank PlaceDraft(const Context& c, int64_t ep_rank) {
  const Draft& draft = *c.draft;
  const Context own = ContextOf(c);
  DraftOnRank out;
  out.layers = own.stages.front();
  const ShardingRules rules = RulesFor(own, ep_rank);
  out.weights = ComputeDeviceWeights(draft.arch, draft.table, rules);
  out.parameters = out.weights.StageBytes(out.layers, true, true);
  out.buffers = Buffers(own, out.layers, rules.local_experts);
  out.post_load = PostLoad(own, out.layers, out.weights);
  for (std::vector<ExtraBytes>* extras : {&out.buffers, &out.post_load}) {
    std::erase_if(*extras,
                  [&](const ExtraBytes& extra) { return IsShared(extra, draft.of_its_own); });
    for (ExtraBytes& extra : *extras) extra.name = "drafter: " + extra.name;
  }
  out.rounding = AllocatorRounding(own, out.layers, out.weights);
  return out;
}

std::vector<ExtraBytes> DrafterBuffers(const Context& c) {
  std::vector<ExtraBytes> out;
  if (!c.draft) return out;
  const Architecture& a = c.draft->arch;
  if (c.draft->method == "medusa") return out;  // makes its inputs anew (spec_decode/medusa.py)
  const int64_t tokens = c.resolved.max_num_batched_tokens;
  const int64_t element = BitsOf(c.resolved.dtype) / 8;
  const int64_t width = internal::CheckedMul(a.hidden, a.residual_streams);
  out.push_back({"drafter: hidden states",
                 Bytes(internal::CheckedMul(internal::CheckedMul(tokens, width), element)),
                 fmt::format("{} batched tokens × {} × {} B", FormatCount(tokens), width, element),
                 "vllm/v1/spec_decode/llm_base_proposer.py"});
  if (c.settings.speculation && c.settings.speculation->keeps_probabilities) {
    const int64_t rows = c.resolved.max_num_seqs * c.resolved.draft_tokens;
    out.push_back(
        {"drafter: logits of its guesses", Bytes(internal::CheckedMul(rows, a.vocabulary)) * 4,
         fmt::format("{} requests × {} guesses × {} logits × 4 B", c.resolved.max_num_seqs,
                     c.resolved.draft_tokens, FormatCount(a.vocabulary)),
         "vllm/v1/worker/gpu/spec_decode/speculator.py"});
  }
  return out;
}

int64_t VerifiedRows(const Context& c) {
  return std::min(internal::CheckedMul(c.resolved.max_num_seqs, 1 + c.resolved.draft_tokens),
                  c.resolved.max_num_batched_tokens);
}

Range VerificationBeyond(const Context& c, Bytes counted) {
  if (c.resolved.draft_tokens == 0) return {};
  const Bytes copy = Bytes(internal::CheckedMul(VerifiedRows(c), c.arch->vocabulary)) * 4;
  // Logits in 16 bits and one fp32 copy; probabilities beside them; sorted ones for top-k, top-p.
  const auto beyond = [&](Bytes needed) { return needed > counted ? needed - counted : Bytes(); };
  const Bytes half(copy.count() / 2);
  return Range(beyond(copy + half), beyond(copy * 2 + half), beyond(copy * 4));
}

}  // namespace shardplan::vllm
