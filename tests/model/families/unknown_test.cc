#include "model/families/unknown.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/checkpoint_builder.h"
#include "support/tiny_families.h"
#include "support/tiny_models.h"
#include "support/unknown_checkpoint.h"

namespace shardplan::families {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace): a test of one file

const Finding* FindFinding(const Model& model, const std::string& id) {
  for (const Finding& finding : model.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

TEST(BuildUnknown, ReadsTheSameNumbersAsTheFamily) {
  for (const nlohmann::json& config :
       {TinyDense(), TinyDeepseek(), TinyQwen3Moe(), TinyGlm4Moe(), TinyMinimaxM2(), TinyMixtral(),
        TinyPhi3(), TinyDots1(), TinyGraniteMoe()}) {
    const TempDir dir;
    WriteTiny(config, dir.Path("known"));
    WriteUnknown(config, dir.Path("new"));
    const Model known = Load(dir.Path("known"));
    const Model model = Load(dir.Path("new"));
    const std::string name = known.arch.name;
    EXPECT_EQ(model.arch.family, "unknown");
    EXPECT_EQ(model.arch.name, kUnknownClass);
    EXPECT_EQ(model.totals.tensors, known.totals.tensors) << name;
    EXPECT_EQ(model.totals.payload, known.totals.payload) << name;
    EXPECT_EQ(model.totals.parameters, known.totals.parameters) << name;
    EXPECT_EQ(model.arch.attention, known.arch.attention) << name;
    EXPECT_EQ(model.arch.heads, known.arch.heads) << name;
    EXPECT_EQ(model.arch.kv_heads, known.arch.kv_heads) << name;
    EXPECT_EQ(model.arch.head_dim, known.arch.head_dim) << name;
    EXPECT_EQ(model.arch.v_head_dim, known.arch.v_head_dim) << name;
    EXPECT_EQ(model.arch.moe.experts, known.arch.moe.experts) << name;
    EXPECT_EQ(model.arch.moe.intermediate, known.arch.moe.intermediate) << name;
    EXPECT_EQ(model.arch.moe.shared_intermediate, known.arch.moe.shared_intermediate) << name;
    EXPECT_EQ(model.arch.quantization, known.arch.quantization) << name;
    EXPECT_EQ(ActiveParameters(model.arch, model.contents),
              ActiveParameters(known.arch, known.contents))
        << name;
    EXPECT_EQ(model.arch.mtp_layers, known.arch.mtp_layers) << name;
    EXPECT_EQ(model.arch.tied_embeddings, known.arch.tied_embeddings) << name;
    for (int64_t layer = 0; layer < known.arch.layers(); ++layer) {
      EXPECT_EQ(model.arch.is_moe(layer), known.arch.is_moe(layer)) << name << " layer " << layer;
    }
    ASSERT_TRUE(model.guesses.has_value());
    EXPECT_EQ(model.guesses->guessed_tensors, 0)
        << FindFinding(model, "model.family_unknown")->message;
    EXPECT_GT(model.guesses->recognised_tensors, 0);
    EXPECT_FALSE(model.guesses->least_cache.has_value()) << name;
    EXPECT_EQ(FindFinding(model, "model.unknown_tensors"), nullptr) << name;
    EXPECT_EQ(model.shape_basis, Basis::kExact);
    EXPECT_EQ(model.shard_use.size(), known.shard_use.size());
  }
}

TEST(BuildUnknown, SaysWhatItRestsOn) {
  const TempDir dir;
  CheckpointBuilder model(dir.Path("m"));
  std::vector<TestTensor> tensors = {{"model.embed_tokens.weight", "BF16", {100, 64}},
                                     {"model.norm.weight", "BF16", {64}}};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    tensors.push_back({layer + "self_attn.q_proj.weight", "BF16", {64, 64}});
    tensors.push_back({layer + "self_attn.k_proj.weight", "BF16", {16, 64}});
    tensors.push_back({layer + "self_attn.v_proj.weight", "BF16", {16, 64}});
    tensors.push_back({layer + "self_attn.o_proj.weight", "BF16", {64, 64}});
    tensors.push_back({layer + "memory.write.weight", "BF16", {128, 64}});
    tensors.push_back({layer + "memory.read.weight", "BF16", {64, 128}});
    tensors.push_back({layer + "memory.decay", "BF16", {32}});
  }
  model.Shard("model.safetensors", tensors)
      .Config(R"({"architectures":["BrandNewForCausalLM"],"hidden_size":64,"num_hidden_layers":2,
                  "num_attention_heads":8,"num_key_value_heads":2,"vocab_size":100,
                  "torch_dtype":"bfloat16"})");
  const Model loaded = Load(dir.Path("m"));
  const Finding* finding = FindFinding(loaded, "model.family_unknown");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding->subject, kUnknownClass);
  EXPECT_EQ(finding->message,
            "no family covers this architecture: 10 tensors (52.6 KiB) have names and shapes of "
            "common decoders, 6 (64.1 KiB) are guessed: model.layers.{L}.memory.write.weight "
            "(32.0 KiB), model.layers.{L}.memory.read.weight (32.0 KiB), "
            "model.layers.{L}.memory.decay (128 B); not in the config: max_position_embeddings "
            "32,768 assumed");
  EXPECT_EQ(finding->fix,
            "the low end slices what is guessed as finely as its kind allows, the high end keeps "
            "it whole on every rank: trust a verdict on which both agree");
  const Finding* launch = FindFinding(loaded, "launch.architecture");
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->severity, Severity::kNote);
  EXPECT_EQ(launch->message,
            "the commands are written as for any model; the engine itself must support this "
            "architecture");
  EXPECT_TRUE(loaded.arch.tied_embeddings);  // no head is stored
  EXPECT_EQ(loaded.guesses->guessed_bytes, Bytes(65'664));
}

TEST(BuildUnknown, SaysSoWhereNothingIsGuessed) {
  const TempDir dir;
  WriteUnknown(TinyDense(), dir.Path("m"));
  const Model model = Load(dir.Path("m"));
  const Finding* finding = FindFinding(model, "model.family_unknown");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "no family covers this architecture: 68 tensors (102.7 KiB) have names and shapes of "
            "common decoders, none is guessed");
  EXPECT_EQ(finding->fix,
            "what the engine pads or adds for this architecture is not known: compare one start "
            "with the weights row");
}

