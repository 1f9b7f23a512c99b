// The pool of recurrent states that SGLang cuts from the KV pool of hybrid models.
#ifndef SHARDPLAN_ENGINE_SGLANG_STATE_POOL_H_
#define SHARDPLAN_ENGINE_SGLANG_STATE_POOL_H_

#include <cstdint>

#include "engine/sglang/context.h"
#include "shardplan/base/bytes.h"

namespace shardplan::sglang {

// One slot: the states of one sequence in the layers of a stage.
struct StateSlot {
  Bytes convolution;
  Bytes recurrent;
  Bytes ring;  // of --enable-linear-replayssm-spec, beside them
  int64_t layers = 0;

  Bytes states() const { return convolution + recurrent; }
  Bytes bytes() const { return states() + ring; }
};

// The slot that sizes the pool. States are divided by the attention TP (Kimi-Linear's by the whole
// TP). With several stages it is the one of the stage with most state layers, or, in releases
// before 0.5.17, that of all layers.
// Source: configs/mamba_utils.py (0bda0b168).
StateSlot SlotOf(const Context& context, const std::vector<StageRange>& stages);

// What a rank of one stage allocates for a slot: the states of its own layers.
StateSlot SlotOfStage(const Context& context, const StageRange& stage);

// Slots that a running request holds: its own and what the prefix cache keeps of it.
// Source: kv_cache_configurator.py _calculate_mamba_ratio (0bda0b168).
int64_t SlotsPerRequest(const Context& context);

// The strategy that "auto" stands for, or the one that was asked for.
StateStrategy ResolveStrategy(const Context& context);

struct StatePool {
  int64_t slots = 0;
  int64_t slots_per_request = 1;
  int64_t requests = 0;    // slots ÷ slots_per_request
  double pool_gib = 0;     // slots and the padding slot
  double scratch_gib = 0;  // intermediate states of drafted tokens
  double rest_gib = 0;     // what is left for tokens
  double asked_gib = 0;    // what the ratio meant for states; 0 where a count was given
};

// Splits `rest_gib`, all that is left after weights and slack. GiB as SGLang counts: in floating
// point. `running` is --max-running-requests with its default; 0: none.
// Source: kv_cache_configurator.py _handle_max_mamba_cache (0bda0b168).
StatePool SizeStatePool(const Context& context, const StateSlot& slot, double rest_gib,
                        int64_t running);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_STATE_POOL_H_
