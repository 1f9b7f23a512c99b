#include "engine/sglang/profile.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "engine/rule_reader.h"

namespace shardplan::sglang {
namespace {

constexpr std::string_view kRules = "engines/sglang/rules.yaml";

void ReadTiers(RuleReader& r, Profile* p) {
  std::vector<std::vector<int64_t>> rows;
  r.Rule("memory_tiers", &rows);
  int64_t last = 0;
  for (const std::vector<int64_t>& row : rows) {
    const bool is_last = &row == &rows.back();
    if (row.size() != 4 || (is_last ? row[0] != 0 : row[0] <= last)) {
      return r.Problem("memory_tiers", "expected rows of four numbers, rising, the last below 0");
    }
    last = row[0];
    p->tiers.push_back({row[0], row[1], row[2], row[3]});
  }
  if (p->tiers.empty()) r.Problem("memory_tiers", "expected one row at least");
}

void ReadMeasure(RuleReader& r, const char* key, Measure* out) {
  std::vector<double> ends;
  r.Rule(key, &ends);
  if (ends.size() != 3 || ends[0] < 0 || ends[0] > ends[1] || ends[1] > ends[2]) {
    return r.Problem(key, "expected low, central and high, rising from zero");
  }
  *out = {ends[0], ends[1], ends[2]};
}

void ReadRules(RuleReader& r, Profile* p) {
  r.Choice<FractionRule>("mem_fraction_rule",
                         {{"by_tp", FractionRule::kByTp},
                          {"by_card", FractionRule::kByCard},
                          {"terms", FractionRule::kTerms}},
                         &p->mem_fraction_rule);
  ReadTiers(r, p);
  r.Rule("unknown_card_fraction", &p->unknown_card_fraction);
  r.Rule("vision_factor", &p->vision_factor);
  std::vector<int64_t> draft;
  r.Rule("draft_reserve_mib", &draft);
  if (draft.size() == 2) {
    p->draft_reserve_mib = draft[0];
    p->standalone_draft_reserve_mib = draft[1];
  } else {
    r.Problem("draft_reserve_mib", "expected two numbers");
  }
  r.Rule("deepep_reserve_mib", &p->deepep_reserve_mib);
  r.Choice<PrefillGraph>("prefill_graph",
                         {{"disabled", PrefillGraph::kDisabled},
                          {"piecewise", PrefillGraph::kPiecewise},
                          {"breakable", PrefillGraph::kBreakable}},
                         &p->prefill_graph);
  r.Rule("mla_prefill_graph_mib", &p->mla_prefill_graph_mib);
  r.Rule("prefill_graph_multimodal", &p->prefill_graph_multimodal);
  r.Rule("pp_prefill_graph_cap", &p->pp_prefill_graph_cap);
  r.Rule("draft_weights_counted", &p->draft_weights_counted);
  r.Rule("multimodal_cache_mib", &p->multimodal_cache_mib);
  r.Rule("state_padding_slots", &p->state_padding_slots);
  r.Rule("states_by_stage", &p->states_by_stage);
  r.Choice<StateStrategy>(
      "state_strategy",
      {{"no_buffer", StateStrategy::kNoBuffer}, {"extra_buffer", StateStrategy::kExtraBuffer}},
      &p->state_strategy);
  r.Choice<KvRefusal>("kv_refusal",
                      {{"not_enough_memory", KvRefusal::kNotEnoughMemory},
                       {"minimum_viable", KvRefusal::kMinimumViable}},
                      &p->kv_refusal);
  for (const auto& [key, backends] : {std::pair("hopper_backends", &p->hopper_backends),
                                      std::pair("blackwell_backends", &p->blackwell_backends)}) {
    r.Rule(key, backends);
    if (backends->size() != 2) r.Problem(key, "expected two names");
  }
  r.Rule("page_sizes", &p->page_sizes);
  for (const auto& [backend, sizes] : p->page_sizes) {
    if (sizes.empty()) r.Problem("page_sizes", "expected a size for " + backend);
  }
  r.Rule("models_since", &p->models_since);
  r.Rule("log_elapsed", &p->log_elapsed);
  r.Rule("log_kv_dtype", &p->log_kv_dtype);
  r.Rule("log_graph_phases", &p->log_graph_phases);
  ReadMeasure(r, "gone_before_load_alone_gib", &p->gone_before_load_alone_gib);
  ReadMeasure(r, "gone_before_load_gib", &p->gone_before_load_gib);
  ReadMeasure(r, "communication_later_gib", &p->communication_later_gib);
  ReadMeasure(r, "decode_graph_kib", &p->decode_graph_kib);
  ReadMeasure(r, "prefill_graph_kib", &p->prefill_graph_kib);
}

Result<Profile> ReadProfile(const RuleBook& book, const std::string& version) {
  Profile p;
  p.version = version;
  RuleReader reader(book, *ParseVersion(version), {}, &p.sources);
  try {
    ReadRules(reader, &p);
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidInput, book.origin(),
                fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
  if (!reader.problem().empty()) {
    return Fail(ErrorCode::kInvalidInput, book.origin(), reader.problem());
  }
  return p;
}

// Main after 0.5.17 was read whole, and what it changed in the weeks before is dated by its merge.
constexpr EngineVersion kThoroughFrom = {0, 5, 15};

void NoteEvidence(const Profile& p, std::vector<Finding>* findings) {
  if (*ParseVersion(p.version) >= kThoroughFrom) return;
  findings->push_back(
      {"engine.evidence", Severity::kNote, "sglang@" + p.version,
       fmt::format("of its {} rules {} were read in the source, {} are seen in public logs, {} are "
                   "assumed",
                   p.sources.size(), p.CountOf(Evidence::kSource), p.CountOf(Evidence::kLog),
                   p.CountOf(Evidence::kAssumed)),
       ""});
}

}  // namespace

int64_t Profile::CountOf(Evidence evidence) const {
  return std::count_if(sources.begin(), sources.end(),
                       [&](const auto& rule) { return rule.second.evidence == evidence; });
}

std::vector<std::string> ProfileVersions(const ConfigStore& store) {
  const Result<RuleBook> book = RuleBook::Load(store, kRules);
  return book ? book->releases() : std::vector<std::string>();
}

Result<Profile> LoadProfile(const ConfigStore& store, std::string_view version,
                            std::vector<Finding>* findings) {
  SHARDPLAN_ASSIGN_OR_RETURN(const RuleBook book, RuleBook::Load(store, kRules));
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string known,
                             VersionWithRules("sglang", version, book.releases(), findings));
  SHARDPLAN_ASSIGN_OR_RETURN(Profile profile, ReadProfile(book, known));
  NoteEvidence(profile, findings);
  return profile;
}

}  // namespace shardplan::sglang
