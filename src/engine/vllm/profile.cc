#include "engine/vllm/profile.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "engine/rule_reader.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

// Versions before were looked at only as far as public logs reach.
constexpr EngineVersion kThoroughFrom = {0, 20, 0};

std::string FileOf(const std::string& version) { return "engines/vllm/" + version + ".yaml"; }

// Rules, and the memory constants beside them.
class FieldReader : public RuleReader {
 public:
  using RuleReader::RuleReader;

  void Memory(const char* key, MemoryConstant* out) {
    const YAML::Node node = MemoryNode(key);
    if (!node || !node.IsMap() || !node["source"]) {
      return Problem(key, "expected {low, central, high, source}");
    }
    out->low = node["low"].as<double>();
    out->central = node["central"].as<double>();
    out->high = node["high"].as<double>();
    out->per_doubling_central = node["per_doubling_central"].as<double>(0);
    out->per_doubling_high = node["per_doubling_high"].as<double>(0);
    out->source = node["source"].as<std::string>();
    if (!(out->low <= out->central && out->central <= out->high)) {
      Problem(key, "expected low ≤ central ≤ high");
    }
  }

  double Gib(const char* key) {
    const YAML::Node node = MemoryNode(key);
    if (!node || !node["gib"]) {
      Problem(key, "expected {gib, source}");
      return 0;
    }
    return node["gib"].as<double>();
  }

 private:
  YAML::Node MemoryNode(const std::string& key) const {
    YAML::Node node = Own("memory", key);
    if (node) return node;
    return book().Memory(key);
  }
};

void ReadRules(FieldReader& r, Profile* p) {
  r.Rule("gpu_memory_utilization", &p->gpu_memory_utilization);
  r.Choice<GraphEstimate>("graph_estimate_deducted",
                          {{"always", GraphEstimate::kAlways},
                           {"v1_only", GraphEstimate::kV1Only},
                           {"never", GraphEstimate::kNever}},
                          &p->graph_estimate);
  r.Rule("free_memory_budget", &p->free_memory_budget);
  r.Rule("null_block_reserved", &p->null_block_reserved);
  r.Rule("override_before_check", &p->override_before_check);
  r.Rule("drafts_over_pp", &p->drafts_over_pp);
  r.Rule("aux_states_over_pp", &p->aux_states_over_pp);
  r.Choice<TokensPrinted>(
      "tokens_printed",
      {{"blocks", TokensPrinted::kBlocks}, {"concurrency", TokensPrinted::kConcurrency}},
      &p->tokens_printed);
  r.Choice<WindowsInFlight>("windows_in_flight",
                            {{"one_batch", WindowsInFlight::kOneBatch},
                             {"concurrent_batches", WindowsInFlight::kConcurrentBatches}},
                            &p->windows_in_flight);
  r.Rule("mla_hybrid_min_block", &p->mla_hybrid_min_block);
  r.Rule("hybrid_prefix_caching", &p->hybrid_prefix_caching);
  r.Rule("prefill_checkpoint_blocks", &p->prefill_checkpoint_blocks);
  r.Rule("compressed_cache_is_fp8", &p->compressed_cache_is_fp8);
  r.Choice<PaddingOver>("expert_padding_over",
                        {{"tp", PaddingOver::kTp}, {"dp_tp", PaddingOver::kDpTp}},
                        &p->expert_padding_over);
  r.Rule("expert_padding_min", &p->expert_padding_min);
  r.Rule("can_slice_shared", &p->can_slice_shared);
  r.Choice<V2Runner>("v2_runner",
                     {{"none", V2Runner::kNone},
                      {"qwen3_dense", V2Runner::kQwen3Dense},
                      {"qwen3_llama_mistral_dense", V2Runner::kQwen3LlamaMistralDense},
                      {"dense", V2Runner::kDense},
                      {"dense_and_listed", V2Runner::kDenseAndListed},
                      {"all", V2Runner::kAll}},
                     &p->v2_runner);
  r.Choice<SamplerPath>("sampler",
                        {{"sort", SamplerPath::kSort},
                         {"sort_native", SamplerPath::kSortNative},
                         {"triton", SamplerPath::kTriton}},
                        &p->sampler);
  r.Rule("moe_chunk_tokens", &p->moe_chunk_tokens);
  r.Rule("moe_dp_chunk_tokens", &p->moe_dp_chunk_tokens);
  r.Choice<ModularMoe>("modular_moe",
                       {{"none", ModularMoe::kNone},
                        {"all_but_wna16", ModularMoe::kAllButWna16},
                        {"all", ModularMoe::kAll}},
                       &p->modular_moe);
  r.Rule("workspace_manager", &p->workspace_manager);
  r.Rule("hopper_fp8_moe", &p->hopper_fp8_moe);
  r.Rule("allreduce_fusion", &p->allreduce_fusion);
  r.Rule("allocator_rounding", &p->allocator_rounding);
  r.Rule("vocabulary_multiple", &p->vocabulary_multiple);
  r.Rule("large_card_sequences", &p->large_card_sequences);
  r.Rule("largest_card_gib", &p->largest_card_gib);
  r.Rule("capture_cap_sm10x", &p->capture_cap_sm10x);
  r.Rule("p2p_nccl_connector", &p->p2p_nccl_connector);
  r.Rule("capture_step", &p->capture_step);
  r.Rule("capture_decodes", &p->capture_decodes);
  r.Memory("library_modules", &p->library_modules);
  r.Memory("nccl_growth_hopper", &p->nccl_growth_hopper);
  r.Memory("nccl_growth_older", &p->nccl_growth_older);
  r.Memory("nccl_without_custom_all_reduce", &p->nccl_without_custom_all_reduce);
  r.Memory("nccl_group", &p->nccl_group);
  r.Memory("nccl_group_without_nvlink", &p->nccl_group_without_nvlink);
  r.Memory("trtllm_moe_runtime", &p->trtllm_moe_runtime);
  r.Memory("graph_estimate_base", &p->graph_estimate_base);
  p->nccl_across_nodes_high = r.Gib("nccl_across_nodes_high");
}

