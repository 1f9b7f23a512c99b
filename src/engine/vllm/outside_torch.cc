#include "engine/vllm/outside_torch.h"

#include <algorithm>

#include "shardplan/base/units.h"

namespace shardplan::vllm {

OutsideTorch ComputeOutsideTorch(const Context& c) {
  const Profile& p = *c.profile;
  OutsideTorch out;
  out.library = p.library_modules.At(1);
  out.library_source = "library modules and cuBLAS: " + p.library_modules.source;
  const bool is_10x = c.gpu->capability >= 100 && c.gpu->capability < 120;
  if (c.resolved.moe_backend == "flashinfer_trtllm" && is_10x) {
    out.library += p.trtllm_moe_runtime.At(1);
    out.library_source += "; TRT-LLM MoE runtime: " + p.trtllm_moe_runtime.source;
  }
  const int64_t tp = c.sizes.tp;
  if (tp == 1) return out;
  const bool hopper = c.gpu->capability >= 90;
  const MemoryConstant& nccl = !hopper ? p.nccl_growth_older
                               : c.settings.disable_custom_all_reduce && tp >= 4
                                   ? p.nccl_without_custom_all_reduce
                                   : p.nccl_growth_hopper;
  out.communication = nccl.At(tp);
  out.communication_source = "NCCL connection buffers: " + nccl.source;
  if (c.tp_spans_nodes) {
    out.communication.high += Gibibytes(p.nccl_across_nodes_high).ToBytes();
  }
  // All-reduce fusion keeps four buffers a rank of one capped message
  // (compilation/passes/fusion/allreduce_rms_fusion.py; the factor is assumed).
  int64_t cap = 0;  // in KiB
  if (c.gpu->capability == 90) cap = tp == 2 ? 65536 : tp == 4 ? 2048 : tp == 8 ? 512 : 0;
  if (is_10x) cap = tp == 2 ? 65536 : tp == 4 ? 32768 : tp == 8 ? 1024 : 0;
  if (cap > 0 && c.resolved.compiled && p.allreduce_fusion) {
    const int64_t row = 2 * c.arch->hidden;
    const int64_t tokens = std::min(cap * kKiB / row, c.resolved.max_num_batched_tokens);
    const Bytes fusion(4 * tp * tokens * row);
    out.communication += Range(Bytes(), fusion, fusion);
  }
  return out;
}

GraphReserve ComputeGraphReserve(const Context& c, int64_t stage) {
  GraphReserve reserve;
  const Resolved& r = c.resolved;
  if (r.capture_sizes.empty()) return reserve;
  reserve.piecewise = r.graphs.piecewise;
  reserve.full = r.graphs.full;
  // Bytes of one captured graph, fitted on public logs: 0.18 MiB a layer on one GPU, 6 MiB and
  // 0.17 MiB a layer on several.
  const int64_t layers = c.stages[static_cast<size_t>(stage)].count;
  const int64_t one =
      c.sizes.tp == 1 ? layers * 18 * kMiB / 100 : 6 * kMiB + layers * 17 * kMiB / 100;
  const int64_t all = one * (reserve.piecewise + reserve.full);
  reserve.pool = Range(Bytes(all / 2), Bytes(all), Bytes(all * 3 / 2));
  // The second runner's estimate came late; the first one's could be asked for before it was the
  // default, and can be switched off.
  const bool has_one = c.profile->graph_estimate == GraphEstimate::kAlways || !r.v2_runner;
  const bool by_default = c.profile->graph_estimate != GraphEstimate::kNever;
  if (!has_one || !c.settings.estimate_graphs.value_or(by_default)) return reserve;
  reserve.deducted = true;
  reserve.reserved = reserve.pool;
  if (r.v2_runner) {
    // The late estimator keeps the segments of its throwaway pool.
    const Range base = c.profile->graph_estimate_base.At(1);
    reserve.reserved = base + Range(Bytes(all * 3 / 10), Bytes(all), Bytes(all));
  }
  return reserve;
}

}  // namespace shardplan::vllm
