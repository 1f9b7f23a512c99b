// LoRA: the stacked adapters that vLLM allocates with the model.
//
// With --enable-lora every linear of the language model is wrapped, whether an adapter will ever
// touch it or not, and gets room for `max_loras` adapters of the largest rank at once: A of
// [loras, rank, inputs] and B of [loras, outputs, rank] for each projection of a fused one, of the
// slice that the rank holds (vllm/lora/layers/{base_linear,column_parallel_linear}.py,
// model_manager.py:_create_lora_modules; main of August 2026). The model runner wraps inside the
// measurement of "Model loading took" (gpu_model_runner.py:load_model), before it loads a drafter,
// which stays unwrapped: these bytes are weights.
#ifndef SHARDPLAN_ENGINE_VLLM_LORA_H_
#define SHARDPLAN_ENGINE_VLLM_LORA_H_

#include <vector>

#include "engine/vllm/context.h"
#include "engine/vllm/weights.h"
#include "shardplan/base/finding.h"

namespace shardplan::vllm {

// Errors for ranks and dtypes that vLLM refuses whatever the model, notes for flags without effect.
// Source: vllm/config/lora.py.
std::vector<Finding> CheckLoraFlags(const ParallelSizes& sizes, const EngineSettings& settings);

// The same, and what it refuses of a model.
std::vector<Finding> CheckLora(const Context& context);

// The stacks of a rank of `stage`, by what they wrap: linears, routed experts (assumed: their
// wrapper follows the backend and changed between versions), embedding, head. Empty without
// --enable-lora. `local_experts` as in EvaluateStage.
//
// A is whole on every rank and B sliced with the outputs, but for row-parallel linears, where it is
// the other way round; --fully-sharded-loras divides the rest. Embedding and head are wrapped in
// the classes that name them as embedding modules (Llama, Mistral, Mixtral, Granite), and neither
// is sliced.
std::vector<ExtraBytes> LoraStacks(const Context& context, const StageRange& stage,
                                   int64_t local_experts);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_LORA_H_
