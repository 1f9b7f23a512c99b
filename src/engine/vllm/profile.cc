#include "engine/vllm/profile.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

using Version = std::array<int64_t, 3>;

// "0.31.0", "0.31", "v0.31.1rc1.dev50": the leading numbers count.
std::optional<Version> ParseVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  Version version = {0, 0, 0};
  for (size_t i = 0; i < version.size(); ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version[i]);
    if (error != std::errc()) return i == 0 ? std::nullopt : std::optional(version);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.starts_with('.')) return version;
    text.remove_prefix(1);
  }
  return version;
}

// A profile file with those it inherits from, as a stack of documents: the first that has a key
// wins.
class ProfileFiles {
 public:
  static Result<ProfileFiles> Load(const ConfigStore& store, std::string version) {
    ProfileFiles files;
    for (int depth = 0; !version.empty(); ++depth) {
      const std::string name = "engines/vllm/" + version + ".yaml";
      if (depth == 8) {
        return Fail(ErrorCode::kInvalidInput, store.Origin(name), "profiles inherit in a circle");
      }
      SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view text, store.Get(name));
      try {
        YAML::Node document = YAML::Load(std::string(text));
        if (!document.IsMap()) {
          return Fail(ErrorCode::kInvalidInput, store.Origin(name), "expected a YAML mapping");
        }
        version = document["inherits"] ? document["inherits"].as<std::string>() : "";
        files.documents_.push_back(document);
      } catch (const YAML::Exception& error) {
        return Fail(ErrorCode::kInvalidInput, store.Origin(name),
                    fmt::format("line {}: {}", error.mark.line + 1, error.msg));
      }
    }
    return files;
  }

  // The node for section.key, from the nearest file that has it; undefined when none does.
  YAML::Node Find(const char* section, const std::string& key) const {
    for (const YAML::Node& document : documents_) {
      const YAML::Node found = document[section];
      if (found && found.IsMap() && found[key]) return found[key];
    }
    return YAML::Node(YAML::NodeType::Undefined);
  }

 private:
  std::vector<YAML::Node> documents_;
};

// Reads fields and keeps the first problem.
class FieldReader {
 public:
  FieldReader(const ProfileFiles& files, Profile* profile) : files_(files), profile_(*profile) {}

  template <typename T>
  void Rule(const char* key, T* out) {
    const YAML::Node node = files_.Find("rules", key);
    if (!node || !node.IsMap() || !node["value"] || !node["source"]) {
      return Problem(key, "expected {value, source}");
    }
    *out = node["value"].as<T>();
    profile_.sources[key] = node["source"].as<std::string>();
  }

  template <typename T>
  void Choice(const char* key, const std::map<std::string, T>& choices, T* out) {
    std::string name;
    Rule(key, &name);
    const auto it = choices.find(name);
    if (it == choices.end()) return Problem(key, "unknown value '" + name + "'");
    *out = it->second;
  }

  void Memory(const char* key, MemoryConstant* out) {
    const YAML::Node node = files_.Find("memory", key);
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
    const YAML::Node node = files_.Find("memory", key);
    if (!node || !node["gib"]) {
      Problem(key, "expected {gib, source}");
      return 0;
    }
    return node["gib"].as<double>();
  }

  const std::string& problem() const { return problem_; }

 private:
  void Problem(const char* key, const std::string& what) {
    if (problem_.empty()) problem_ = std::string(key) + ": " + what;
  }

  const ProfileFiles& files_;
  Profile& profile_;
  std::string problem_;
};

