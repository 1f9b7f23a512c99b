#include "engine/sglang/profile.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "engine/rule_book.h"
#include "shardplan/base/file.h"

namespace shardplan::sglang {
namespace {

constexpr std::string_view kRules = "engines/sglang/rules.yaml";

// Reads rules and keeps the first problem.
class RuleReader {
 public:
  RuleReader(const RuleBook& book, const EngineVersion& version, Profile* profile)
      : book_(book), version_(version), profile_(*profile) {}

  template <typename T>
  void Rule(const char* key, T* out) {
    std::optional<RuleBook::Entry> entry;
    try {
      entry = book_.Rule(key, version_);
    } catch (const YAML::Exception&) {
      throw;
    } catch (const std::runtime_error& error) {
      return Problem(key, error.what());
    }
    if (!entry) return Problem(key, "expected an entry that holds at this version");
    const YAML::Node& node = entry->node;
    if (!node["value"] || !node["source"]) return Problem(key, "expected {value, source}");
    const std::string evidence = node["evidence"].as<std::string>("source");
    if (evidence != "source" && evidence != "log" && evidence != "assumed") {
      return Problem(key, "unknown evidence '" + evidence + "'");
    }
    *out = node["value"].as<T>();
    profile_.sources[key] = {evidence == "source" ? Evidence::kSource
                             : evidence == "log"  ? Evidence::kLog
                                                  : Evidence::kAssumed,
                             node["source"].as<std::string>(), entry->since};
  }

  template <typename T>
  void Choice(const char* key, const std::map<std::string, T>& choices, T* out) {
    std::string name;
    Rule(key, &name);
    if (!problem_.empty()) return;
    const auto it = choices.find(name);
    if (it == choices.end()) return Problem(key, "unknown value '" + name + "'");
    *out = it->second;
  }

  void Problem(const char* key, const std::string& what) {
    if (problem_.empty()) problem_ = std::string(key) + ": " + what;
  }

  const std::string& problem() const { return problem_; }

 private:
  const RuleBook& book_;
  EngineVersion version_;
  Profile& profile_;
  std::string problem_;
};

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
  r.Rule("page_sizes", &p->page_sizes);
  for (const auto& [backend, sizes] : p->page_sizes) {
    if (sizes.empty()) r.Problem("page_sizes", "expected a size for " + backend);
  }
}

Result<Profile> ReadProfile(const RuleBook& book, const std::string& version) {
  Profile p;
  p.version = version;
  RuleReader reader(book, *ParseVersion(version), &p);
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
  const std::vector<std::string>& known = book.releases();
  if (version.empty()) return ReadProfile(book, known.back());
  const std::string subject = fmt::format("sglang@{}", Printable(version));
  const std::optional<EngineVersion> wanted = ParseVersion(version);
  if (!wanted) {
    return Fail(ErrorCode::kUsage, subject, "expected a version such as " + known.back());
  }
  const std::string* best = nullptr;
  for (const std::string& candidate : known) {
    if (*ParseVersion(candidate) <= *wanted) best = &candidate;
  }
  if (!best) {
    return Fail(ErrorCode::kUnsupported, subject,
                fmt::format("rules reach from {} to {}", known.front(), known.back()));
  }
  if (*ParseVersion(*best) != *wanted) {
    const bool newer = best == &known.back();
    findings->push_back(
        {"engine.version", newer ? Severity::kWarning : Severity::kNote, subject,
         newer ? fmt::format("newer than every release with rules; those of {} are used", *best)
               : fmt::format("planned by the rules of {}", *best),
         ""});
  }
  return ReadProfile(book, *best);
}

}  // namespace shardplan::sglang
