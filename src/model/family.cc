#include "shardplan/model/family.h"

#include <fmt/format.h>

#include <charconv>

#include "model/config_reader.h"
#include "model/draft_class.h"
#include "model/families/families.h"
#include "model/families/unknown.h"
#include "model/quantization_plan.h"
#include "model/speculators.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"

namespace shardplan {
namespace {

using BuildFunction = Result<ModelSpec> (*)(ConfigReader&, const Assumptions&);

struct Family {
  FamilyInfo info;
  BuildFunction build;
};

// A new family is one file in families/ and one line here.
const std::vector<Family>& Registry() {
  static const std::vector<Family> registry = {
      {{"bailing-moe", {"BailingMoeForCausalLM"}, "Ling-lite, Ling-plus, Ling-Coder (GQA, MoE)"},
       families::BuildBailingMoe},
      {{"deepseek-v3",
        {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM"},
        "DeepSeek-V2, V3, R1, V3.1; Kimi-K2 (MLA, FP8 blocks, MTP)"},
       families::BuildDeepseekV3},
      {{"deepseek-v3.2",
        {"DeepseekV32ForCausalLM"},
        "DeepSeek-V3.2 (MLA with an indexer, FP8 blocks, MTP)"},
       families::BuildDeepseekV32},
      {{"deepseek-v4",
        {"DeepseekV4ForCausalLM"},
        "DeepSeek-V4 Flash, Pro (compressed attention, FP4 experts, MTP)"},
       families::BuildDeepseekV4},
      {{"dense",
        {"LlamaForCausalLM", "MiMoForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM",
         "Qwen3ForCausalLM"},
        "Llama 2/3, Mistral, Qwen2/2.5/3 dense, MiMo-7B (GQA, BF16 or FP8 blocks)"},
       families::BuildDense},
      {{"dflash",
        {"DFlashDraftModel"},
        "DFlash drafts of Qwen3's layers: for --speculative-config"},
       families::BuildDflash},
      {{"dots1", {"Dots1ForCausalLM"}, "dots.llm1 (MHA, MoE)"}, families::BuildDots1},
      {{"dspark",
        {"Qwen3DSparkModel", "K3DSparkModel"},
        "DSpark drafts of Qwen3's layers or Kimi-K3's MLA: for --speculative-config"},
       families::BuildDspark},
      {{"eagle",
        {"EagleLlamaForCausalLM", "LlamaForCausalLMEagle"},
        "EAGLE heads of Llama's shape: drafts for --speculative-config"},
       families::BuildEagle},
      {{"eagle3",
        {"LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "Eagle3MiniMaxM2ForCausalLM",
         "Eagle3Qwen2_5vlForCausalLM", "Eagle3Qwen3ForCausalLM", "Eagle3Qwen3vlForCausalLM",
         "PeagleLlamaForCausalLM", "PeagleQwen3ForCausalLM"},
        "EAGLE-3 heads of Llama's or Qwen3's layers: drafts for --speculative-config"},
       families::BuildEagle3},
      {{"eagle3-mla",
        {"Eagle3DeepseekV2ForCausalLM", "Eagle3DeepseekV3ForCausalLM"},
        "EAGLE-3 heads of DeepSeek's MLA: drafts for --speculative-config"},
       families::BuildEagle3Mla},
      {{"gemma",
        {"Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
        "Gemma-2, Gemma-3 (GQA, sliding windows, vision tower)"},
       families::BuildGemma},
      {{"gemma4",
        {"Gemma4ForConditionalGeneration"},
        "Gemma-4 31B, 26B-A4B (GQA, sliding windows, MoE, vision tower)"},
       families::BuildGemma4},
      {{"glm-moe-dsa", {"GlmMoeDsaForCausalLM"}, "GLM-5, 5.1, 5.2 (MLA with an indexer, MTP)"},
       families::BuildGlmMoeDsa},
      {{"glm4-moe", {"Glm4MoeForCausalLM"}, "GLM-4.5, 4.6, 4.7, Air (GQA, MoE, MTP)"},
       families::BuildGlm4Moe},
      {{"gpt-oss",
        {"GptOssForCausalLM"},
        "gpt-oss-20b, 120b (GQA with sinks, sliding windows, MXFP4 MoE)"},
       families::BuildGptOss},
      {{"granite-moe", {"GraniteMoeForCausalLM"}, "Granite-3 MoE (GQA, MoE)"},
       families::BuildGraniteMoe},
      {{"grok1", {"Grok1ModelForCausalLM", "Grok1ForCausalLM"}, "Grok-1 (GQA, MoE)"},
       families::BuildGrok1},
      {{"jamba", {"JambaForCausalLM"}, "Jamba, Jamba2 (Mamba and GQA, MoE)"}, families::BuildJamba},
      {{"kimi-k2.5",
        {"KimiK25ForConditionalGeneration"},
        "Kimi-K2.5, 2.6, 2.7 (Kimi-K2 with a vision tower)"},
       families::BuildKimiK25},
      {{"kimi-k3",
        {"KimiK3ForConditionalGeneration"},
        "Kimi-K3 (KDA and MLA, latent MoE, attention residuals, vision tower)"},
       families::BuildKimiK3},
      {{"kimi-linear", {"KimiLinearForCausalLM"}, "Kimi-Linear-48B-A3B (KDA and MLA, MoE)"},
       families::BuildKimiLinear},
      {{"llama4",
        {"Llama4ForConditionalGeneration", "Llama4ForCausalLM"},
        "Llama-4 Scout, Maverick (GQA, chunked attention, MoE, vision tower)"},
       families::BuildLlama4},
      {{"longcat-flash",
        {"LongcatFlashForCausalLM"},
        "LongCat-Flash (MLA twice a layer, MoE, MTP)"},
       families::BuildLongcatFlash},
      {{"medusa", {"MedusaModel"}, "Medusa heads: drafts for --speculative-config"},
       families::BuildMedusa},
      {{"mimo-v2-flash",
        {"MiMoV2FlashForCausalLM"},
        "MiMo-V2-Flash (GQA, sliding windows, FP8 MoE)"},
       families::BuildMimoV2Flash},
      {{"minimax-m2", {"MiniMaxM2ForCausalLM"}, "MiniMax-M2, M2.1, M2.5, M2.7 (GQA, FP8 MoE)"},
       families::BuildMinimaxM2},
      {{"mistral3",
        {"Mistral3ForConditionalGeneration"},
        "Mistral-Small-3.1, 3.2 (GQA, vision tower)"},
       families::BuildMistral3},
      {{"mixtral", {"MixtralForCausalLM"}, "Mixtral 8x7B, 8x22B (GQA, MoE)"},
       families::BuildMixtral},
      {{"nemotron-h",
        {"NemotronHForCausalLM"},
        "Nemotron-H, Nemotron-3 Nano, Super, Ultra (Mamba-2 and GQA, latent MoE, MTP)"},
       families::BuildNemotronH},
      {{"nemotron-nas",
        {"DeciLMForCausalLM"},
        "Llama-Nemotron Super, Ultra (GQA, layers without attention)"},
       families::BuildNemotronNas},
      {{"phi3", {"Phi3ForCausalLM"}, "Phi-3, Phi-4 (GQA)"}, families::BuildPhi3},
      {{"qwen", {"QWenLMHeadModel"}, "Qwen, the first generation (MHA)"}, families::BuildQwen},
      {{"qwen3-5",
        {"Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForCausalLM",
         "Qwen3_5MoeForConditionalGeneration"},
        "Qwen3.5, 3.6, 3.8, dense and MoE (gated delta nets, GQA, MTP, vision tower)"},
       families::BuildQwen35},
      {{"qwen3-moe",
        {"Qwen3MoeForCausalLM"},
        "Qwen3-30B-A3B, 235B-A22B, Coder-480B-A35B (GQA, MoE, BF16 or FP8 blocks)"},
       families::BuildQwen3Moe},
      {{"qwen3-next",
        {"Qwen3NextForCausalLM"},
        "Qwen3-Next-80B-A3B, Coder-Next (gated delta nets, GQA, MoE, MTP)"},
       families::BuildQwen3Next},
      {{"qwen3-vl",
        {"Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration"},
        "Qwen3-VL 2B to 32B, 30B-A3B, 235B-A22B (GQA, MoE, vision tower)"},
       families::BuildQwen3Vl},
  };
  return registry;
}

const Family* FindFamily(const std::string& architecture) {
  for (const Family& family : Registry()) {
    for (const std::string_view name : family.info.architectures) {
      if (name == architecture) return &family;
    }
  }
  return nullptr;
}

// The class behind a config that leaves "architectures" out; empty for a type that does not tell.
std::string_view ClassOf(std::string_view model_type) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"deepseek_v2", "DeepseekV2ForCausalLM"},
      {"deepseek_v3", "DeepseekV3ForCausalLM"},
      {"gemma2", "Gemma2ForCausalLM"},
      {"gemma3_text", "Gemma3ForCausalLM"},
      {"glm4_moe", "Glm4MoeForCausalLM"},
      {"gpt_oss", "GptOssForCausalLM"},
      {"kimi_k2", "DeepseekV3ForCausalLM"},
      {"kimi_linear", "KimiLinearForCausalLM"},
      {"llama", "LlamaForCausalLM"},
      {"longcat_flash", "LongcatFlashForCausalLM"},
      {"minimax_m2", "MiniMaxM2ForCausalLM"},
      {"mistral", "MistralForCausalLM"},
      {"mixtral", "MixtralForCausalLM"},
      {"phi3", "Phi3ForCausalLM"},
      {"qwen2", "Qwen2ForCausalLM"},
      {"qwen3", "Qwen3ForCausalLM"},
      {"qwen3_moe", "Qwen3MoeForCausalLM"},
      {"qwen3_next", "Qwen3NextForCausalLM"}};
  for (const auto& [type, name] : kTypes) {
    if (type == model_type) return name;
  }
  return {};
}

std::vector<std::string> KnownArchitectures() {
  std::vector<std::string> names;
  for (const Family& family : Registry()) {
    for (const std::string_view name : family.info.architectures) names.emplace_back(name);
  }
  return names;
}

}  // namespace