// Without headers nothing is guessed.
TEST(BuildUnknown, AConfigAloneIsRefusedAsBefore) {
  const TempDir dir;
  WriteUnknown(TinyDeepseek(), dir.Path("m"), {{"architectures", {"DeepseekV9ForCausalLM"}}});
  const std::string refusal =
      ": architecture 'DeepseekV9ForCausalLM' is not known; did you mean "
      "DeepseekV2ForCausalLM, DeepseekV3ForCausalLM or DeepseekV4ForCausalLM?";
  EXPECT_EQ(LoadModel(dir.Path("m"))->arch.family, "unknown");
  EXPECT_EQ(LoadError(dir.Path("m/config.json")), dir.Path("m/config.json") + refusal);
  for (const auto& entry : std::filesystem::directory_iterator(dir.Path("m"))) {
    if (entry.path().extension() == ".safetensors") std::filesystem::remove(entry);
  }
  const Result<Model> index = LoadModel(dir.Path("m"));
  ASSERT_FALSE(index.has_value());
  EXPECT_EQ(index.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(index.error().ToString(), dir.Path("m/config.json") + refusal);
}

TEST(BuildUnknown, OneClearLineWhereNothingCanBePlanned) {
  const auto error = [](const std::vector<TestTensor>& tensors, const std::string& more = "") {
    const TempDir dir;
    CheckpointBuilder model(dir.Path("m"));
    model.Shard("model.safetensors", tensors)
        .Config("{\"architectures\":[\"BrandNewForCausalLM\"]" + more + "}");
    const Result<Model> loaded = LoadModel(dir.Path("m"));
    EXPECT_FALSE(loaded.has_value());
    if (loaded) return std::string("loaded");
    EXPECT_EQ(loaded.error().ToString().find('\n'), std::string::npos);
    EXPECT_TRUE(loaded.error().code == ErrorCode::kUnsupported ||
                loaded.error().code == ErrorCode::kInvalidInput);
    return loaded.error().message;
  };
  const std::string unknown = "architecture 'BrandNewForCausalLM' is not known, and ";
  EXPECT_EQ(error({{"unet.down.weight", "F16", {8, 8}}}),
            unknown + "its 1 tensors show no stack of layers");
  EXPECT_EQ(error({{"model.layers.0.w", "F16", {8, 8}}}),
            unknown + "neither its config nor an embedding tells the hidden size");
  EXPECT_EQ(error({{"model.layers.0.w", "F16", {8}}}, R"(,"hidden_size":8,"num_hidden_layers":2)"),
            "implies 2 layers; no tensor of layer 1 is in the headers");
  EXPECT_EQ(error({{"model.layers.3.w", "F16", {8}}}, R"(,"hidden_size":8)"),
            "implies 4 layers; no tensor of layer 0 is in the headers");
  EXPECT_EQ(error({{"model.layers.9999999.w", "F16", {8}}}, R"(,"hidden_size":8)"),
            "expected at most 4,096 layers, found 10,000,000");
  std::vector<TestTensor> many;
  for (int i = 0; i < 70'000; ++i) many.push_back({"layers.0.n" + std::to_string(i), "U8", {1}});
  EXPECT_EQ(error(many, R"(,"hidden_size":8)"),
            unknown + "its tensors have thousands of different names: no stack of layers");
}

TEST(BuildUnknown, OddNamesAndShapesAreSurvived) {
  const TempDir dir;
  CheckpointBuilder model(dir.Path("m"));
  model
      .Shard("model.safetensors", {{"model.layers.0.{L}.weight", "BF16", {4}},
                                   {"model.layers.0.experts.1.w1.weight", "BF16", {0, 4}},
                                   {"model.layers.0.experts.3.w1.weight", "F32", {7, 5, 3, 2}},
                                   {"model.layers.0.experts.down_proj", "BF16", {1000000, 0, 7}},
                                   {"model.layers.0.self_attn.k_proj.weight", "BF16", {}},
                                   {"model.layers.0.a. .\\u001b[31mb.weight", "BF16", {3, 3}},
                                   {"model.layers.0..weight", "BF16", {8, 3}},
                                   {"lm_head.weight", "BF16", {}}})
      .Config(R"({"architectures":["BrandNewForCausalLM"],"hidden_size":8})");
  const Model loaded = Load(dir.Path("m"));
  EXPECT_NE(FindFinding(loaded, "model.unknown_tensors"), nullptr);  // the one with {L}
  const Finding* finding = FindFinding(loaded, "model.family_unknown");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message.find('\x1b'), std::string::npos);
}

TEST(BuildUnknown, ATiedHeadThatIsStoredIsNotLoaded) {
  const TempDir dir;
  WriteUnknown(TinyDense(), dir.Path("m"), {{"tie_word_embeddings", true}});
  const Model model = Load(dir.Path("m"));
  EXPECT_TRUE(model.arch.tied_embeddings);
  for (const ModuleRow& row : model.table.rows) {
    EXPECT_EQ(row.placement == Placement::kNotLoaded, row.role == Role::kHead) << row.name;
  }
}

}  // namespace
}  // namespace shardplan::families
