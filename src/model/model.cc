#include "shardplan/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <string_view>

#include "model/config_reader.h"
#include "model/header_formats.h"
#include "model/match.h"
#include "model/quantization_plan.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr Bytes kMaxConfig(16 * kMiB);

// ModelOpt keeps the quantization beside the config, which then looks unquantized.
Result<std::string> ReadQuantSidecar(const std::string& path) {
  if (path.empty()) return std::string();
  return ReadTextFile(path, kMaxConfig);
}

// A word of the model's name that says how it is quantized, as written; empty for none. The name is
// the config's own, or its directory's.
std::string QuantizationInName(const Inventory& inventory) {
  std::string name = BaseName(inventory.config_path);
  if (name == "config.json") name = BaseName(inventory.directory);
  constexpr std::string_view kWords[] = {"fp8",  "fp4",  "nvfp4", "mxfp4", "awq",  "gptq", "int4",
                                         "int8", "4bit", "8bit",  "w4a16", "w8a8", "w8a16"};
  std::string word;
  std::string lower;
  for (const char c : name + ".") {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += c;
      lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords)) return word;
    word.clear();
    lower.clear();
  }
  return "";
}

// What the names say of routed experts, those of draft layers or the others: true where a layer's
// are stacked in one tensor, false where each has its own, nothing where there are no such names.
std::optional<bool> StacksExperts(const Inventory& inventory, bool draft) {
  constexpr std::string_view kExperts = ".experts.";
  for (const std::string& pattern : inventory.patterns) {
    const size_t at = pattern.find(kExperts);
    if (at == std::string::npos || pattern.starts_with("mtp.") != draft) continue;
    const std::string_view rest = std::string_view(pattern).substr(at + kExperts.size());
    if (rest.starts_with("{}.")) return false;
    if (rest.starts_with("gate_up_proj") || rest.starts_with("down_proj")) return true;
  }
  return std::nullopt;
}

bool HasDraftNames(const Inventory& inventory) {
  return std::any_of(inventory.patterns.begin(), inventory.patterns.end(),
                     [](const std::string& pattern) { return pattern.starts_with("mtp."); });
}

// Whether an EAGLE-3 head's one layer is "layers.0." or "midlayer."; nothing where neither is
// there.
std::optional<bool> NumbersDraftLayers(const Inventory& inventory) {
  for (const std::string& pattern : inventory.patterns) {
    if (pattern.starts_with("midlayer.")) return false;
    if (pattern.starts_with("layers.{}.")) return true;
  }
  return std::nullopt;
}

void DropAbsentRows(const std::vector<bool>& present, const Architecture& arch, Model* model) {
  std::vector<ModuleRow> kept;
  bool draft_absent = false;
  for (size_t i = 0; i < model->table.rows.size(); ++i) {
    ModuleRow& row = model->table.rows[i];
    if (present[i]) {
      kept.push_back(std::move(row));
    } else {
      draft_absent |= row.role == Role::kDraft;
    }
  }
  model->table.rows = std::move(kept);
  if (draft_absent && arch.mtp_layers > 0) {
    model->findings.push_back(
        {"model.mtp_absent", Severity::kNote, "num_nextn_predict_layers",
         fmt::format("the config announces {} multi-token-prediction layer(s), the checkpoint "
                     "stores none",
                     arch.mtp_layers),
         ""});
  }
}

}  // namespace

Result<Model> LoadModel(const std::string& path, const Assumptions& assumptions,
                        const OpenOptions& options) {
  Model model;
  model.source = path;
  SHARDPLAN_ASSIGN_OR_RETURN(model.inventory, OpenCheckpoint(path, options));
  Inventory& inventory = model.inventory;
  if (inventory.config_path.empty()) {
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                "expected a config.json beside the weights, found none",
                "the architecture cannot be told without it; copy the model's config.json here");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string text,
                             ReadTextFile(inventory.config_path, kMaxConfig));
  const std::string config = Printable(inventory.config_path);
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string sidecar,
                             ReadQuantSidecar(inventory.quant_config_path));
  Assumptions known = assumptions;
  if (!known.stacked_experts) known.stacked_experts = StacksExperts(inventory, /*draft=*/false);
  if (!known.stacked_draft_experts) {
    known.stacked_draft_experts = StacksExperts(inventory, /*draft=*/true);
  }
  if (!known.mtp && HasDraftNames(inventory)) known.mtp = true;
  if (!known.numbered_draft_layers) known.numbered_draft_layers = NumbersDraftLayers(inventory);
  SHARDPLAN_ASSIGN_OR_RETURN(ModelSpec spec,
                             BuildModelSpec(text, config, known, sidecar,
                                            Printable(inventory.quant_config_path), &inventory));
  model.arch = std::move(spec.arch);
  model.table = std::move(spec.table);
  model.guesses = std::move(spec.guesses);
  model.quant_method = std::move(spec.quant_method);
  model.findings = std::move(spec.findings);
  for (Finding& finding : inventory.findings) model.findings.push_back(std::move(finding));
  inventory.findings.clear();

  try {
    if (inventory.has_headers) {
      // One shard of several confirms what it holds; the rest is derived.
      const bool single = inventory.kind == SourceKind::kSingleShard;
      ApplyHeaderFormats(inventory, &model.table, &model.findings);
      model.arch.quantization = EngineQuantization(model.table);
      SHARDPLAN_ASSIGN_OR_RETURN(MatchReport report,
                                 MatchHeaders(model.table, inventory, config, single));
      for (Finding& finding : report.findings) model.findings.push_back(std::move(finding));
      model.contents = std::move(report.contents);
      if (report.complete) {
        model.totals = report.totals;
        model.shard_use = std::move(report.shard_use);
        model.shape_basis = Basis::kExact;
        DropAbsentRows(report.row_present, model.arch, &model);
      } else {
        DropLeftOut(&model.table);
        model.totals = Totals(model.table);
        model.findings.push_back(
            {"model.single_shard", Severity::kNote, Printable(path),
             "one shard of several: what it holds agrees with the config, the rest is derived by "
             "the family's rules",
             "plan the directory to have every header read"});
      }
    } else {
      if (inventory.has_index) {
        SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<bool> present,
                                   MatchIndex(model.table, inventory, config));
        DropAbsentRows(present, model.arch, &model);
      }
      model.totals = Totals(model.table);
      model.contents = ContentsOf(model.table);
      model.findings.push_back(
          {"model.shapes_derived", Severity::kNote, Printable(path),
           "no shard headers here: names, dtypes and shapes are derived from the config by the "
           "family's rules",
           "plan the downloaded directory to have them read from the headers"});
      const std::string word = QuantizationInName(inventory);
      if (!word.empty() && model.arch.quantization.empty()) {
        model.findings.push_back(
            {"model.quantization_unknown", Severity::kWarning, Printable(path),
             fmt::format("the name says {} and the config says nothing of it: planned unquantized",
                         word),
             "put the model's hf_quant_config.json beside the config, or plan the checkpoint"});
      }
    }
  } catch (const SizeOverflow&) {
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                "the sizes in this checkpoint add up to more than 64 bits");
  }
  inventory.tensors.clear();
  inventory.tensors.shrink_to_fit();
  inventory.index_names.clear();
  inventory.index_names.shrink_to_fit();
  return model;
}

}  // namespace shardplan
