// gpt-oss: grouped-query attention with sinks, every other layer over a sliding window; experts
// with biases, stacked in the file and in MXFP4.
//
// Names and totals are the published checkpoints' (20b: 459 tensors, 120b: 687); the engine's
// names, order and shapes are vLLM's (model_executor/models/gpt_oss.py, d29f7f5c).
#include "model/families/text_tower.h"

namespace shardplan::families {
namespace {

void AddAttention(TableBuilder& t, const std::string& p, const Architecture& a) {
  constexpr Role kRole = Role::kAttention;
  const std::string attn = p + "self_attn.";
  t.Tensor(attn + "sinks", "attn.sinks", kRole, Split::kColumn, Shape{a.heads});
  t.Linear(attn + "q_proj", "attn.qkv_proj", kRole, Split::kColumn, a.heads * a.head_dim, a.hidden)
      .bias = true;
  for (const char* x : {"k_proj", "v_proj"}) {
    t.Linear(attn + x, "attn.qkv_proj", kRole, Split::kKvHeads, a.kv_heads * a.head_dim, a.hidden)
        .bias = true;
  }
  t.Linear(attn + "o_proj", "attn.o_proj", kRole, Split::kRow, a.hidden, a.heads * a.head_dim)
      .bias = true;
}

// Gate and up interleaved in one stack, down in another.
void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a) {
  t.Linear(p + "mlp.router", "mlp.router", Role::kRouter, Split::kReplicated, a.moe.experts,
           a.hidden)
      .bias = true;
  const auto stack = [&](const char* name, Split split, int64_t out, int64_t in) {
    ModuleRow& row = t.Linear(p + "mlp.experts." + name, "mlp.experts.routed_experts",
                              Role::kRoutedExpert, split, out, in);
    row.form = Form::kStacked;
    row.experts = a.moe.experts;
    row.bias = true;
  };
  stack("gate_up_proj", Split::kExpertGate, 2 * a.moe.intermediate, a.hidden);
  stack("down_proj", Split::kExpertDown, a.hidden, a.moe.intermediate);
}

}  // namespace

Result<ModelSpec> BuildGptOss(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  if (!ReadLayerTypes(config, layers, &a)) {
    config.Contradiction("layer_types", "expected one entry a layer, found nothing");
  }
  ReadExperts(config, "num_local_experts", "intermediate_size", layers, &a);
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  // Embedding, final norm and head are built on every pipeline stage.
  t.At(Placement::kEveryStage)
      .Tensor("model.embed_tokens.weight", "model.embedding.weight", Role::kEmbedding,
              Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  t.In(LayerSet::Range(0, layers));
  AddAttention(t, p, a);
  AddMoe(t, p, a);
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a, Placement::kEveryStage);
  return spec;
}

}  // namespace shardplan::families