Result<Profile> ReadProfile(const ConfigStore& store, const std::string& version) {
  SHARDPLAN_ASSIGN_OR_RETURN(const ProfileFiles files, ProfileFiles::Load(store, version));
  Profile p;
  p.version = version;
  FieldReader r(files, &p);
  const std::string origin = store.Origin("engines/vllm/" + version + ".yaml");
  try {
    r.Rule("gpu_memory_utilization", &p.gpu_memory_utilization);
    r.Choice<GraphEstimate>("graph_estimate_deducted",
                            {{"always", GraphEstimate::kAlways},
                             {"v1_only", GraphEstimate::kV1Only},
                             {"never", GraphEstimate::kNever}},
                            &p.graph_estimate);
    r.Rule("null_block_reserved", &p.null_block_reserved);
    r.Rule("mla_hybrid_min_block", &p.mla_hybrid_min_block);
    r.Rule("prefill_checkpoint_blocks", &p.prefill_checkpoint_blocks);
    r.Rule("compressed_cache_is_fp8", &p.compressed_cache_is_fp8);
    r.Choice<PaddingOver>("expert_padding_over",
                          {{"tp", PaddingOver::kTp}, {"dp_tp", PaddingOver::kDpTp}},
                          &p.expert_padding_over);
    r.Rule("expert_padding_min", &p.expert_padding_min);
    r.Choice<V2Runner>("v2_runner",
                       {{"all", V2Runner::kAll}, {"dense_and_listed", V2Runner::kDenseAndListed}},
                       &p.v2_runner);
    r.Rule("allocator_rounding", &p.allocator_rounding);
    r.Rule("vocabulary_multiple", &p.vocabulary_multiple);
    r.Rule("large_card_gib", &p.large_card_gib);
    r.Rule("capture_cap_sm10x", &p.capture_cap_sm10x);
    r.Memory("library_modules", &p.library_modules);
    r.Memory("nccl_growth_hopper", &p.nccl_growth_hopper);
    r.Memory("nccl_growth_older", &p.nccl_growth_older);
    r.Memory("nccl_group", &p.nccl_group);
    r.Memory("trtllm_moe_runtime", &p.trtllm_moe_runtime);
    r.Memory("graph_estimate_base", &p.graph_estimate_base);
    p.nccl_across_nodes_high = r.Gib("nccl_across_nodes_high");
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidInput, origin,
                fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
  if (!r.problem().empty()) return Fail(ErrorCode::kInvalidInput, origin, r.problem());
  return p;
}

}  // namespace

Range MemoryConstant::At(int64_t tp) const {
  double doublings = 0;
  for (int64_t size = 2; size < tp; size *= 2) doublings += 1;
  return Range(Gibibytes(low).ToBytes(),
               Gibibytes(central + per_doubling_central * doublings).ToBytes(),
               Gibibytes(high + per_doubling_high * doublings).ToBytes());
}

std::vector<std::string> ProfileVersions(const ConfigStore& store) {
  std::vector<std::string> versions;
  constexpr std::string_view kPrefix = "engines/vllm/";
  constexpr std::string_view kSuffix = ".yaml";
  for (const std::string& name : store.List(kPrefix)) {
    const std::string_view stem = std::string_view(name).substr(kPrefix.size());
    if (!stem.ends_with(kSuffix)) continue;
    const std::string version(stem.substr(0, stem.size() - kSuffix.size()));
    if (ParseVersion(version)) versions.push_back(version);
  }
  std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) {
    return *ParseVersion(a) < *ParseVersion(b);
  });
  return versions;
}

Result<Profile> LoadProfile(const ConfigStore& store, std::string_view version,
                            std::vector<Finding>* findings) {
  const std::vector<std::string> known = ProfileVersions(store);
  if (known.empty()) {
    return Fail(ErrorCode::kInvalidInput, "engines/vllm", "there is no profile in the catalogue");
  }
  if (version.empty()) return ReadProfile(store, known.back());
  const std::optional<Version> wanted = ParseVersion(version);
  if (!wanted) {
    return Fail(ErrorCode::kUsage, fmt::format("vllm@{}", Printable(version)),
                "expected a version such as " + known.back());
  }
  const std::string* best = nullptr;
  for (const std::string& candidate : known) {
    if (*ParseVersion(candidate) <= *wanted) best = &candidate;
  }
  if (!best) {
    return Fail(ErrorCode::kUnsupported, fmt::format("vllm@{}", Printable(version)),
                fmt::format("profiles reach from {} to {}", known.front(), known.back()));
  }
  if (*ParseVersion(*best) != *wanted) {
    const bool newer = best == &known.back();
    findings->push_back({"engine.version", Severity::kWarning,
                         fmt::format("vllm@{}", Printable(version)),
                         fmt::format("{} profile for this version; the one of {} is used",
                                     newer ? "newer than every" : "no", *best),
                         ""});
  }
  return ReadProfile(store, *best);
}

}  // namespace shardplan::vllm
