#include "engine/vllm/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

constexpr int64_t kDefaultRank = 16;
// Source: vllm/config/lora.py:MaxLoRARanks (v0.12.0 to v0.26.0; up to v0.11.0 without the 1,
// #26461).
constexpr int64_t kRanks[] = {1, 8, 16, 32, 64, 128, 256, 320, 512};

int64_t RankOf(const EngineSettings& s) { return s.max_lora_rank.value_or(kDefaultRank); }

bool IsExpert(Split split) {
  return split == Split::kExpertGate || split == Split::kExpertUp || split == Split::kExpertDown;
}

// Classes whose embedding and head take adapters (their embedding_modules).
bool WrapsEmbeddings(const Architecture& a) {
  static const std::set<std::string> names = {"GraniteMoeForCausalLM", "LlamaForCausalLM",
                                              "MistralForCausalLM", "MixtralForCausalLM"};
  return names.contains(a.name);
}

bool IsRow(Split split) { return split == Split::kRow || split == Split::kSharedRow; }

// Rows, replicated under sequence parallelism, that stand whole on the rank.
bool IsWhole(const Context& c, Split split) {
  const bool shared = split == Split::kSharedColumn || split == Split::kSharedRow;
  return split == Split::kReplicated || (shared && c.resolved.replicate_shared);
}

// Outputs of `rows` that the rank holds.
int64_t LocalOutputs(const Context& c, Split split, int64_t rows, int64_t kv_heads) {
  if (IsWhole(c, split) || IsRow(split)) return rows;
  if (split != Split::kKvHeads) return rows / c.sizes.tp;
  const int64_t heads = kv_heads > 0 ? kv_heads : c.arch->kv_heads;
  return std::max<int64_t>(1, heads / c.sizes.tp) * (rows / heads);
}

// Elements of A and B of one adapter.
int64_t LinearElements(const Context& c, const ModuleRow& row) {
  const int64_t tp = c.sizes.tp;
  const int64_t rank = RankOf(c.settings);
  const bool whole = IsWhole(c, row.split);
  const bool divided = c.settings.fully_sharded_loras && !whole;
  int64_t out = 0;
  if (row.parts.empty()) out = LocalOutputs(c, row.split, row.shape.dims[0], row.kv_heads);
  for (const RowPart& part : row.parts) {
    out += LocalOutputs(c, part.split, part.rows, part.kv_heads);
  }
  if (IsRow(row.split)) {
    const int64_t in = whole ? row.shape.dims[1] : row.shape.dims[1] / tp;
    return rank * in + (divided ? out / tp : out) * rank;
  }
  return (divided ? rank / tp : rank) * row.shape.dims[1] + out * rank;
}

// Of the experts that the rank holds, in one layer.
int64_t ExpertElements(const Context& c, const std::vector<const ModuleRow*>& rows,
                       int64_t local_experts) {
  const ShardingRules rules = RulesFor(c, 0);
  const int64_t rank = RankOf(c.settings);
  const bool divided = c.settings.fully_sharded_loras && !c.sizes.expert_parallel;
  const int64_t width = rules.expert_width;
  const int64_t inner = rules.expert_intermediate;
  const int64_t shards = divided ? c.sizes.tp : 1;
  int64_t elements = 0;
  for (const ModuleRow* row : rows) {
    if (row->split == Split::kExpertDown) {
      elements += rank * inner + width / shards * rank;
    } else {
      // A stack of gate and up has one A for both.
      const int64_t projections =
          row->form == Form::kStacked && row->shape.dims[0] == 2 * c.arch->moe.intermediate ? 2 : 1;
      elements += rank / shards * width + projections * inner * rank;
    }
  }
  return internal::CheckedMul(elements, local_experts);
}

std::string Rule(const Context& c, const std::string& what) {
  const EngineSettings& s = c.settings;
  return fmt::format("{}: {} adapter(s) of rank {}{}", what, s.max_loras.value_or(1), RankOf(s),
                     s.fully_sharded_loras ? ", fully sharded" : "");
}

}  // namespace

