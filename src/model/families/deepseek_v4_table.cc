#include "model/families/deepseek_v4_table.h"

#include <set>
#include <utility>

namespace shardplan::families {
namespace {

// The sparse kernels take 64 or 128 query heads a rank; sinks are padded with them
// (vllm/models/deepseek_v4/nvidia/flashmla.py, d29f7f5c).
constexpr int64_t kHeadTile = 64;

// Where rows of one kind go: names in the file and on the card, below a layer or an MTP module.
struct Place {
  std::string name;
  std::string param;

  Place Below(const std::string& module) const { return {name + module, param + module}; }
};

class V4Table {
 public:
  V4Table(TensorTable* table, const Architecture& arch, const V4Shape& shape)
      : t_(table, arch.dtype), a_(arch), s_(shape) {}

  void AddStack() {
    AddHyperHead("", "model.", Placement::kEveryStage);
    t_.At(Placement::kFirstStage)
        .Tensor("embed.weight", "model.embed_tokens.weight", Role::kEmbedding, Split::kVocabulary,
                Shape{a_.vocabulary, a_.hidden});
    const Place layer{"layers.{L}.", ""};
    const LayerSet all = LayerSet::Range(0, a_.layers());
    t_.In(all);
    AddHyperLayer(layer);
    AddAttention(layer.Below("attn."));
    const std::set<int64_t> ratios(a_.compress_ratio.begin(), a_.compress_ratio.end());
    for (const int64_t ratio : ratios) {
      std::vector<int64_t> layers;
      for (int64_t i = 0; i < a_.layers(); ++i) {
        if (a_.compress_ratio[static_cast<size_t>(i)] == ratio) layers.push_back(i);
      }
      t_.In(LayerSet(std::move(layers)));
      AddCompression(layer.Below("attn."), ratio);
    }
    AddRouter(layer.Below("ffn."), all, LayerSet::Range(0, s_.hash_layers),
              LayerSet::Range(s_.hash_layers, a_.layers()));
    t_.In(all);
    AddExperts(layer.Below("ffn."), s_.expert);
    AddNorms(layer);
    t_.At(Placement::kLastStage).Norm("norm", "model.norm", a_.hidden);
    t_.Tensor("head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
              Shape{a_.vocabulary, a_.hidden});
  }

  // An MTP module shares embedding and head with the model.
  void AddDraft(int64_t index) {
    const std::string prefix = "mtp." + std::to_string(index) + ".";
    const Place layer{prefix, prefix};
    t_.At(Placement::kNotLoaded).AsDraft(true);
    for (const char* x : {"e_proj", "h_proj"}) {
      Linear(layer.Below(x), Role::kDraft, Split::kReplicated, a_.hidden, a_.hidden);
    }
    for (const char* x : {"enorm", "hnorm", "norm"}) t_.Norm(prefix + x, prefix + x, a_.hidden);
    AddHyperLayer(layer);
    AddAttention(layer.Below("attn."));
    Router(layer.Below("ffn."));
    RouterBias(layer.Below("ffn."));
    AddExperts(layer.Below("ffn."), s_.draft_expert);
    AddNorms(layer);
    AddHyperHead(prefix, prefix, Placement::kNotLoaded);
  }

 private:
  ModuleRow& Linear(const Place& at, Role role, Split split, int64_t out, int64_t in) {
    return t_.Linear(at.name, at.param, role, split, out, in, s_.linear);
  }

  // A member of the fused `param`.
  ModuleRow& Fused(const Place& at, const char* name, const char* param, Role role, Split split,
                   int64_t out, int64_t in, const QuantFormat& quant) {
    return t_.Linear(at.name + name, at.param + param, role, split, out, in, quant);
  }

  ModuleRow& Float(const Place& at, Role role, Split split, Shape shape) {
    ModuleRow& row = t_.Tensor(at.name, at.param, role, split, std::move(shape));
    row.dtype = row.device_dtype = DType::kF32;
    return row;
  }

  void Norm(const Place& at, int64_t width, Role role) { t_.Norm(at.name, at.param, width, role); }

  // Built on every pipeline stage.
  void AddHyperHead(const std::string& name, const std::string& param, Placement placement) {
    t_.At(placement);
    const int64_t n = a_.residual_streams;
    const std::pair<const char*, Shape> parts[] = {{"hc_head_fn", Shape{n, n * a_.hidden}},
                                                   {"hc_head_base", Shape{n}},
                                                   {"hc_head_scale", Shape{1}}};
    for (const auto& [x, shape] : parts) {
      Float({name + x, param + x}, Role::kHyperConnection, Split::kReplicated, shape);
    }
  }

  // Weights into and out of a block, and from stream to stream.
  void AddHyperLayer(const Place& layer) {
    const int64_t n = a_.residual_streams;
    const int64_t mixes = (2 + n) * n;
    const std::pair<const char*, Shape> parts[] = {
        {"_fn", Shape{mixes, n * a_.hidden}}, {"_base", Shape{mixes}}, {"_scale", Shape{3}}};
    for (const auto& [part, shape] : parts) {
      for (const char* block : {"hc_attn", "hc_ffn"}) {
        Float(layer.Below(std::string(block) + part), Role::kHyperConnection, Split::kReplicated,
              shape);
      }
    }
  }

