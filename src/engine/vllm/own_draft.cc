#include "engine/vllm/own_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "shardplan/base/file.h"

namespace shardplan::vllm {
namespace {

constexpr const char* kOption = "--speculative-config";
constexpr const char* kKnown =
    "EAGLE heads of Llama's shape, EAGLE-3 heads of Llama's or DeepSeek's, Medusa heads, DFlash "
    "and DSpark drafts of Qwen3's layers, Kimi-K3's DSpark and whole draft models are";

// Families that are drafts, and what vLLM loads them for.
struct DraftFamily {
  std::string_view family;
  std::string_view method;
};
constexpr std::array<DraftFamily, 6> kFamilies = {{{"dflash", "dflash"},
                                                   {"dspark", "dspark"},
                                                   {"eagle", "eagle"},
                                                   {"eagle3", "eagle3"},
                                                   {"eagle3-mla", "eagle3"},
                                                   {"medusa", "medusa"}}};

bool IsHead(const Architecture& a) {
  return std::any_of(kFamilies.begin(), kFamilies.end(),
                     [&](const DraftFamily& f) { return f.family == a.family; });
}

// Whether the drafter takes the target's table in place of this row.
//
// The embedding: with one stage, where the file has none. That of an EAGLE head is a frozen copy,
// which vLLM passes over or finds equal (models/llama_eagle.py; llm_base_proposer.py:
// _maybe_share_embeddings); of others a stored one is kept unless it equals the target's, which
// headers don't tell. The head: where the file has none; DFlash and DSpark drafts whose vocabulary
// is the target's store none (models/qwen3_dflash.py, qwen3_dspark.py: has_own_lm_head).
bool IsTargets(const ModuleRow& row, const Architecture& a, bool exact, int64_t pp) {
  if (row.role == Role::kEmbedding) return pp == 1 && (!exact || a.family == "eagle");
  const bool block = a.family == "dflash" || a.family == "dspark";
  if (exact || !block || row.role != Role::kHead) return false;
  return row.shape.dims[0] == a.vocabulary;
}

// As many heads as tokens are guessed, over the target's words: vLLM sets both before it builds
// the class (vllm/config/speculative.py; configs/medusa.py:num_lookahead_tokens), and passes over
// what else is stored.
void FitMedusa(const Speculation& s, const DraftSource& source, Draft* draft) {
  Architecture& a = draft->arch;
  const bool truncated =
      std::any_of(draft->table.rows.begin(), draft->table.rows.end(), [&](const ModuleRow& row) {
        return row.role == Role::kHead && row.shape.dims[0] < a.vocabulary;
      });
  for (ModuleRow& row : draft->table.rows) {
    if (row.blocks > 0 && s.tokens > 0) row.blocks = s.tokens;
    if (row.role == Role::kHead && !truncated) row.shape.dims[0] = source.target->vocabulary;
  }
  if (!truncated) a.vocabulary = source.target->vocabulary;
}

void CheckWholeModel(const Speculation& s, const DraftSource& source, const ParallelSizes& sizes,
                     std::vector<Finding>* findings) {
  if (s.draft_tp && *s.draft_tp != sizes.tp) {
    findings->push_back({"speculative.draft_tp", Severity::kError, kOption,
                         fmt::format("vLLM runs a draft model in the target's tensor-parallel "
                                     "group: draft_tensor_parallel_size {} must be {}",
                                     *s.draft_tp, sizes.tp),
                         fmt::format(R"("draft_tensor_parallel_size": {})", sizes.tp)});
  }
  const int64_t of_target = source.target->vocabulary;
  const int64_t of_draft = source.arch->vocabulary;
  if (of_target != of_draft && !s.any_vocabulary) {
    findings->push_back(
        {"speculative.vocabulary", Severity::kError, kOption,
         fmt::format("Target and draft model should have the same vocabulary size. Target model "
                     "vocab_size={}. Draft model vocab_size={}.",
                     of_target, of_draft),
         R"(another draft, or "use_heterogeneous_vocab": true)"});
  }
}

}  // namespace

std::string MethodOfShape(const Architecture& arch) {
  for (const DraftFamily& f : kFamilies) {
    if (f.family == arch.family) return std::string(f.method);
  }
  return "draft_model";
}

std::optional<Error> MethodRefusal(const std::string& method) {
  const auto refuse = [&](const char* why, const char* instead) {
    return Error{ErrorCode::kUnsupported, kOption,
                 fmt::format("method {} is not modelled: {}", method, why), instead};
  };
  if (method == "mlp_speculator") {
    return refuse("vLLM's registry has had no class for it since the V1 engine",
                  "an EAGLE-3 head, MTP layers or a draft model");
  }
  if (method == "custom_class") {
    return refuse("what the class allocates is its own affair",
                  "plan without speculation, and measure what it adds");
  }
  if (method == "extract_hidden_states") {
    return refuse("the width of the cache that it fills is set at run time",
                  "plan without speculation, and measure what it adds");
  }
  return std::nullopt;
}

ModuleRow DraftEmbedding(const Architecture& arch, int64_t rows, int64_t width) {
  ModuleRow row;
  row.name = row.param = "model.embed_tokens.weight";
  row.form = Form::kTensor;
  row.role = Role::kDraft;
  row.split = Split::kVocabulary;
  row.placement = Placement::kLastStage;
  row.shape = Shape{rows, width};
  row.dtype = row.device_dtype = arch.dtype;
  return row;
}

Result<std::optional<Draft>> MakeOwnDraft(const Speculation& s, const DraftSource& source,
                                          const ParallelSizes& sizes,
                                          std::vector<Finding>* findings) {
  const Architecture& a = *source.arch;
  const std::string shape = MethodOfShape(a);
  const std::string method = s.method.empty() ? shape : s.method;
  if (source.guessed || method != shape) {
    return Fail(ErrorCode::kUnsupported, kOption,
                fmt::format("{} of class {} is not modelled", method, Printable(a.name)), kKnown);
  }
  if (method != "medusa" && !source.target->compress_ratio.empty()) {
    return Fail(ErrorCode::kUnsupported, kOption,
                fmt::format("{} for {} is not modelled: how vLLM groups a draft's cache with "
                            "compressed ones is not known here",
                            method, Printable(source.target->name)),
                "the model's own MTP layers, or no speculation");
  }
  if (method == "draft_model") CheckWholeModel(s, source, sizes, findings);
  Draft draft;
  draft.method = method;
  draft.of_its_own = true;
  draft.in_checkpoint = false;
  draft.arch = a;
  draft.arch.vision = {};
  draft.table.layer_prefix = source.table->layer_prefix;
  const bool head = IsHead(a);
  bool embeds = false;
  for (const ModuleRow& row : source.table->rows) {
    if (row.placement == Placement::kNotLoaded || row.is_tower()) continue;
    if (head && IsTargets(row, a, source.exact, sizes.pp)) continue;
    embeds |= row.role == Role::kEmbedding;
    draft.table.rows.push_back(row);
  }
  if (method == "medusa") FitMedusa(s, source, &draft);
  if (head && method != "medusa" && sizes.pp > 1 && !embeds) {
    // The last stage has no embedding to share.
    draft.table.rows.insert(draft.table.rows.begin(), DraftEmbedding(a, a.vocabulary, a.hidden));
  }
  return std::optional<Draft>(std::move(draft));
}

}  // namespace shardplan::vllm
