// The batch sizes that SGLang captures graphs for.
#ifndef SHARDPLAN_ENGINE_SGLANG_GRAPH_SIZES_H_
#define SHARDPLAN_ENGINE_SGLANG_GRAPH_SIZES_H_

#include <cstdint>
#include <vector>

namespace shardplan::sglang {

// Requests of decode graphs up to `max_bs`, which is always among them: 36 sizes up to 256, 52 up
// to 512; with speculative decoding 51 and 67.
// Source: server_args.py _generate_cuda_graph_batch_sizes (0bda0b168).
std::vector<int64_t> DecodeGraphSizes(int64_t max_bs, bool speculative);

// Tokens of prefill graphs up to `max_tokens`: 58 sizes up to 8,192, 74 up to 16,384.
// Source: server_args.py _generate_prefill_cuda_graph_batch_sizes (0bda0b168).
std::vector<int64_t> PrefillGraphSizes(int64_t max_tokens);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_GRAPH_SIZES_H_