  void AddAttention(const Place& attn) {
    constexpr Role kRole = Role::kAttention;
    Float(attn.Below("attn_sink"), kRole, Split::kColumn, Shape{a_.heads}).param_row_align =
        kHeadTile;
    Fused(attn, "wq_a", "fused_wqa_wkv", kRole, Split::kReplicated, a_.mla.q_lora_rank, a_.hidden,
          s_.linear);
    Fused(attn, "wkv", "fused_wqa_wkv", kRole, Split::kReplicated, a_.head_dim, a_.hidden,
          s_.linear);
    Norm(attn.Below("q_norm"), a_.mla.q_lora_rank, kRole);
    Linear(attn.Below("wq_b"), kRole, Split::kColumn, a_.heads * a_.head_dim, a_.mla.q_lora_rank);
    Norm(attn.Below("kv_norm"), a_.head_dim, kRole);
    const int64_t grouped = s_.o_groups * s_.o_rank;
    Linear(attn.Below("wo_a"), kRole, Split::kColumn, grouped,
           a_.heads * a_.head_dim / s_.o_groups);
    Linear(attn.Below("wo_b"), kRole, Split::kRow, a_.hidden, grouped);
  }

  void AddCompressor(const Place& at, int64_t ratio, int64_t width) {
    constexpr Role kRole = Role::kAttention;
    // Entries of four tokens overlap: their compressor has both halves.
    const int64_t out = ratio == kIndexedRatio ? 2 * width : width;
    Float(at.Below("ape"), kRole, Split::kReplicated, Shape{ratio, out});
    for (const char* x : {"wkv", "wgate"}) {
      Fused(at, x, "fused_wkv_wgate", kRole, Split::kReplicated, out, a_.hidden, {}).quantizable =
          false;
    }
    Norm(at.Below("norm"), width, kRole);
  }

  void AddCompression(const Place& attn, int64_t ratio) {
    if (ratio == 0) return;
    if (ratio == kIndexedRatio) {
      const Place indexer = attn.Below("indexer.");
      const IndexerShape& i = a_.indexer;
      Linear(indexer.Below("wq_b"), Role::kAttention, Split::kReplicated, i.heads * i.head_dim,
             a_.mla.q_lora_rank);
      Fused(indexer, "weights_proj", "weights_proj", Role::kAttention, Split::kReplicated, i.heads,
            a_.hidden, {})
          .quantizable = false;
      AddCompressor(indexer.Below("compressor."), ratio, i.head_dim);
    }
    AddCompressor(attn.Below("compressor."), ratio, a_.head_dim);
  }

  void Router(const Place& ffn) {
    Fused(ffn, "gate", "gate", Role::kRouter, Split::kReplicated, a_.moe.experts, a_.hidden, {});
  }

  void RouterBias(const Place& ffn) {
    Float({ffn.name + "gate.bias", ffn.param + "gate.e_score_correction_bias"}, Role::kRouter,
          Split::kReplicated, Shape{a_.moe.experts});
  }

  void AddRouter(const Place& ffn, const LayerSet& all, const LayerSet& hashed,
                 const LayerSet& scored) {
    t_.In(all);
    Router(ffn);
    if (!hashed.empty()) {
      // The experts of every token: 64 bits in the file, 32 on the card.
      t_.In(hashed);
      ModuleRow& row =
          t_.Tensor(ffn.name + "gate.tid2eid", ffn.param + "gate.tid2eid", Role::kRouter,
                    Split::kReplicated, Shape{a_.vocabulary, a_.moe.top_k});
      row.dtype = DType::kI64;
      row.device_dtype = DType::kI32;
    }
    if (!scored.empty()) {
      t_.In(scored);
      RouterBias(ffn);
    }
  }

  void AddExperts(const Place& ffn, const QuantFormat& format) {
    const Place shared = ffn.Below("shared_experts.");
    for (const char* x : {"w1", "w3"}) {
      Fused(shared, x, "gate_up_proj", Role::kSharedExpert, Split::kSharedColumn,
            a_.moe.shared_intermediate, a_.hidden, s_.linear);
    }
    Fused(shared, "w2", "down_proj", Role::kSharedExpert, Split::kSharedRow, a_.hidden,
          a_.moe.shared_intermediate, s_.linear);
    const std::string experts = ffn.name + "experts.{E}.";
    const auto expert = [&](const char* x, Split split, int64_t out, int64_t in) {
      Fused({experts, ffn.param}, x, "experts.routed_experts", Role::kRoutedExpert, split, out, in,
            format)
          .experts = a_.moe.experts;
    };
    expert("w1", Split::kExpertGate, a_.moe.intermediate, a_.hidden);
    expert("w3", Split::kExpertUp, a_.moe.intermediate, a_.hidden);
    expert("w2", Split::kExpertDown, a_.hidden, a_.moe.intermediate);
  }

  void AddNorms(const Place& layer) {
    for (const char* x : {"attn_norm", "ffn_norm"}) Norm(layer.Below(x), a_.hidden, Role::kNorm);
  }

  TableBuilder t_;
  const Architecture& a_;
  const V4Shape& s_;
};

}  // namespace

void AddDeepseekV4(TensorTable* table, const Architecture& arch, const V4Shape& shape,
                   int64_t drafts) {
  V4Table rows(table, arch, shape);
  rows.AddStack();
  for (int64_t i = 0; i < drafts; ++i) rows.AddDraft(i);
}

}  // namespace shardplan::families
