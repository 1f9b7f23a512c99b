#include "engine/vllm/own_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/vllm/draft_fit.h"
#include "shardplan/base/file.h"

namespace shardplan::vllm {
namespace {

constexpr const char* kOption = "--speculative-config";
constexpr const char* kKnown =
    "EAGLE heads of Llama's shape, EAGLE-3 heads of Llama's or DeepSeek's, Medusa heads, DFlash "
    "and DSpark drafts of Qwen3's layers, Kimi-K3's DSpark and whole draft models are";

// Whether the drafter takes the target's table in place of this row: the embedding of a head that
// is a frozen copy of the target's, where there is one stage. vLLM passes over that of an EAGLE
// head, and finds others equal (models/llama_eagle.py; llm_base_proposer.py:
// _maybe_share_embeddings). A table that was trained is kept; one that the files lack has no row.
bool IsTargets(const ModuleRow& row, int64_t pp) {
  return row.role == Role::kEmbedding && row.frozen_copy && pp == 1;
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

}  // namespace

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
  if (!source.guessed) {
    if (auto refusal = RefuseShape(s.method, a)) return tl::unexpected(std::move(*refusal));
  }
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
  Draft draft;
  draft.method = method;
  draft.of_its_own = true;
  draft.in_checkpoint = false;
  draft.arch = a;
  draft.arch.vision = {};
  draft.table.layer_prefix = source.table->layer_prefix;
  const bool head = method != "draft_model";
  bool embeds = false;
  for (const ModuleRow& row : source.table->rows) {
    if (row.placement == Placement::kNotLoaded || row.is_tower()) continue;
    if (head && IsTargets(row, sizes.pp)) continue;
    embeds |= row.role == Role::kEmbedding;
    draft.table.rows.push_back(row);
  }
  if (method == "medusa") FitMedusa(s, source, &draft);
  for (Finding& finding : CheckFit(s, source, draft, sizes))
    findings->push_back(std::move(finding));
  if (head && method != "medusa" && sizes.pp > 1 && !embeds) {
    // The last stage has no embedding to share.
    draft.table.rows.insert(draft.table.rows.begin(), DraftEmbedding(a, a.vocabulary, a.hidden));
  }
  return std::optional<Draft>(std::move(draft));
}

}  // namespace shardplan::vllm