std::vector<Finding> CheckLoraFlags(const ParallelSizes& sizes, const EngineSettings& s) {
  std::vector<Finding> out;
  const auto add = [&](Severity severity, std::string subject, std::string message,
                       std::string fix) {
    out.push_back(
        {"lora.settings", severity, std::move(subject), std::move(message), std::move(fix)});
  };
  if (!s.enable_lora) {
    if (s.max_loras || s.max_lora_rank || s.lora_dtype || s.fully_sharded_loras) {
      add(Severity::kNote, "--max-loras, --max-lora-rank …", "have no effect without --enable-lora",
          "");
    }
    return out;
  }
  const int64_t rank = RankOf(s);
  if (std::find(std::begin(kRanks), std::end(kRanks), rank) == std::end(kRanks)) {
    add(Severity::kError, fmt::format("--max-lora-rank {}", rank),
        fmt::format("vLLM takes {}", fmt::join(kRanks, ", ")),
        fmt::format("--max-lora-rank {}",
                    *std::lower_bound(std::begin(kRanks), std::end(kRanks) - 1, rank)));
  } else if (s.fully_sharded_loras && rank % sizes.tp != 0) {
    add(Severity::kError, fmt::format("--max-lora-rank {}", rank),
        fmt::format("{} is not divisible by {}", rank, sizes.tp),
        "a multiple of the tensor parallel size, or no --fully-sharded-loras");
  }
  const std::string dtype = s.lora_dtype.value_or("auto");
  if (dtype != "auto" && dtype != "float16" && dtype != "bfloat16") {
    add(Severity::kError, "--lora-dtype " + Printable(dtype), "expected auto, float16 or bfloat16",
        "");
  }
  return out;
}

std::vector<Finding> CheckLora(const Context& c) {
  std::vector<Finding> out = CheckLoraFlags(c.sizes, c.settings);
  if (c.settings.enable_lora && c.arch->vocabulary > 258'048 && WrapsEmbeddings(*c.arch)) {
    out.push_back({"lora.settings", Severity::kError, "--enable-lora",
                   "When using LoRA, vocab size must be <= 258048", ""});
  }
  return out;
}

std::vector<ExtraBytes> LoraStacks(const Context& c, const StageRange& stage,
                                   int64_t local_experts) {
  std::vector<ExtraBytes> out;
  const EngineSettings& s = c.settings;
  if (!s.enable_lora) return out;
  const Architecture& a = *c.arch;
  const int64_t adapters = s.max_loras.value_or(1);
  const int64_t element =
      s.lora_dtype.value_or("auto") == "auto" ? BitsOf(c.resolved.dtype) / 8 : 2;
  const auto bytes = [&](int64_t elements) {
    return Bytes(internal::CheckedMul(internal::CheckedMul(elements, adapters), element));
  };
  const auto in_stage = [&](const ModuleRow& row) {
    return row.layers.CountIn(stage.first, stage.end());
  };
  int64_t linears = 0, experts = 0, wrapped = 0;
  std::vector<const ModuleRow*> mixtures;
  for (const ModuleRow& row : c.table->rows) {
    if (row.placement != Placement::kLayers || in_stage(row) == 0) continue;
    if (IsExpert(row.split)) {
      experts = internal::CheckedAdd(
          experts, internal::CheckedMul(ExpertElements(c, {&row}, local_experts), in_stage(row)));
    } else if (row.form == Form::kLinear) {
      linears = internal::CheckedAdd(linears,
                                     internal::CheckedMul(LinearElements(c, row), in_stage(row)));
      wrapped += in_stage(row);
    }
  }
  constexpr const char* kSource = "vllm/lora/layers (main of August 2026)";
  if (linears > 0) {
    out.push_back({"LoRA: stacks of linears", bytes(linears),
                   Rule(c, fmt::format("{} projections", FormatCount(wrapped))), kSource});
  }
  if (experts > 0) {
    out.push_back({"LoRA: stacks of routed experts", bytes(experts),
                   Rule(c, fmt::format("{} experts a layer", local_experts)),
                   "vllm/lora/layers/fused_moe.py (main of August 2026)", Basis::kAssumed});
  }
  if (!WrapsEmbeddings(a)) return out;
  const int64_t rank = RankOf(s);
  const int64_t words = (a.vocabulary + a.hidden) * rank;
  if (stage.first == 0) {
    out.push_back({"LoRA: stack of the embedding", bytes(words), Rule(c, "on every rank whole"),
                   "vllm/lora/layers/vocal_parallel_embedding.py (main of August 2026)"});
  }
  if (stage.end() == a.layers()) {
    // Beside it the place of each padded word in the gathered logits.
    const int64_t padded = RoundUp(a.vocabulary, c.profile->vocabulary_multiple);
    out.push_back({"LoRA: stack of the head", bytes(words) + Bytes(c.sizes.tp > 1 ? padded * 8 : 0),
                   Rule(c, "on every rank whole"),
                   "vllm/lora/layers/logits_processor.py (main of August 2026)"});
  }
  return out;
}

}  // namespace shardplan::vllm
