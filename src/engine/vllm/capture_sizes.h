// Which CUDA graphs are captured: the mode and the batch sizes.
#ifndef SHARDPLAN_ENGINE_VLLM_CAPTURE_SIZES_H_
#define SHARDPLAN_ENGINE_VLLM_CAPTURE_SIZES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/model/architecture.h"

namespace shardplan::vllm {

// What runs as a graph: batches of decodes alone, and mixed ones.
enum class GraphMode {
  kNone,
  kPiecewise,         // everything between the attention layers, for any batch
  kFull,              // the whole forward, for any batch
  kFullDecodeOnly,    // the whole forward, decodes alone
  kFullAndPiecewise,  // the whole forward for decodes, pieces for mixed batches
};

std::string_view ToString(GraphMode mode);  // "FULL_AND_PIECEWISE", …
// A name in any case. Fails with kUsage for others.
Result<GraphMode> ParseGraphMode(const std::string& name);
// Whether any full graph is captured; only these hold one state block a sequence.
bool HasFullGraphs(GraphMode mode);
bool HasPiecewiseGraphs(GraphMode mode);

// What the weakest attention backend of a model can capture.
enum class GraphSupport { kNever, kSingleToken, kUniformBatch, kAlways };

// Source: the backends' _cudagraph_support (v1/attention/backends, d29f7f5c), as its own functions
// report them for SM 9.0 and 10.0.
GraphSupport SupportOf(const Architecture& arch, std::string_view backend, int capability);

struct GraphModeRequest {
  GraphMode asked = GraphMode::kFullAndPiecewise;
  GraphSupport support = GraphSupport::kAlways;
  std::string backend;     // for texts
  bool compiled = true;    // attention is where the compiler splits
  bool breakable = false;  // graphs that break at attention, without a compiler
  int64_t draft_tokens = 0;
};

// The mode that the backend leaves, with what vLLM says about it; `refusal` where it does not
// start. Source: vllm/config/compilation.py:resolve_cudagraph_mode_and_sizes (d29f7f5c).
struct ResolvedGraphMode {
  GraphMode mode = GraphMode::kNone;
  std::string warning;
  std::string refusal;
};
ResolvedGraphMode ResolveGraphMode(const GraphModeRequest& request);

struct CaptureRequest {
  int64_t max_num_seqs = 0;
  int64_t max_num_batched_tokens = 0;
  int64_t draft_tokens = 0;
  int64_t ceiling = 512;                      // of the default list: 1,024 on some cards
  int64_t step = 16;                          // between sizes from 256 on; 8 in old versions
  bool dense = false;                         // every size up to 32: the interactivity mode
  bool model_wants_1024 = false;              // gpt-oss sets the maximum itself where no flag does
  std::optional<int64_t> max_size;            // --max-cudagraph-capture-size
  std::optional<std::vector<int64_t>> sizes;  // --cudagraph-capture-sizes
  int64_t sequence_parallel = 1;              // only multiples of it
  // The default list has decodes of every number of requests besides, as long as their guesses.
  bool decodes_by_request = false;
};

struct CaptureSizes {
  std::vector<int64_t> sizes;  // ascending; empty: nothing is captured
  std::vector<std::string> warnings;
  std::string refusal;

  int64_t max() const { return sizes.empty() ? 0 : sizes.back(); }
};

// Source: vllm/config/vllm.py:_set_cudagraph_sizes (d29f7f5c; decodes by request: #50488). Of the
// later rule the largest size is known, sequences × (1 + drafts) up to 512 sequences; that the
// numbers of requests are spaced as the tokens are is assumed.
CaptureSizes ChooseCaptureSizes(const CaptureRequest& request);

// The sizes after the first runner has made every decode as long as its guesses: multiples of
// 1 + draft_tokens. Fails (`refusal`) where none is left.
// Source: vllm/config/compilation.py:adjust_cudagraph_sizes_for_spec_decode (d29f7f5c).
CaptureSizes RoundForDrafts(CaptureSizes list, int64_t draft_tokens, int64_t sequence_parallel);

// Graphs of each kind that are captured. Full ones of decodes alone are as long as their guesses,
// where the list is not, and stop at the most sequences there can be.
// Source: vllm/v1/cudagraph_dispatcher.py (d29f7f5c); of the second runner a public trace of four
// sequences and two guesses, which keeps 3, 6 and 9 of 1 to 24 and drops 18 and 24 (before #50488).
struct GraphCounts {
  int64_t piecewise = 0;
  int64_t full = 0;
};
GraphCounts CountGraphs(GraphMode mode, const std::vector<int64_t>& sizes, int64_t max_num_seqs,
                        int64_t draft_tokens);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_CAPTURE_SIZES_H_
