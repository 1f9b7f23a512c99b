#include "engine/vllm/kv_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "engine/vllm/kv_models.h"
#include "engine/vllm/legality.h"
#include "engine/vllm/refusals.h"
#include "engine/vllm/speculative.h"
#include "engine/vllm/speculative_config.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::NumbersOf;
using testing_support::ReadRows;
using testing_support::VllmContext;

// A model of the table of numbers, or an example with its family.
// What the family makes of the config, where that is here; the numbers alone otherwise.
ModelSpec ModelOf(const std::string& name) {
  const bool config = std::filesystem::exists(testing_support::ExampleConfigPath(name));
  if (std::optional<Architecture> numbers = config ? std::nullopt : NumbersOf(name)) {
    ModelSpec spec;
    spec.arch = std::move(*numbers);
    return spec;
  }
  return testing_support::ExampleModel(name);
}

// The same model as its family reads it, for those that stand in the table of numbers.
std::optional<ModelSpec> FamilyOf(const std::string& name) {
  static const std::map<std::string, std::string> examples = {
      {"XiaomiMiMo__MiMo-V2-Flash", "mimo-v2-flash"},
      {"ai21labs__AI21-Jamba2-Mini", "jamba2-mini"},
      {"deepseek-ai__DeepSeek-V3.2", "deepseek-ai__DeepSeek-V3.2"},
      {"deepseek-ai__DeepSeek-V4-Flash", "deepseek-ai__DeepSeek-V4-Flash"},
      {"deepseek-ai__DeepSeek-V4-Pro", "deepseek-ai__DeepSeek-V4-Pro"},
      {"google__gemma-2-27b", "gemma-2-27b"},
      {"google__gemma-3-27b-it", "gemma-3-27b"},
      {"meta-llama__Llama-3.1-8B-Instruct", "llama-3.1-8b"},
      {"meta-llama__Llama-4-Maverick-17B-128E-Instruct", "llama-4-maverick"},
      {"meta-llama__Llama-4-Scout-17B-16E-Instruct", "llama-4-scout"},
      {"mistralai__Mistral-Large-Instruct-2407", "mistral-large"},
      {"moonshotai__Kimi-Linear-48B-A3B", "moonshotai__Kimi-Linear-48B-A3B"},
      {"nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron-3-nano"},
      {"nvidia__NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "nemotron-3-ultra"},
      {"nvidia__Nemotron-H-56B-Base-8K", "nemotron-h-56b"},
      {"openai__gpt-oss-120b", "openai__gpt-oss-120b"},
      {"openai__gpt-oss-20b", "openai__gpt-oss-20b"},
      {"zai-org__GLM-5", "zai-org__GLM-5"},
  };
  const auto it = examples.find(name);
  if (it == examples.end()) return std::nullopt;
  return testing_support::ExampleModel(it->second);
}

// A field that rows leave out where it has no value.
template <typename T>
std::optional<T> Field(const nlohmann::json& row, const char* key) {
  const auto it = row.find(key);
  if (it == row.end()) return std::nullopt;
  return it->get<T>();
}

void Configure(const nlohmann::json& row, VllmContext* c) {
  c->context.sizes.tp = row.value("tp", 1);
  c->context.sizes.pp = row.value("pp", 1);
  c->context.sizes.dcp = row.value("dcp", 1);
  c->gpu().capability = row["capability"];
  EngineSettings& s = c->context.settings;
  s.language_model_only = true;
  s.max_model_len = row["max_model_len"].get<int64_t>();
  s.kv_cache_dtype = row.value("kv_dtype", "auto");
  s.enable_prefix_caching = Field<bool>(row, "prefix");
  s.mamba_cache_mode = Field<std::string>(row, "mamba");
  s.block_size = Field<int64_t>(row, "block_size");
  s.max_num_seqs = Field<int64_t>(row, "seqs");
  s.max_num_batched_tokens = Field<int64_t>(row, "batched");
  const nlohmann::json flags = row.value("flags", nlohmann::json::object());
  s.mamba_cache_dtype = Field<std::string>(flags, "mamba_cache_dtype");
  s.mamba_ssm_cache_dtype = Field<std::string>(flags, "mamba_ssm_cache_dtype");
  s.disable_hybrid_kv_cache_manager = flags.value("disable_hybrid_kv_cache_manager", false);
  s.async_scheduling = Field<bool>(flags, "async_scheduling");
}

// What speculative decoding asks for, as its option says it; the drafter where the family has its
// table. The caller keeps it for the context.
std::optional<vllm::Draft> Speculate(const nlohmann::json& row, VllmContext* c) {
  if (!row.contains("draft")) return std::nullopt;
  const nlohmann::json json = {{"method", row["draft"][0]},
                               {"num_speculative_tokens", row["draft"][1]}};
  EngineSettings& s = c->context.settings;
  s.speculation = *vllm::ParseSpeculation(json.dump());
  const ModelSpec& spec = c->spec();
  const Result<std::optional<vllm::Draft>> draft =
      vllm::MakeDraft(*s.speculation, {&spec.arch, &spec.arch, &spec.table, false, false},
                      c->context.sizes, &c->findings);
  return draft ? *draft : std::nullopt;
}

// Of models without a table: a layer such as the model's own (a hybrid's attends).
void AddDraftLayer(const nlohmann::json& row, VllmContext* c) {
  if (!row.contains("draft") || row["draft"][0] != "mtp" || c->context.draft) return;
  const Architecture& a = c->spec().arch;
  const AttentionKind kind = a.has_kind(AttentionKind::kMla)       ? AttentionKind::kMla
                             : a.has_kind(AttentionKind::kSliding) ? AttentionKind::kSliding
                                                                   : AttentionKind::kFull;
  c->context.resolved.draft_layers = {kind};
}

std::vector<Bytes> Available(const nlohmann::json& row, const vllm::KvLayout& layout) {
  std::vector<Bytes> available;
  // --num-gpu-blocks-override: as if there were memory for so many.
  if (const auto blocks = Field<int64_t>(row, "override")) {
    for (const Bytes block : layout.bytes_per_block) available.push_back(block * *blocks);
    return available;
  }
  for (const int64_t bytes : row["available"]) available.emplace_back(bytes);
  return available;
}

std::string KindOf(const vllm::KvLayout& layout, const vllm::KvGroup& group) {
  if (layout.arrangement != vllm::KvArrangement::kGeneral) return "uniform";
  switch (group.spec().kind) {
    case vllm::KvKind::kFull:
      return "full";
    case vllm::KvKind::kLatent:
      return "latent";
    case vllm::KvKind::kSliding:
      return "sliding";
    case vllm::KvKind::kChunked:
      return "chunked";
    case vllm::KvKind::kState:
      return "state";
    default:
      return "other";
  }
}

void CheckGroups(const nlohmann::json& row, const VllmContext& c, const vllm::KvLayout& layout) {
  const std::map<vllm::KvArrangement, std::string> names = {
      {vllm::KvArrangement::kGeneral, "general"},
      {vllm::KvArrangement::kOneGroup, "one"},
      {vllm::KvArrangement::kPacked, "packed"}};
  EXPECT_EQ(names.at(layout.arrangement), row["arrangement"]);
  ASSERT_EQ(layout.groups.size(), row["groups"].size());
  const StageRange all = {0, c.context.arch->layers()};
  for (size_t g = 0; g < layout.groups.size(); ++g) {
    const vllm::KvGroup& group = layout.groups[g];
    const nlohmann::json& want = row["groups"][g];
    EXPECT_EQ(group.caches(), want[0]);
    for (size_t s = 0; s < c.context.stages.size(); ++s) {
      EXPECT_EQ(group.CountIn(c.context.stages[s]), want[1][s]);
    }
    EXPECT_EQ(layout.BlocksOf(group, row["max_model_len"]), want[2]);
    EXPECT_EQ(KindOf(layout, group), want[3]);
    EXPECT_EQ(group.spec().block_tokens, want[4]);
    const Bytes page = layout.arrangement == vllm::KvArrangement::kGeneral ? group.widest_page()
                                                                           : group.PagesIn(all);
    EXPECT_EQ(page.count(), want[5]);
  }
}

void CheckCapacity(const nlohmann::json& row, const VllmContext& c, const vllm::KvLayout& layout) {
  const int64_t asked = row["max_model_len"];
  const std::vector<Bytes> available = Available(row, layout);
  for (size_t s = 0; s < available.size(); ++s) {
    EXPECT_EQ(layout.bytes_per_block[s].count(), row["bytes_per_block"][s]);
    EXPECT_EQ(vllm::NeededBytes(layout, s, asked, 1, false).count(), row["needed"][s]);
    EXPECT_EQ(vllm::LargestWindowOn(layout, s, available[s], asked, true), row["estimate"][s]);
  }
  const bool automatic = row.value("auto", false);
  const int64_t window = automatic ? vllm::LargestWindow(layout, available, asked, true) : asked;
  if (const auto error = Field<std::string>(row, "error")) {
    std::optional<std::string> refusal;
    for (size_t s = 0; s < available.size() && !refusal; ++s) {
      refusal = vllm::WindowRefusal(layout, s, available[s], std::max<int64_t>(window, 1), true);
    }
    if (automatic) {
      EXPECT_EQ(window, 0);
      EXPECT_TRUE(vllm::NoWindowText().starts_with(*error)) << *error;
      EXPECT_TRUE(refusal.has_value());
    } else {
      EXPECT_TRUE(refusal && refusal->starts_with(*error)) << refusal.value_or("accepted");
    }
    return;
  }
  EXPECT_EQ(window, row.value("window_after", asked));
  const vllm::KvCapacity capacity = vllm::ComputeCapacity(layout, available, window);
  EXPECT_EQ(capacity.num_blocks, row["num_blocks"]);
  EXPECT_EQ(capacity.blocks_per_request, row["per_request"]);
  EXPECT_NEAR(capacity.max_concurrency, row["concurrency"].get<double>(), 1e-9);
  EXPECT_EQ(capacity.tokens, row["tokens"]);
  const bool stops = vllm::GraphsNeedMoreBlocks(c.context, capacity.num_blocks);
  EXPECT_EQ(stops ? vllm::StateBlocksText(c.context.resolved.max_num_seqs, capacity.num_blocks)
                  : "captured",
            row.value("capture", "captured"));
}

// Rows of a model that vLLM sizes. Together with what it refuses earlier they are every row of its
// own functions' (d29f7f5c).
const std::map<std::string, int>& SizedRows() {
  static const std::map<std::string, int> rows = {
      {"MiniMaxAI__MiniMax-M2.5", 12},
      {"Qwen__Qwen3-235B-A22B", 16},
      {"Qwen__Qwen3-32B", 2},
      {"Qwen__Qwen3-8B", 3},
      {"Qwen__Qwen3-Next-80B-A3B-Instruct", 48},
      {"Qwen__Qwen3.5-122B-A10B", 4},
      {"Qwen__Qwen3.5-27B", 2},
      {"Qwen__Qwen3.5-35B-A3B", 4},
      {"Qwen__Qwen3.5-397B-A17B", 50},
      {"XiaomiMiMo__MiMo-V2-Flash", 6},
      {"ai21labs__AI21-Jamba2-Mini", 32},
      {"deepseek-ai__DeepSeek-V2-Lite", 2},
      {"deepseek-ai__DeepSeek-V3.2", 28},
      {"deepseek-ai__DeepSeek-V4-Flash", 2},
      {"deepseek-ai__DeepSeek-V4-Pro", 2},
      {"deepseek-v3", 30},
      {"dense-70b", 21},
      {"google__gemma-2-27b", 2},
      {"google__gemma-2-9b", 4},
      {"google__gemma-3-27b-it", 24},
      {"kimi-k2", 2},
      {"kimi-k3", 96},
      {"meta-llama__Llama-3.1-8B-Instruct", 3},
      {"meta-llama__Llama-4-Maverick-17B-128E-Instruct", 24},
      {"meta-llama__Llama-4-Scout-17B-16E-Instruct", 2},
      {"mistralai__Mistral-Large-Instruct-2407", 2},
      {"mistralai__Mixtral-8x7B-v0.1", 14},
      {"moonshotai__Kimi-Linear-48B-A3B", 40},
      {"nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 36},
      {"nvidia__NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", 34},
      {"nvidia__Nemotron-H-56B-Base-8K", 2},
      {"openai__gpt-oss-120b", 23},
      {"openai__gpt-oss-20b", 21},
      {"zai-org__GLM-4.5-Air", 19},
      {"zai-org__GLM-4.7", 19},
      {"zai-org__GLM-5", 2},
  };
  return rows;
}

class GoldenKv : public ::testing::TestWithParam<std::pair<const std::string, int>> {};

// Block, groups, bytes, blocks, tokens and the refusals' figures are vLLM's. Returns the rows.
int CheckRows(const std::string& model, const ModelSpec& spec) {
  int checked = 0;
  for (const nlohmann::json& row : ReadRows("vllm/kv.jsonl")) {
    if (row["model"] != model || row.contains("refused")) continue;
    SCOPED_TRACE(row["id"].get<std::string>());
    VllmContext c(spec, "0.28.0");
    Configure(row, &c);
    const std::optional<vllm::Draft> draft = Speculate(row, &c);
    if (draft) c.context.draft = &*draft;
    c.Resolve(Field<std::string>(row, "partition"));
    AddDraftLayer(row, &c);
    const vllm::Resolved& r = c.context.resolved;
    EXPECT_EQ(r.mamba_cache_mode.empty() ? "none" : r.mamba_cache_mode, row["mode"]);
    EXPECT_EQ(r.attention_backend, row["backend"]);
    EXPECT_EQ(r.in_flight_tokens, row["in_flight"]);
    EXPECT_EQ(r.v2_runner, row["v2"]);
    if (row.contains("stored")) {
      EXPECT_EQ(r.kv_stored_dtype, row["stored"]);
    }
    const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
    EXPECT_EQ(layout.block_tokens, row["block"]);
    EXPECT_EQ(layout.state.count(), row.value("state", 0));
    CheckGroups(row, c, layout);
    CheckCapacity(row, c, layout);
    ++checked;
  }
  return checked;
}

TEST_P(GoldenKv, EqualsWhatVllmComputes) {
  const auto& [model, count] = GetParam();
  EXPECT_EQ(CheckRows(model, ModelOf(model)), count);
  if (const std::optional<ModelSpec> family = FamilyOf(model)) {
    SCOPED_TRACE("as its family reads it");
    EXPECT_EQ(CheckRows(model, *family), count);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenKv, ::testing::ValuesIn(SizedRows()), [](const auto& param) {
  std::string name = param.param.first;
  for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
  return name;
});

// Rows that vLLM refuses before it sizes anything: the same kind of finding, or an option that is
// not accepted. Sharding of weights has its own rows.
TEST(VllmKv, RefusesWhatVllmRefuses) {
  const std::pair<const char*, const char*> kinds[] = {
      {"The output_size of gate's", "layout.fp8_block"},
      {"Total number of attention heads", "layout.heads"},
      {"If tensor parallel world size", "layout.mamba_groups"},
      {"integer modulo by zero", "layout.kv_heads"},
      {"sum(partitions)=92", "layout.partition"},
      {"DCP for FlashMLA sparse", "layout.dcp"},
      {"Decode context parallelism", "layout.dcp"},
      {"No valid attention backend", "--block-size"},
      {"DeepseekV4 fp8_ds_mla layout", "kv.dtype"},
  };
  int checked = 0;
  for (const nlohmann::json& row : ReadRows("vllm/kv.jsonl")) {
    if (!row.contains("refused")) continue;
    SCOPED_TRACE(row.dump());
    VllmContext c(ModelOf(row["model"]), "0.28.0");
    Configure(row, &c);
    std::string said;
    const auto resolved = vllm::ResolveSettings(c.context, &c.defaults, &c.findings);
    if (resolved) {
      c.context.resolved = *resolved;
      std::optional<std::vector<int64_t>> partition;
      if (row.contains("partition")) {
        partition = *ParsePartition(row["partition"].get<std::string>());
      }
      for (const Finding& finding : vllm::CheckLayout(c.context, partition)) {
        c.findings.push_back(finding);
      }
      for (const Finding& finding : c.findings) {
        if (finding.severity == Severity::kError) said += finding.id + " ";
      }
    } else {
      said = resolved.error().ToString();
    }
    bool known = false;
    for (const auto& [text, id] : kinds) {
      if (!row["refused"].get<std::string>().starts_with(text)) continue;
      known = true;
      EXPECT_NE(said.find(id), std::string::npos) << said;
    }
    EXPECT_TRUE(known);
    ++checked;
  }
  EXPECT_EQ(checked, 49);
}

// The published deployment (vLLM 0.31.0, TP8 × PP2, 48,45): 692 blocks a request, and three pools.
TEST(VllmKv, PublishedKimiK3Pools) {
  VllmContext c("kimi-k3", "0.31.0");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.context.settings.max_model_len = 524'288;
  c.context.settings.max_num_seqs = 1;
  c.Resolve("48,45");
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  EXPECT_EQ(layout.block_tokens, 768);
  EXPECT_EQ(layout.page, Bytes(884'736));
  EXPECT_EQ(layout.state, Bytes(814'080));
  EXPECT_EQ(layout.bytes_per_block[0], Bytes(10'616'832));
  EXPECT_EQ(layout.bytes_per_block[1], Bytes(10'616'832));
  EXPECT_EQ(layout.BlocksPerRequest(524'288), 692);
  for (const auto& [blocks, tokens, concurrency] :
       {std::tuple(1630, 1'234'955, 2.36), std::tuple(1568, 1'187'982, 2.27)}) {
    const vllm::KvCapacity capacity = vllm::ComputeCapacity(
        layout, {Bytes(10'616'832LL * blocks), Bytes(10'616'832LL * blocks + 5)}, 524'288);
    EXPECT_EQ(capacity.num_blocks, blocks);
    EXPECT_EQ(capacity.tokens, tokens);
    EXPECT_NEAR(capacity.max_concurrency, concurrency, 0.005);
  }
}

TEST(VllmKv, DefaultSplitMakesTheLastStageDearer) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  EXPECT_EQ(layout.bytes_per_block[0], Bytes(10'616'832));
  EXPECT_EQ(layout.bytes_per_block[1], Bytes(11'501'568));
}

// State, block and page of one KDA layer by TP, with bf16 and fp8 caches.
TEST(VllmKv, HybridAlignmentByTensorParallelSize) {
  struct Case {
    int64_t tp;
    const char* dtype;
    int64_t state, block, page;
  };
  for (const Case& k :
       {Case{4, "auto", 1'628'160, 1536, 1'769'472}, Case{4, "fp8", 1'628'160, 2944, 1'695'744},
        Case{8, "auto", 814'080, 768, 884'736}, Case{8, "fp8", 814'080, 1536, 884'736},
        Case{16, "auto", 407'040, 384, 442'368}, Case{32, "auto", 203'520, 256, 294'912},
        Case{32, "fp8", 203'520, 384, 221'184}}) {
    VllmContext c("kimi-k3");
    c.context.sizes.tp = k.tp;
    c.context.settings.kv_cache_dtype = k.dtype;
    c.Resolve();
    const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
    EXPECT_EQ(layout.state.count(), k.state) << k.tp << k.dtype;
    EXPECT_EQ(layout.block_tokens, k.block) << k.tp << k.dtype;
    EXPECT_EQ(layout.page.count(), k.page) << k.tp << k.dtype;
  }
}

TEST(VllmKv, ReplicatesKvHeadsWhereTensorParallelismExceedsThem) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 16;
  c.Resolve();
  // One head a rank: 2 × 128 values × 2 B × 16 tokens × 80 layers.
  EXPECT_EQ(vllm::MakeKvLayout(c.context).bytes_per_block[0], Bytes(2LL * 128 * 2 * 16 * 80));
}

TEST(VllmKv, WorkedExampleOfADenseModel) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 8;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  EXPECT_EQ(layout.bytes_per_block[0], Bytes(655'360));
  const vllm::KvCapacity capacity = vllm::ComputeCapacity(layout, {Bytes(40LL << 30)}, 131'072);
  EXPECT_EQ(capacity.num_blocks, 65'536);
  EXPECT_EQ(capacity.blocks_per_request, 8'192);
  EXPECT_EQ(capacity.tokens, 1'048'576);
}

// Every option at its limit: products stay inside 64 bits.
TEST(VllmKv, OptionsAtTheirLimits) {
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const char* model : {"google__gemma-3-27b-it", "Qwen__Qwen3.5-397B-A17B",
                            "nvidia__NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"}) {
    VllmContext c(ModelOf(model));
    c.spec().arch.max_positions = kMost;
    c.context.sizes.pp = 60;
    c.context.settings.max_model_len = kMost;
    c.context.settings.max_num_batched_tokens = kMost;
    c.context.settings.block_size = kMost;
    c.context.settings.mamba_cache_mode = "all";
    c.Resolve();
    const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
    const std::vector<Bytes> available(60, Bytes(int64_t{1} << 62));
    const vllm::KvCapacity capacity = vllm::ComputeCapacity(layout, available, kMost);
    EXPECT_GT(capacity.num_blocks, 0) << model;
    EXPECT_EQ(vllm::LargestWindow(layout, available, kMost, true), kMost) << model;
    EXPECT_GT(vllm::NeededBytes(layout, 0, kMost, 1, true), Bytes()) << model;
  }
}

TEST(VllmKv, BlocksThatWereAskedForAreCountedWhateverMemoryThereIs) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 8;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  const Bytes available(40LL << 30);
  EXPECT_EQ(vllm::PoolBytes(c.context, layout, 0, available), available);
  EXPECT_EQ(vllm::AdmittedBytes(c.context, layout, 0, available), available);
  c.context.settings.num_gpu_blocks_override = 15'000;
  const Bytes pool(655'360LL * 15'000);
  EXPECT_EQ(vllm::PoolBytes(c.context, layout, 0, available), pool);
  EXPECT_EQ(vllm::AdmittedBytes(c.context, layout, 0, available), pool);
  EXPECT_EQ(vllm::ComputeCapacity(layout, {pool}, 131'072).num_blocks, 15'000);
  // Older versions compare a request with the memory first.
  c.profile().override_before_check = false;
  EXPECT_EQ(vllm::AdmittedBytes(c.context, layout, 0, available), available);
  EXPECT_EQ(vllm::PoolBytes(c.context, layout, 0, available), pool);
  c.context.settings.num_gpu_blocks_override = int64_t{1} << 62;
  EXPECT_GE(vllm::PoolBytes(c.context, layout, 0, available), Bytes(int64_t{1} << 60));
}

TEST(VllmKv, NegativeMemoryIsNoBlocks) {
  VllmContext c("dense-70b");
  c.context.sizes.tp = 8;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  EXPECT_EQ(vllm::ComputeCapacity(layout, {Bytes(-1)}, 1024).num_blocks, 0);
  EXPECT_EQ(vllm::LargestWindow(layout, {Bytes(-1)}, 1024, true), 0);
}

TEST(VllmKv, LargestWindowIsTheLastThatFits) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.Resolve();
  const vllm::KvLayout layout = vllm::MakeKvLayout(c.context);
  for (const int64_t blocks : {1, 11, 12, 100, 1000}) {
    const std::vector<Bytes> available = {layout.bytes_per_block[0] * blocks};
    const int64_t window = vllm::LargestWindow(layout, available, 1 << 20, true);
    if (window > 0) {
      EXPECT_LE(vllm::NeededBytes(layout, 0, window, 1, true), available[0]);
    }
    EXPECT_GT(vllm::NeededBytes(layout, 0, window + 1, 1, true), available[0]);
  }
}

}  // namespace
}  // namespace shardplan
