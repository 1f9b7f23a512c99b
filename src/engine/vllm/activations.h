// The activation peak of vLLM's profile run, phase by phase, from tensor shapes.
#ifndef SHARDPLAN_ENGINE_VLLM_ACTIVATIONS_H_
#define SHARDPLAN_ENGINE_VLLM_ACTIVATIONS_H_

#include <string>
#include <vector>

#include "engine/vllm/context.h"
#include "shardplan/base/basis.h"

namespace shardplan::vllm {

// One phase of the profile run and what it has live at once. Phases do not add: the largest binds.
struct Phase {
  std::string name;  // "moe_combine"
  Bytes bytes;       // without the fixed pieces
  std::string flag;  // the option that makes it smaller
};

struct ActivationPeak {
  Range bytes;                // fixed + the binding phase
  std::string binding;        // name of the binding phase
  std::string flag;           // what makes it smaller
  Bytes per_token;            // (peak − constants) ÷ batched tokens, where a forward phase binds
  std::vector<Phase> phases;  // all of them, for explanations
  // Pieces that every phase has: cuBLAS workspace, pipeline inputs, the bank of attention
  // residuals, encoder outputs, embedded inputs of multimodal models.
  Bytes blas_workspace, pipeline_inputs, residual_bank, encoder_outputs, input_embeddings;
  Bytes moe_workspace;
};

// `stage` is an index into context.stages. The formulas stand in docs/accounting.md; they were
// derived from vLLM's source (main, August 2026: gpu_worker.py, fused_moe/modular_kernel.py,
// v1/sample) and agree with public start-up logs to a median of 3 %.
ActivationPeak ComputeActivations(const Context& context, int64_t stage);

// What grows outside torch between the baseline and the end of the profile run.
struct OutsideTorch {
  Range library;        // modules, cuBLAS, kernel libraries' own workspaces
  Range communication;  // connection buffers and lazily made communicators
  std::string library_source;
  std::string communication_source;
};
OutsideTorch ComputeOutsideTorch(const Context& context);

// What the engine sets aside for CUDA graphs on a stage: zero with --enforce-eager.
struct GraphReserve {
  bool deducted = false;  // by this version and runner, or as VLLM_MEMORY_PROFILER_… says
  Range reserved;         // deducted from the budget; zero where it is not
  Range pool;             // what the captured graphs really hold
  int64_t piecewise = 0;
  int64_t full = 0;
};
GraphReserve ComputeGraphReserve(const Context& context, int64_t stage);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_ACTIVATIONS_H_
