#include "engine/vllm/capture_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

constexpr std::array<std::pair<GraphMode, std::string_view>, 5> kModes = {
    {{GraphMode::kNone, "NONE"},
     {GraphMode::kPiecewise, "PIECEWISE"},
     {GraphMode::kFull, "FULL"},
     {GraphMode::kFullDecodeOnly, "FULL_DECODE_ONLY"},
     {GraphMode::kFullAndPiecewise, "FULL_AND_PIECEWISE"}}};

std::string_view NameOf(GraphSupport support) {
  switch (support) {
    case GraphSupport::kNever:
      return "AttentionCGSupport.NEVER";
    case GraphSupport::kSingleToken:
      return "AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE";
    case GraphSupport::kUniformBatch:
      return "AttentionCGSupport.UNIFORM_BATCH";
    default:
      return "AttentionCGSupport.ALWAYS";
  }
}

// The list without flags: dense below 8, steps of 8 below 256, of 16 from there.
std::vector<int64_t> DefaultSizes(const CaptureRequest& q, int64_t top) {
  std::vector<int64_t> sizes;
  if (q.dense) {
    for (int64_t size = 1; size <= std::min<int64_t>(top, 32); ++size) sizes.push_back(size);
  } else {
    for (const int64_t size : {1, 2, 4}) {
      if (size <= top) sizes.push_back(size);
    }
  }
  for (int64_t size = 8; size < 256 && size <= top; size += 8) sizes.push_back(size);
  for (int64_t size = 256; size <= top; size += q.step) sizes.push_back(size);
  if (q.max_num_batched_tokens <= top) sizes.push_back(q.max_num_batched_tokens);
  return sizes;
}

// Decodes of every number of requests that the list would have, each as long as its guesses, the
// most requests included.
void AddDecodes(const CaptureRequest& q, std::vector<int64_t>* sizes) {
  constexpr int64_t kMost = 512;
  const int64_t query = 1 + q.draft_tokens;
  const int64_t most = std::min(q.max_num_seqs, kMost);
  CaptureRequest requests = q;
  requests.max_num_batched_tokens = most;  // which the list then ends with
  for (const int64_t count : DefaultSizes(requests, most)) {
    if (count * query <= q.max_num_batched_tokens) sizes->push_back(count * query);
  }
}

void SortUnique(std::vector<int64_t>* sizes) {
  std::sort(sizes->begin(), sizes->end());
  sizes->erase(std::unique(sizes->begin(), sizes->end()), sizes->end());
}

}  // namespace

std::string_view ToString(GraphMode mode) {
  for (const auto& [known, name] : kModes) {
    if (known == mode) return name;
  }
  return "";
}

Result<GraphMode> ParseGraphMode(const std::string& name) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const auto& [mode, known] : kModes) {
    if (known == upper) return mode;
  }
  return Fail(ErrorCode::kUsage, "cudagraph_mode " + Printable(name),
              "expected NONE, PIECEWISE, FULL, FULL_DECODE_ONLY or FULL_AND_PIECEWISE");
}

bool HasFullGraphs(GraphMode mode) {
  return mode != GraphMode::kNone && mode != GraphMode::kPiecewise;
}

bool HasPiecewiseGraphs(GraphMode mode) {
  return mode == GraphMode::kPiecewise || mode == GraphMode::kFullAndPiecewise;
}

GraphSupport SupportOf(const Architecture& arch, std::string_view backend, int capability) {
  // Chunked attention builds its metadata anew for every batch.
  if (arch.has_kind(AttentionKind::kChunked)) return GraphSupport::kNever;
  if (backend == "CUTLASS_MLA") return GraphSupport::kSingleToken;
  const bool mla = backend.find("MLA") != std::string_view::npos;
  if (arch.has_state() || mla) return GraphSupport::kUniformBatch;
  if (backend.starts_with("TRITON_ATTN")) return GraphSupport::kAlways;
  // FlashAttention 3, which is Hopper's.
  const bool flash = backend.starts_with("FLASH_ATTN");
  if (flash && capability >= 90 && capability < 100) return GraphSupport::kAlways;
  // FlashInfer decodes more than one token a request with TensorRT-LLM's kernels only.
  if (backend == "FLASHINFER" && capability < 100) return GraphSupport::kSingleToken;
  return GraphSupport::kUniformBatch;
}

