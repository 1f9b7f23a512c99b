#include "engine/vllm/resolve_graphs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/vllm/batch_defaults.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

constexpr int64_t kVllmCompile = 3;

// Models whose graphs break at attention by themselves: they run eager Python in between, with
// compilation off (vllm/models/kimi_k3, vllm/models/deepseek_v4; d29f7f5c).
bool HasBreakableGraphs(const Architecture& arch) {
  return IsKimiClass(arch) || !arch.compress_ratio.empty();
}

Status CheckNumbers(const EngineSettings& s) {
  constexpr int64_t kHighest = int64_t{1} << 31;
  if (s.optimization_level && (*s.optimization_level < 0 || *s.optimization_level > 3)) {
    return Fail(ErrorCode::kUsage, fmt::format("--optimization-level {}", *s.optimization_level),
                "expected 0, 1, 2 or 3");
  }
  if (s.max_cudagraph_capture_size &&
      (*s.max_cudagraph_capture_size < 1 || *s.max_cudagraph_capture_size > kHighest)) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--max-cudagraph-capture-size {}", *s.max_cudagraph_capture_size),
                fmt::format("expected a number from 1 to {}", FormatCount(kHighest)));
  }
  if (!s.cudagraph_capture_sizes) return {};
  if (s.cudagraph_capture_sizes->empty()) {
    return Fail(ErrorCode::kUsage, "--cudagraph-capture-sizes", "expected at least one size");
  }
  for (const int64_t size : *s.cudagraph_capture_sizes) {
    if (size < 1 || size > kHighest) {
      return Fail(ErrorCode::kUsage, fmt::format("--cudagraph-capture-sizes {}", size),
                  fmt::format("expected numbers from 1 to {}", FormatCount(kHighest)));
    }
  }
  return {};
}

// Source: vllm/config/vllm.py:OPTIMIZATION_LEVEL_TO_CONFIG (d29f7f5c).
Result<GraphMode> AskedMode(const EngineSettings& s) {
  if (s.enforce_eager) return GraphMode::kNone;
  if (s.cudagraph_mode) return ParseGraphMode(*s.cudagraph_mode);
  const int64_t level = s.optimization_level.value_or(2);
  if (level == 0) return GraphMode::kNone;
  return level == 1 ? GraphMode::kPiecewise : GraphMode::kFullAndPiecewise;
}

// Keys of graphs that a pasted command gives both as a flag and in its --compilation-config.
// Source: vllm/engine/arg_utils.py:create_engine_config (v0.11.1 and later).
std::string GivenTwice(const EngineSettings& s) {
  std::string object;
  for (const GivenFlag& flag : s.command_flags) {
    if (flag.name == "--compilation-config") object = flag.value;
  }
  constexpr std::pair<const char*, const char*> kKeys[] = {
      {"--cudagraph-capture-sizes", "cudagraph_capture_sizes"},
      {"--max-cudagraph-capture-size", "max_cudagraph_capture_size"}};
  for (const auto& [option, key] : kKeys) {
    const bool flag =
        std::any_of(s.command_flags.begin(), s.command_flags.end(),
                    [name = option](const GivenFlag& given) { return given.name == name; });
    if (flag && object.find(fmt::format("\"{}\"", key)) != std::string::npos) return key;
  }
  return "";
}

CaptureSizes SizesFor(const Context& c, const Resolved& r, PerformanceMode performance,
                      GraphMode mode) {
  const EngineSettings& s = c.settings;
  const bool sm10x = c.gpu->capability >= 100 && c.gpu->capability < 120;
  CaptureRequest q;
  q.max_num_seqs = r.max_num_seqs;
  q.max_num_batched_tokens = r.max_num_batched_tokens;
  q.draft_tokens = r.draft_tokens;
  q.step = c.profile->capture_step;
  q.decodes_by_request = c.profile->capture_decodes;
  if (sm10x) q.ceiling = c.profile->capture_cap_sm10x;
  q.dense = performance == PerformanceMode::kInteractivity;
  // vllm/model_executor/models/config.py:GptOssForCausalLMConfig (d29f7f5c).
  q.model_wants_1024 = c.arch->name == "GptOssForCausalLM";
  q.max_size = s.max_cudagraph_capture_size;
  q.sizes = s.cudagraph_capture_sizes;
  if (s.sequence_parallel_pass) q.sequence_parallel = c.sizes.tp;
  CaptureSizes list = ChooseCaptureSizes(q);
  if (list.refusal.empty() && !r.v2_runner && HasFullGraphs(mode) && r.draft_tokens > 0) {
    list = RoundForDrafts(std::move(list), r.draft_tokens, q.sequence_parallel);
  }
  return list;
}

}  // namespace

Status ResolveGraphs(const Context& c, Resolved* r, std::vector<Finding>* findings) {
  const EngineSettings& s = c.settings;
  SHARDPLAN_RETURN_IF_ERROR(CheckNumbers(s));
  const int64_t compilation =
      s.compilation_mode.value_or(s.optimization_level == 0 ? 0 : kVllmCompile);
  const bool breakable = HasBreakableGraphs(*c.arch);
  r->compiled = !s.enforce_eager && compilation == kVllmCompile && !breakable;
  if (!s.compilation_keys_ignored.empty()) {
    findings->push_back({"compilation.ignored", Severity::kNote, "--compilation-config",
                         fmt::format("taken as having no effect on memory: {}",
                                     fmt::join(s.compilation_keys_ignored, ", ")),
                         ""});
  }

  if (const std::string key = GivenTwice(s); !key.empty()) {
    findings->push_back(
        {"graphs.sizes", Severity::kError, "capture sizes",
         fmt::format("{} and compilation_config.{} are mutually exclusive", key, key),
         "leave one of them out"});
  }

  GraphModeRequest q;
  SHARDPLAN_ASSIGN_OR_RETURN(q.asked, AskedMode(s));
  SHARDPLAN_ASSIGN_OR_RETURN(const PerformanceMode performance,
                             ParsePerformanceMode(s.performance_mode));
  q.support = SupportOf(*c.arch, r->attention_backend, c.gpu->capability);
  q.backend = r->attention_backend;
  q.compiled = r->compiled;
  q.breakable = breakable;
  q.draft_tokens = r->draft_tokens;
  const ResolvedGraphMode mode = ResolveGraphMode(q);
  const std::string subject = fmt::format("cudagraph_mode {}", ToString(q.asked));
  if (!mode.refusal.empty()) {
    findings->push_back({"graphs.mode", Severity::kError, subject, mode.refusal,
                         "--compilation-config '{\"cudagraph_mode\":\"PIECEWISE\"}'"});
    return {};
  }
  if (!mode.warning.empty()) {
    findings->push_back({"graphs.mode", s.cudagraph_mode ? Severity::kWarning : Severity::kNote,
                         subject, "vLLM would say: " + mode.warning, ""});
  }
  r->graph_mode = mode.mode;
  if (r->graph_mode == GraphMode::kNone) return {};

  CaptureSizes list = SizesFor(c, *r, performance, r->graph_mode);
  for (const std::string& warning : list.warnings) {
    findings->push_back(
        {"graphs.sizes", Severity::kWarning, "capture sizes", "vLLM would say: " + warning, ""});
  }
  if (!list.refusal.empty()) {
    findings->push_back({"graphs.sizes", Severity::kError, "capture sizes", list.refusal, ""});
    return {};
  }
  r->capture_sizes = std::move(list.sizes);
  r->graphs = CountGraphs(r->graph_mode, r->capture_sizes, r->max_num_seqs, r->draft_tokens);
  return {};
}

}  // namespace shardplan::vllm
