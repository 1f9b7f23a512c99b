#include "engine/vllm/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/vllm/own_draft.h"
#include "model/quantization_plan.h"

namespace shardplan::vllm {
namespace {

constexpr const char* kOption = "--speculative-config";

bool IsExpert(Split split) {
  return split == Split::kExpertGate || split == Split::kExpertUp || split == Split::kExpertDown;
}

bool IsOutputProjection(const std::string& param) {
  return param.ends_with(".o_proj") || param.ends_with("attn.wo_b");
}

// The index N of "mtp.N.…", as DeepSeek-V4 calls its modules; -1 for other names.
int64_t ModuleIndex(const std::string& param) {
  constexpr std::string_view kPrefix = "mtp.";
  if (!param.starts_with(kPrefix)) return -1;
  const size_t end = param.find('.', kPrefix.size());
  const std::string digits = param.substr(kPrefix.size(), end - kPrefix.size());
  const bool number = !digits.empty() && digits.size() < 6 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
  return number ? std::stoll(digits) : -1;
}

// Copies of the model's own embedding and head that a checkpoint stores with its MTP layers: the
// engine drops them in favour of the model's, or of one embedding for all layers.
bool IsSharedCopy(const ModuleRow& row) {
  return row.split == Split::kVocabulary || row.param.ends_with("embed_tokens.weight") ||
         row.param.ends_with("shared_head.head.weight");
}

// MTP rows of the model's table, moved to the last stage and counted from layer 0.
class MtpBuilder {
 public:
  MtpBuilder(const DraftSource& source, Draft* out) : source_(source), out_(out) {}

  // False where the table has no MTP row.
  bool Build(int64_t pp) {
    std::vector<const ModuleRow*> rows;
    for (const ModuleRow& row : source_.table->rows) {
      if (row.role == Role::kDraft) rows.push_back(&row);
    }
    if (rows.empty()) return false;
    int64_t first = -1;
    for (const ModuleRow* row : rows) {
      if (row->layers.empty()) continue;
      const int64_t begin = row->layers.layers().front();
      first = first < 0 ? begin : std::min(first, begin);
    }
    out_->first_layer = std::max<int64_t>(first, 0);
    for (const ModuleRow* row : rows) AddRow(*row);
    Name(rows);
    FillArchitecture();
    if (pp > 1) {  // one embedding for all MTP layers
      const Architecture& a = *source_.arch;
      out_->table.rows.insert(out_->table.rows.begin(), DraftEmbedding(a, a.vocabulary, a.hidden));
    }
    return true;
  }

  bool stores_embedding() const { return stores_embedding_; }
  bool in_layers() const { return in_layers_; }

 private:
  void AddRow(const ModuleRow& original) {
    if (IsSharedCopy(original)) {
      stores_embedding_ |= original.param.ends_with("embed_tokens.weight");
      return;
    }
    ModuleRow row = original;
    if (IsExpert(row.split)) row.role = Role::kRoutedExpert;
    int64_t end = 1;
    if (!row.layers.empty()) {
      in_layers_ = true;
      std::vector<int64_t> layers;
      for (const int64_t layer : row.layers.layers()) layers.push_back(layer - out_->first_layer);
      end = layers.back() + 1;
      if (IsOutputProjection(row.param)) attend_.insert(layers.begin(), layers.end());
      if (IsExpert(row.split)) mix_.insert(layers.begin(), layers.end());
      row.layers = LayerSet(std::move(layers));
      row.placement = Placement::kLayers;
    } else {
      // Modules outside the stack: blocks {B}, or one row each ("mtp.0.…").
      row.placement = Placement::kLastStage;
      const int64_t index = ModuleIndex(row.param);
      end = std::max<int64_t>({1, row.blocks, index + 1});
      const bool all = row.blocks > 0;
      for (int64_t layer = all ? 0 : index; layer >= 0 && layer < end; ++layer) {
        if (IsOutputProjection(row.param)) attend_.insert(layer);
        if (IsExpert(row.split)) mix_.insert(layer);
      }
    }
    layers_ = std::max(layers_, end);
    out_->table.rows.push_back(std::move(row));
  }

  // What parameters of layers are called: the checkpoint's names up to the layer.
  void Name(const std::vector<const ModuleRow*>& rows) {
    for (const ModuleRow* row : rows) {
      const size_t at = row->name.find("{L}.");
      if (at == std::string::npos) continue;
      out_->table.layer_prefix = row->name.substr(0, at + 4);
      return;
    }
  }

