// What one token costs in SGLang's KV pool.
#ifndef SHARDPLAN_ENGINE_SGLANG_CELL_H_
#define SHARDPLAN_ENGINE_SGLANG_CELL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/sglang/context.h"
#include "engine/sglang/defaults.h"
#include "shardplan/base/bytes.h"
#include "shardplan/layout/layout.h"

namespace shardplan::sglang {

// As the pool stores keys and values.
struct KvFormat {
  std::string name;         // "bfloat16", "fp8_e4m3", …
  int64_t bits = 16;        // of one value
  int64_t scale_block = 0;  // values that share a scale of one byte; 0: no scales
  bool raw_latent = false;  // of a DSA model: FP8 without scales (TensorRT-LLM's layout)
};

// --kv-cache-dtype for this model and card: "auto" is the model's own, FP8 for sparse attention on
// data-centre Blackwell. Fails with kUsage for a name SGLang does not know.
Result<KvFormat> ResolveKvFormat(const Context& context, std::string_view attention_backend);

// The cell of one stage, on every rank of it.
struct TokenCell {
  Bytes full;    // a token in all layers that keep every token, draft layers included
  Bytes window;  // a token in all layers that keep a window
  int64_t full_layers = 0;
  int64_t window_layers = 0;
  // Bytes per token of max_total_num_tokens: full + ratio × window, or the window's alone where no
  // layer keeps every token; zero where the stage caches nothing. A draft scales it.
  double bytes = 0;
  double draft = 0;  // of them: a draft's
  std::string rule;  // "8 of 8 KV heads × (128 + 128) × 36 layers × 2 B"
};

// Source: model_executor/pool_configurator.py (0bda0b168). MHA divides by the attention TP (times
// DCP), MLA by nothing; layers that keep a state cost no tokens.
TokenCell CellOf(const Context& context, const KvFormat& format, const StageRange& stage);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_CELL_H_