// Files of one's own from `version` down to the release that the last of them inherits.
struct OwnFiles {
  std::vector<YAML::Node> documents;
  std::string release;
};

Result<OwnFiles> ReadOwnFiles(const ConfigStore& store, const RuleBook& book, std::string version) {
  OwnFiles own;
  const std::vector<std::string>& releases = book.releases();
  while (store.Has(FileOf(version))) {
    const std::string origin = store.Origin(FileOf(version));
    if (own.documents.size() == 8) {
      return Fail(ErrorCode::kInvalidInput, origin, "profiles inherit in a circle");
    }
    SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view text, store.Get(FileOf(version)));
    try {
      YAML::Node document = YAML::Load(std::string(text));
      if (!document.IsMap()) {
        return Fail(ErrorCode::kInvalidInput, origin, "expected a YAML mapping");
      }
      const std::string above = document["inherits"].as<std::string>("");
      own.documents.push_back(document);
      if (!store.Has(FileOf(above)) &&
          std::find(releases.begin(), releases.end(), above) == releases.end()) {
        return Fail(ErrorCode::kInvalidInput, origin,
                    fmt::format("inherits: expected a version from {} to {}, found '{}'",
                                releases.front(), releases.back(), Printable(above)));
      }
      version = above;
    } catch (const YAML::Exception& error) {
      return Fail(ErrorCode::kInvalidInput, origin,
                  fmt::format("line {}: {}", error.mark.line + 1, error.msg));
    }
  }
  own.release = version;
  return own;
}

