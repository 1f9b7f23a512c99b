// A family turns a config into an architecture and a tensor table.
#ifndef SHARDPLAN_MODEL_FAMILY_H_
#define SHARDPLAN_MODEL_FAMILY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/model/architecture.h"
#include "shardplan/model/guesses.h"
#include "shardplan/model/tensor_table.h"

namespace shardplan {

// Properties of a checkpoint that its config doesn't tell (--assume KEY=VALUE).
struct Assumptions {
  std::optional<bool> mtp;          // mtp=false: no multi-token-prediction layers stored
  std::optional<bool> mtp_embed;    // mtp_embed=false: they share embedding and head
  std::optional<int64_t> inv_freq;  // inv_freq=56: a rotary buffer of 56 entries per layer
  // stacked_experts=true: all experts of a layer in one tensor. Told by the names where they are.
  std::optional<bool> stacked_experts;
  // The same of multi-token-prediction layers, where it differs: told by the names alone.
  std::optional<bool> stacked_draft_experts;
  // The method that a draft of its own is loaded for ("eagle"): engines read another class out of
  // its config then (model/draft_class.h). Empty: the class that the config names.
  std::string draft_method = {};
  // Whether an EAGLE-3 head of one layer calls it "layers.0." and not "midlayer.". Absent: as its
  // files do, or its format.
  std::optional<bool> numbered_draft_layers = {};

  friend bool operator==(const Assumptions&, const Assumptions&) = default;
};

// Parses "mtp=false". Unknown keys are a usage error that lists the known ones.
Status ParseAssumption(std::string_view text, Assumptions* out);

// What a family makes of a config.
struct ModelSpec {
  Architecture arch;
  TensorTable table;
  std::vector<Finding> findings;   // e.g. layers announced and not stored
  std::string quant_method;        // that the config declares: "fp8"; empty: none
  bool quantization_read = false;  // the family gave its rows their formats itself
  std::optional<Guesses> guesses;  // of an architecture that no family covers
};

// A row of the catalogue of families.
struct FamilyInfo {
  std::string_view id;                          // "kimi-k3"
  std::vector<std::string_view> architectures;  // config.json "architectures" values
  std::string_view description;
};

// All families, sorted by id.
const std::vector<FamilyInfo>& Families();

// Reads a config's text and applies the family that its "architectures" name. `subject` stands in
// error messages for the file. Fails with kInvalidInput for a broken or contradictory config and
// kUnsupported for an architecture or quantization that no family covers (close names are listed).
// `sidecar` is the text of the hf_quant_config.json beside it, `sidecar_path` its name in messages.
// Where `headers` has shard headers, an architecture that no family covers is not refused: its
// table is made up from the headers' names and shapes, and `guesses` says what that rests on.
Result<ModelSpec> BuildModelSpec(std::string_view config_text, const std::string& subject,
                                 const Assumptions& assumptions = {}, std::string_view sidecar = {},
                                 const std::string& sidecar_path = "hf_quant_config.json",
                                 const Inventory* headers = nullptr);

}  // namespace shardplan

#endif  // SHARDPLAN_MODEL_FAMILY_H_