  void FillArchitecture() {
    Architecture& a = out_->arch;
    a = *source_.arch;
    const AttentionKind usual =
        a.has_kind(AttentionKind::kMla) ? AttentionKind::kMla : AttentionKind::kFull;
    const AttentionKind kind = a.mtp_attention.value_or(usual);
    a.attention.assign(static_cast<size_t>(layers_), AttentionKind::kNone);
    for (const int64_t layer : attend_) {
      a.attention[static_cast<size_t>(layer)] = kind;
    }
    a.moe.first_dense = 0;
    a.moe.layer_is_moe.assign(static_cast<size_t>(layers_), false);
    for (const int64_t layer : mix_) a.moe.layer_is_moe[static_cast<size_t>(layer)] = true;
    a.indexer_layers.clear();
    if (!a.compress_ratio.empty()) a.compress_ratio.assign(static_cast<size_t>(layers_), 0);
    a.cache_of_layer.clear();
    a.attn_res_block = 0;
    a.attentions_per_layer = 1;
    a.vision = {};
    a.tied_embeddings = false;
    a.quantization = EngineQuantization(out_->table);
  }

  const DraftSource& source_;
  Draft* out_;
  int64_t layers_ = 0;
  std::set<int64_t> attend_, mix_;
  bool stores_embedding_ = false;
  bool in_layers_ = false;
};

Result<std::optional<Draft>> MakeMtp(const Speculation& s, const DraftSource& source,
                                     const ParallelSizes& sizes, std::vector<Finding>* findings) {
  const Architecture& a = *source.arch;
  if (source.guessed) {
    return Fail(ErrorCode::kUnsupported, kOption,
                fmt::format("the MTP layers of {} are not modelled", a.name),
                "plan without speculation, and measure what it adds");
  }
  Draft draft;
  draft.method = s.method;
  draft.in_checkpoint = !source.loaded;
  MtpBuilder builder(source, &draft);
  if (!builder.Build(sizes.pp)) {
    const bool announced = a.mtp_layers > 0;
    findings->push_back(
        {"speculative.mtp_absent", Severity::kError, kOption,
         announced ? fmt::format("the config announces {} multi-token-prediction layer(s), the "
                                 "checkpoint stores none: vLLM fails to load the drafter",
                                 a.mtp_layers)
                   : fmt::format("method mtp, and {} has no multi-token-prediction layer", a.name),
         announced ? "a checkpoint that was exported with its MTP layers, or no speculation"
                   : "an eagle3 head or ngram, or no speculation"});
    return std::optional<Draft>();
  }
  if (a.mtp_layers > 0 && s.tokens > a.mtp_layers && s.tokens % a.mtp_layers != 0) {
    findings->push_back({"speculative.tokens", Severity::kError, kOption,
                         fmt::format("num_speculative_tokens:{} must be divisible by n_predict={}",
                                     s.tokens, a.mtp_layers),
                         fmt::format("a multiple of {}", a.mtp_layers)});
  }
  if (sizes.pp > 1 && builder.in_layers() && !builder.stores_embedding()) {
    findings->push_back(
        {"speculative.embedding", Severity::kWarning, kOption,
         "with pipeline stages the drafter has an embedding of its own, which this checkpoint "
         "does not store with its MTP layers: vLLM may leave it as it was created",
         "watch the acceptance rate, or use tensor parallelism alone"});
  }
  return std::optional<Draft>(std::move(draft));
}

}  // namespace

std::string Draft::NameOf(const std::string& param, int64_t layer) const {
  return ExpandName(table.layer_prefix, first_layer + layer, 0, 0) + param;
}

Result<std::optional<Draft>> MakeDraft(const Speculation& s, const DraftSource& source,
                                       const ParallelSizes& sizes, std::vector<Finding>* findings) {
  static const std::set<std::string> weightless = {"ngram", "ngram_gpu", "suffix"};
  if (weightless.contains(s.method)) return std::optional<Draft>();
  if (auto refusal = MethodRefusal(s.method)) return tl::unexpected(std::move(*refusal));
  if (s.method == "mtp") return MakeMtp(s, source, sizes, findings);
  if (!source.loaded) {
    if (s.method == "dspark") {
      return Fail(ErrorCode::kUnsupported, kOption,
                  "the DSpark stages inside a model's own checkpoint are not modelled: no "
                  "published list of their tensors is known here",
                  R"("model": a directory or config.json of a DSpark draft)");
    }
    return Fail(ErrorCode::kUsage, kOption,
                fmt::format("method {} needs a model, found none", s.method),
                R"("model": a directory or config.json of the draft)");
  }
  return MakeOwnDraft(s, source, sizes, findings);
}

}  // namespace shardplan::vllm