Result<Profile> ReadProfile(const ConfigStore& store, const RuleBook& book,
                            const std::string& version) {
  SHARDPLAN_ASSIGN_OR_RETURN(OwnFiles own, ReadOwnFiles(store, book, version));
  const std::string origin = own.documents.empty() ? book.origin() : store.Origin(FileOf(version));
  Profile p;
  p.version = version;
  FieldReader reader(book, *ParseVersion(own.release), {std::move(own.documents), version},
                     &p.sources);
  try {
    ReadRules(reader, &p);
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidInput, origin,
                fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
  if (!reader.problem().empty()) return Fail(ErrorCode::kInvalidInput, origin, reader.problem());
  return p;
}

std::vector<std::string> VersionsIn(const ConfigStore& store, const RuleBook& book) {
  std::vector<std::string> versions = book.releases();
  constexpr std::string_view kPrefix = "engines/vllm/";
  constexpr std::string_view kSuffix = ".yaml";
  for (const std::string& name : store.List(kPrefix)) {
    const std::string_view stem = std::string_view(name).substr(kPrefix.size());
    if (!stem.ends_with(kSuffix)) continue;
    const std::string version(stem.substr(0, stem.size() - kSuffix.size()));
    const bool known = std::find(versions.begin(), versions.end(), version) != versions.end();
    if (ParseVersion(version) && !known) versions.push_back(version);
  }
  std::stable_sort(versions.begin(), versions.end(),
                   [](const std::string& a, const std::string& b) {
                     return *ParseVersion(a) < *ParseVersion(b);
                   });
  return versions;
}

}  // namespace

Range MemoryConstant::At(int64_t tp) const {
  double doublings = 0;
  for (int64_t size = 2; size < tp; size *= 2) doublings += 1;
  return Range(Gibibytes(low).ToBytes(),
               Gibibytes(central + per_doubling_central * doublings).ToBytes(),
               Gibibytes(high + per_doubling_high * doublings).ToBytes());
}

int64_t Profile::CountOf(Evidence evidence) const {
  return std::count_if(sources.begin(), sources.end(),
                       [&](const auto& rule) { return rule.second.evidence == evidence; });
}

std::vector<std::string> ProfileVersions(const ConfigStore& store) {
  const Result<RuleBook> book = RuleBook::Load(store);
  return book ? VersionsIn(store, *book) : std::vector<std::string>();
}

std::optional<Finding> CheckModelVersion(const ConfigStore& store, std::string_view version,
                                         const std::string& architecture) {
  const Result<RuleBook> book = RuleBook::Load(store);
  if (!book) return std::nullopt;  // LoadProfile says why
  const std::optional<RuleBook::Entry> first = book->FirstWith(architecture);
  if (!first) return std::nullopt;
  const std::optional<EngineVersion> since = ParseVersion(first->since);
  const std::optional<EngineVersion> asked =
      ParseVersion(version.empty() ? std::string_view(VersionsIn(store, *book).back()) : version);
  if (!since || !asked || *asked >= *since) return std::nullopt;
  return Finding{
      "engine.model_too_new", Severity::kWarning, architecture,
      fmt::format("vLLM has this model from {} on ({}); {} would not start it", first->since,
                  first->node["source"].as<std::string>("assumed"), Printable(version)),
      fmt::format("--engine vllm@{} or later", first->since)};
}

Result<Profile> LoadProfile(const ConfigStore& store, std::string_view version,
                            std::vector<Finding>* findings) {
  SHARDPLAN_ASSIGN_OR_RETURN(const RuleBook book, RuleBook::Load(store));
  const std::vector<std::string> known = VersionsIn(store, book);
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string best,
                             VersionWithRules("vllm", version, known, findings));
  SHARDPLAN_ASSIGN_OR_RETURN(Profile profile, ReadProfile(store, book, best));
  if (*ParseVersion(best) < kThoroughFrom) {
    findings->push_back(
        {"engine.evidence", Severity::kNote, "vllm@" + best,
         fmt::format("of its {} rules {} were read in the source, {} are seen in "
                     "public logs, {} are assumed",
                     profile.sources.size(), profile.CountOf(Evidence::kSource),
                     profile.CountOf(Evidence::kLog), profile.CountOf(Evidence::kAssumed)),
         ""});
  }
  return profile;
}

}  // namespace shardplan::vllm