const std::vector<FamilyInfo>& Families() {
  static const std::vector<FamilyInfo> infos = [] {
    std::vector<FamilyInfo> out;
    for (const Family& family : Registry()) out.push_back(family.info);
    return out;
  }();
  return infos;
}

Status ParseAssumption(std::string_view text, Assumptions* out) {
  const size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  const auto bad = [&](std::string_view expected) {
    return Fail(ErrorCode::kUsage, fmt::format("--assume {}", Printable(text)),
                fmt::format("expected {}", expected));
  };
  const std::pair<std::string_view, std::optional<bool>*> switches[] = {
      {"mtp", &out->mtp},
      {"mtp_embed", &out->mtp_embed},
      {"stacked_experts", &out->stacked_experts}};
  for (const auto& [name, target] : switches) {
    if (key != name) continue;
    if (value != "true" && value != "false") {
      return bad(fmt::format("{}=true or {}=false", key, key));
    }
    *target = value == "true";
    return {};
  }
  if (key == "inv_freq") {
    int64_t entries = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), entries);
    if (error != std::errc() || end != value.data() + value.size() || entries < 1 ||
        entries > 1 << 20) {
      return bad("inv_freq=N, the entries of the rotary buffer");
    }
    out->inv_freq = entries;
    return {};
  }
  return bad("one of mtp=BOOL, mtp_embed=BOOL, stacked_experts=BOOL, inv_freq=N");
}

