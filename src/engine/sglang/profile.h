// One SGLang version, as data.
#ifndef SHARDPLAN_ENGINE_SGLANG_PROFILE_H_
#define SHARDPLAN_ENGINE_SGLANG_PROFILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/evidence.h"
#include "shardplan/base/config_store.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/engine/sglang_settings.h"

namespace shardplan::sglang {

// How --mem-fraction-static is made up: by TP alone, by the card's tier, or as a sum of terms.
enum class FractionRule { kByTp, kByCard, kTerms };
enum class KvRefusal { kNotEnoughMemory, kMinimumViable };

// Defaults of cards with less than `below_mib` of memory; 0: of all others.
struct MemoryTier {
  int64_t below_mib = 0;
  int64_t chunked_prefill_size = 0;
  int64_t graph_bs_small_tp = 0;  // largest decode graph at TP 1 to 3
  int64_t graph_bs_large_tp = 0;  // at TP 4 and more
};

struct Measure {
  double low = 0;
  double central = 0;
  double high = 0;
};

// What configs/engines/sglang/rules.yaml says of one version; docs there.
struct Profile {
  std::string version;
  FractionRule mem_fraction_rule = FractionRule::kTerms;
  std::vector<MemoryTier> tiers;  // the last one takes all cards
  double unknown_card_fraction = 0;
  bool vision_factor = true;
  int64_t draft_reserve_mib = 0;             // of EAGLE and the like
  int64_t standalone_draft_reserve_mib = 0;  // of a draft model that is a model of its own
  int64_t deepep_reserve_mib = 0;
  PrefillGraph prefill_graph = PrefillGraph::kBreakable;
  int64_t mla_prefill_graph_mib = 0;                  // 0: by the captured sizes, as other models
  std::vector<std::string> prefill_graph_multimodal;  // architectures that keep the graphs
  int64_t pp_prefill_graph_cap = 0;                   // tokens; 0: none
  bool draft_weights_counted = true;
  int64_t multimodal_cache_mib = 0;
  int64_t state_padding_slots = 0;
  bool states_by_stage = true;
  StateStrategy state_strategy = StateStrategy::kExtraBuffer;
  KvRefusal kv_refusal = KvRefusal::kMinimumViable;
  // Attention where no flag names a backend: of heads, of latents.
  std::vector<std::string> hopper_backends;
  std::vector<std::string> blackwell_backends;
  // Backend → the pages it accepts, the one it falls back to first.
  std::map<std::string, std::vector<int64_t>> page_sizes;

  std::map<std::string, std::string> models_since;  // not there yet → release they came with

  // The start-up log.
  bool log_elapsed = true;       // elapsed times, and memory usage behind "Load weight end"
  bool log_kv_dtype = true;      // of the KV pool
  bool log_graph_phases = true;  // graphs of decode and prefill apart

  // Measured, not derived: low, central and high end.
  Measure gone_before_load_alone_gib;  // of a rank that is alone, beside the context
  Measure gone_before_load_gib;        // of one of several
  Measure communication_later_gib;
  Measure decode_graph_kib;  // of a graph and layer
  Measure prefill_graph_kib;

  RuleSources sources;  // rule → how it is known

  int64_t CountOf(Evidence evidence) const;  // rules that are known so
};

// Releases with rules, oldest first.
std::vector<std::string> ProfileVersions(const ConfigStore& store);

// The rules of `version`; empty means the newest. A version that is no release takes the rules of
// the nearest older one; one newer than all takes the newest; `findings` says so. One older than
// all is refused with the range (kUnsupported), and text that is no version is kUsage.
Result<Profile> LoadProfile(const ConfigStore& store, std::string_view version,
                            std::vector<Finding>* findings);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_PROFILE_H_