ResolvedGraphMode ResolveGraphMode(const GraphModeRequest& q) {
  ResolvedGraphMode out;
  out.mode = q.asked;
  // What has pieces needs the compiler to cut them, or graphs that break by themselves.
  if (HasPiecewiseGraphs(out.mode) && !q.compiled && !q.breakable) {
    out.warning = fmt::format(
        "Cudagraph mode {} is not compatible with this compilation mode. Overriding to NONE.",
        ToString(out.mode));
    out.mode = GraphMode::kNone;
  }
  const auto unsupported = [&] {
    return fmt::format("CUDAGraphMode.{} is not supported with {} backend (support: {})",
                       ToString(out.mode), q.backend, NameOf(q.support));
  };
  if (out.mode == GraphMode::kFull && q.support != GraphSupport::kAlways) {
    if (q.support == GraphSupport::kNever) {
      out.refusal = unsupported() +
                    "; please try cudagraph_mode=PIECEWISE, and make sure compilation mode is "
                    "VLLM_COMPILE";
      return out;
    }
    const GraphMode next = q.compiled ? GraphMode::kFullAndPiecewise : GraphMode::kFullDecodeOnly;
    out.warning = fmt::format("{}; setting cudagraph_mode={}", unsupported(), ToString(next));
    out.mode = next;
  }
  if (HasFullGraphs(out.mode) && q.support == GraphSupport::kNever) {
    const GraphMode next = q.compiled ? GraphMode::kPiecewise : GraphMode::kNone;
    out.warning = fmt::format(
        "{}; setting cudagraph_mode={} because attention is {}compiled "
        "piecewise",
        unsupported(), ToString(next), q.compiled ? "" : "not ");
    out.mode = next;
  }
  const bool decodes = out.mode == GraphMode::kFullAndPiecewise ||
                       out.mode == GraphMode::kFullDecodeOnly || out.mode == GraphMode::kFull;
  if (decodes && q.draft_tokens > 0 && q.support < GraphSupport::kUniformBatch) {
    const GraphMode next = q.compiled ? GraphMode::kPiecewise : GraphMode::kNone;
    out.warning = fmt::format(
        "CUDAGraphMode.{} is not supported with spec-decode for attention backend {} (support: "
        "{}); setting cudagraph_mode={}",
        ToString(out.mode), q.backend, NameOf(q.support), ToString(next));
    out.mode = next;
  }
  return out;
}

CaptureSizes ChooseCaptureSizes(const CaptureRequest& q) {
  CaptureSizes out;
  std::optional<int64_t> asked = q.max_size;
  if (q.model_wants_1024 && !asked && !q.sizes) asked = 1024;
  int64_t top = asked.value_or(std::min(q.max_num_seqs * (1 + q.draft_tokens) * 2, q.ceiling));
  top = std::min(top, q.max_num_batched_tokens);
  if (q.sizes) {
    for (const int64_t size : *q.sizes) {
      if (size <= q.max_num_batched_tokens) out.sizes.push_back(size);
    }
  } else {
    out.sizes = DefaultSizes(q, top);
    if (!asked && q.decodes_by_request && q.draft_tokens > 0) AddDecodes(q, &out.sizes);
  }
  SortUnique(&out.sizes);
  if (q.sequence_parallel > 1) {
    std::erase_if(out.sizes, [&](int64_t size) { return size % q.sequence_parallel != 0; });
  }
  if (q.sizes && out.sizes.size() != q.sizes->size()) {
    out.warnings.push_back(
        fmt::format("cudagraph_capture_sizes specified in compilation_config {} is overridden by "
                    "config {}",
                    *q.sizes, out.sizes));
  }
  if (asked && *asked != out.max()) {
    if (q.sizes) {
      out.refusal = fmt::format(
          "customized max_cudagraph_capture_size(={}) should be consistent with the max value of "
          "cudagraph_capture_sizes(={})",
          *asked, out.max());
    } else {
      out.warnings.push_back(fmt::format("Truncating max_cudagraph_capture_size to {}", out.max()));
    }
  }
  return out;
}

CaptureSizes RoundForDrafts(CaptureSizes list, int64_t draft_tokens, int64_t sequence_parallel) {
  const int64_t query = 1 + draft_tokens;
  const int64_t multiple = std::max(query, sequence_parallel);
  if (multiple % query != 0 || multiple % std::max<int64_t>(sequence_parallel, 1) != 0) {
    list.refusal = fmt::format(
        "Can't determine cudagraph shapes that are both a multiple of {} (num_speculative_tokens "
        "+ 1) required by spec-decode and {} (tensor_parallel_size) required by sequence "
        "parallelism please adjust num_speculative_tokens or disable sequence parallelism",
        query, sequence_parallel);
    return list;
  }
  if (multiple <= 1 || list.sizes.empty()) return list;
  const int64_t top = list.max();
  std::vector<int64_t> rounded;
  for (const int64_t size : list.sizes) {
    if (RoundUp(size, multiple) <= top) rounded.push_back(RoundUp(size, multiple));
  }
  SortUnique(&rounded);
  if (rounded.empty()) {
    list.refusal = fmt::format(
        "No valid cudagraph sizes after rounding to multiple of {} (num_speculative_tokens + 1 or "
        "tp if sequence parallelism is enabled) please adjust num_speculative_tokens ({}) or "
        "max_cudagraph_capture_size ({}) or cudagraph_capture_sizes ({})",
        multiple, draft_tokens, top, list.sizes);
  }
  list.sizes = std::move(rounded);
  return list;
}

GraphCounts CountGraphs(GraphMode mode, const std::vector<int64_t>& sizes, int64_t max_num_seqs,
                        int64_t draft_tokens) {
  GraphCounts counts;
  const auto all = static_cast<int64_t>(sizes.size());
  if (HasPiecewiseGraphs(mode)) counts.piecewise = all;
  if (mode == GraphMode::kFull) {
    counts.full = all;
  } else if (HasFullGraphs(mode)) {
    const int64_t query = 1 + draft_tokens;
    std::vector<int64_t> decodes;
    for (const int64_t size : sizes) {
      if (RoundUp(size, query) <= max_num_seqs * query) decodes.push_back(RoundUp(size, query));
    }
    SortUnique(&decodes);
    counts.full = static_cast<int64_t>(decodes.size());
  }
  return counts;
}

}  // namespace shardplan::vllm