namespace {

// What stands outside of what families read.
void AddUse(const DraftShape& use, DraftShape* draft) {
  draft->named = use.named;
  draft->verifier = use.verifier;
  draft->method = use.method;
  draft->tokens = use.tokens;
}

}  // namespace

Result<ModelSpec> BuildModelSpec(std::string_view config_text, const std::string& subject,
                                 const Assumptions& assumptions, std::string_view sidecar,
                                 const std::string& sidecar_path, const Inventory* headers) {
  SHARDPLAN_ASSIGN_OR_RETURN(nlohmann::json json, ParseConfigObject(config_text, subject));
  DraftShape use;
  const bool speculators = IsSpeculators(json);
  if (speculators) {
    ReadSpeculatorsUse(json, &use);
    SHARDPLAN_ASSIGN_OR_RETURN(json, FromSpeculators(json, subject));
  }
  ConfigReader config(json, subject);
  std::vector<std::string> names = config.StringListOr("architectures", {});
  const std::string named_type = config.StringOr("model_type", "");
  const std::string type = names.empty() ? named_type : "";
  const std::string written = names.empty() ? "" : names.front();
  if (!config.ok()) return tl::unexpected(config.error());
  if (const std::string_view name = ClassOf(type); !name.empty()) {
    names.emplace_back(name);
    json["architectures"] = names;
  }
  // vLLM leaves the class of a draft in the speculators format as it is.
  if (!assumptions.draft_method.empty() && !speculators) {
    const std::string name =
        DraftClass(assumptions.draft_method, names.empty() ? "" : names.front(), named_type);
    if (!name.empty() && (names.empty() || name != names.front())) {
      if (!names.empty()) use.named = names.front();
      names = {name};
      json["architectures"] = names;
    }
  }
  if (names.empty()) {
    return Fail(ErrorCode::kInvalidInput, subject,
                "architectures: expected the model's class name, found nothing",
                "is this a model's config.json?");
  }
  // EAGLE-3 heads that call themselves Llama; only they have a vocabulary of their own.
  if (names.front() == "LlamaForCausalLM" && config.Has("draft_vocab_size")) {
    names.front() = "LlamaForCausalLMEagle3";
  }
  if (const Family* family = FindFamily(names.front())) {
    try {
      SHARDPLAN_ASSIGN_OR_RETURN(const QuantPlan plan,
                                 ReadQuantizationPlan(config, sidecar, sidecar_path));
      Assumptions known = assumptions;
      // Stacks are published unquantized only: quantizing tools write expert by expert.
      if (!plan.plain() && !known.stacked_experts) known.stacked_experts = false;
      SHARDPLAN_ASSIGN_OR_RETURN(ModelSpec spec, family->build(config, known));
      spec.arch.family = family->info.id;
      AddUse(use, &spec.arch.draft);
      if (!headers || (!headers->has_headers && !headers->has_index)) DropLeftOut(&spec.table);
      if (!type.empty()) {
        spec.findings.push_back({"model.architecture_from_type", Severity::kNote, subject,
                                 fmt::format("names no architecture: planned as {}, from its "
                                             "model_type",
                                             names.front()),
                                 ""});
      }
      ApplyQuantization(plan, &spec);
      spec.quant_method = plan.method;
      Totals(spec.table);  // throws where the sizes leave 64 bits
      return spec;
    } catch (const SizeOverflow&) {
      return Fail(ErrorCode::kInvalidInput, subject,
                  "the sizes in this config multiply to more than 64 bits");
    }
  }
  if (headers && headers->has_headers) {
    try {
      return families::BuildUnknown(config, *headers,
                                    ReadQuantizationPlan(config, sidecar, sidecar_path));
    } catch (const SizeOverflow&) {
      return Fail(ErrorCode::kInvalidInput, subject,
                  "the sizes in this checkpoint multiply to more than 64 bits");
    }
  }
  const std::vector<std::string> close = CloseNames(names.front(), KnownArchitectures());
  // An engine may look for a draft under another name than its file has.
  const bool renamed = !written.empty() && written != names.front();
  return Fail(ErrorCode::kUnsupported, subject,
              renamed ? fmt::format("architecture '{}' is not known as a draft of method {}",
                                    Printable(written), assumptions.draft_method)
                      : fmt::format("architecture '{}' is not known", Printable(names.front())),
              close.empty() ? "`shardplan catalog families` lists the known ones"
                            : fmt::format("did you mean {}?", JoinWithOr(close)));
}

}  // namespace shardplan
