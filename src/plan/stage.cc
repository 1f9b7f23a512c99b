#include "plan/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/vllm/all2all.h"
#include "engine/vllm/eplb.h"
#include "engine/vllm/kv_transfer.h"
#include "engine/vllm/lora.h"
#include "engine/vllm/prefetch.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Ranks of each communicator that is made before the baseline: world, and every group of more than
// one rank; a model with experts has a group for them, whether or not it is used.
// Source: vllm/distributed/parallel_state.py:initialize_model_parallel (d29f7f5c).
std::vector<int64_t> BaselineGroups(const ParallelSizes& sizes, bool experts) {
  std::vector<int64_t> groups = {sizes.world(), sizes.tp, sizes.pp, sizes.dp};
  if (experts) groups.push_back(sizes.expert_ranks());
  std::erase_if(groups, [](int64_t ranks) { return ranks < 2; });
  return groups;
}

// One row for an account on each side of the budget: what joins it becomes a part.
void Claim(Entry entry, std::vector<Entry>* entries) {
  const auto it = std::find_if(entries->begin(), entries->end(), [&](const Entry& other) {
    return other.account == entry.account && other.in_budget == entry.in_budget;
  });
  if (it == entries->end()) {
    entries->push_back(std::move(entry));
    return;
  }
  if (it->parts.empty()) it->parts.push_back({it->source, "", it->bytes.central});
  if (entry.parts.empty()) entry.parts.push_back({entry.source, "", entry.bytes.central});
  it->parts.insert(it->parts.end(), entry.parts.begin(), entry.parts.end());
  it->bytes += entry.bytes;
  it->basis = Softer(it->basis, entry.basis);
  it->source += "; " + entry.source;
}

// What only exists once attention metadata does, and what the real sampler takes beyond the dummy
// one: allocated after the KV cache was sized, so never counted by the engine.
// `counted` is the peak that the profile run saw.
Entry UnprofiledWorkspace(const vllm::Context& c, bool last_stage, const StageRange& stage,
                          Bytes counted) {
  const vllm::Resolved& r = c.resolved;
  const Architecture& a = *c.arch;
  Range bytes;
  std::string source;
  std::vector<Part> parts;
  auto add = [&](Range more, std::string why, std::string rule) {
    bytes += more;
    source += (source.empty() ? "" : "; ") + why;
    parts.push_back({std::move(why), std::move(rule), more.central});
  };
  if (a.CountKind(AttentionKind::kKda, stage.first, stage.count) > 0) {
    // FlashKDA: one bf16 output and fp32 states for the running requests, once more for prefill
    // checkpoints. Source: vllm/models/kimi_k3 (d29f7f5c; later versions double the states).
    const int64_t heads = a.kda.heads / c.sizes.tp;
    const int64_t tokens = r.max_num_batched_tokens * heads * a.kda.head_dim * 2;
    const int64_t states = r.max_num_seqs * heads * a.kda.head_dim * a.kda.head_dim * 4;
    const Bytes scratch(25 * kMiB);
    add(Range(Bytes(tokens + states) + scratch, Bytes(tokens + 2 * states) + scratch,
              Bytes(4 * tokens + 2 * states) + scratch),
        "FlashKDA workspace and prefill temporaries",
        c.Say("{} tokens × {} heads × {} × 2 B + 2 × {} requests × {} heads × {}² × 4 B + 25 "
              "MiB",
              r.max_num_batched_tokens, heads, a.kda.head_dim, r.max_num_seqs, heads,
              a.kda.head_dim));
  }
  if (a.CountKind(AttentionKind::kMla, stage.first, stage.count) > 0 && a.indexer.heads == 0) {
    // Chunked-prefill workspace: min(max(8·L, 4·seqs·block), 65,536) rows of the latent. Sparse
    // attention has none.
    const int64_t wanted = std::max(8 * r.max_model_len, 4 * r.max_num_seqs * r.block_size);
    const int64_t rows = RoundUp(std::min<int64_t>(wanted, 65'536), r.block_size);
    add(Range(Bytes(rows * a.mla.latent_width() * 2)), "MLA chunked-prefill workspace",
        c.Say("{} rows × {} × 2 B", FormatCount(rows), a.mla.latent_width()));
  }
  if (const Range received = vllm::KvTransferBuffer(c); received.high > Bytes()) {
    add(received, "blocks that the KV connector received", "up to kv_buffer_size");
  }
  if (last_stage) {
    const Range more = vllm::VerificationBeyond(c, counted);
    if (more.high > Bytes()) {
      add(more, "verifying guesses beyond the profiled peak",
          c.Say("{} rows × {} logits × 4 B, 1.5 to 4 copies", FormatCount(vllm::VerifiedRows(c)),
                FormatCount(a.vocabulary)));
    }
  }
  if (last_stage && r.v2_runner) {
    const int64_t logits = std::min(r.max_num_seqs, r.max_num_batched_tokens) * a.vocabulary * 4;
    add(Range(Bytes(), Bytes(logits), Bytes(2 * logits)), "sampler filters beyond the dummy call",
        c.Say("{} requests × {} logits × 4 B", r.max_num_seqs, FormatCount(a.vocabulary)));
  }
  return {Account::kWorkspace, false, bytes, Basis::kAssumed, source.empty() ? "none" : source,
          std::move(parts)};
}

// The fixed pieces and the phase that binds: they sum to the peak.
std::vector<Part> ActivationParts(const vllm::ActivationPeak& peak, bool figures_only) {
  if (figures_only) return {};
  std::vector<Part> parts = {
      {"cuBLAS workspace", "in torch's pool", peak.blas_workspace},
      {"pipeline inputs", "buffers a later stage receives into", peak.pipeline_inputs},
      {"attention-residual bank", "one bf16 row per block of layers and token", peak.residual_bank},
      {"encoder outputs", "kept while the language model runs", peak.encoder_outputs},
      {"embedded inputs", "persistent, of multimodal models", peak.input_embeddings}};
  std::erase_if(parts, [](const Part& part) { return part.bytes == Bytes(); });
  for (const vllm::Phase& phase : peak.phases) {
    if (phase.name != peak.binding) continue;
    for (const vllm::Phase::Term& term : phase.terms) {
      parts.push_back({fmt::format("{}: {}", phase.name, term.name), term.rule, term.bytes});
    }
  }
  return parts;
}

Bytes VideoReserve(const vllm::Context& c) {
  return Gibibytes(c.settings.mm_ipc_gpu_memory_gb).ToBytes();
}

Bytes Total(const std::vector<vllm::ExtraBytes>& extras) {
  Bytes sum;
  for (const vllm::ExtraBytes& extra : extras) sum += extra.bytes;
  return sum;
}

// A rank that holds `local_experts` of them: the first where it has one that is left over, else the
// last.
int64_t LeftoverRank(const vllm::Context& c, int64_t local_experts) {
  const int64_t ep = c.sizes.ep();
  return local_experts > c.arch->moe.experts / ep ? 0 : ep - 1;
}

// Of one end of what is guessed; buffers are the same at both.
Bytes ResidentAt(const vllm::Context& c, const DeviceWeights& weights, int64_t stage,
                 Bytes buffers) {
  const StageRange& range = c.stages[static_cast<size_t>(stage)];
  Bytes bytes = weights.StageBytes(range, stage == 0, stage + 1 == c.sizes.pp) + buffers +
                Total(vllm::PostLoad(c, range, weights));
  return bytes - vllm::WalkOffload(weights, range, c.settings).bytes;
}

}  // namespace

Bytes RequestedBytes(Bytes cuda_total, double utilization) {
  return Bytes(
      static_cast<int64_t>(std::ceil(static_cast<double>(cuda_total.count()) * utilization)));
}

StageEvaluation EvaluateStage(const Prepared& prepared, const Model& model,
                              const DeviceWeights& weights, int64_t stage, int64_t local_experts,
                              const GuessedWeights* ends) {
  const vllm::Context& c = prepared.context;
  const StageRange& range = c.stages[static_cast<size_t>(stage)];
  const bool last = stage + 1 == c.sizes.pp;
  StageEvaluation e;

  e.detail.parameters = weights.StageBytes(range, stage == 0, last);
  const Bytes buffers = Total(vllm::Buffers(c, range, local_experts));
  e.detail.buffers = buffers;
  Bytes assumed;  // of the weights
  for (const vllm::ExtraBytes& stack : vllm::LoraStacks(c, range, local_experts)) {
    e.detail.buffers += stack.bytes;
    if (stack.basis == Basis::kAssumed) assumed += stack.bytes;
  }
  e.detail.post_load = Total(vllm::PostLoad(c, range, weights));
  e.detail.rounding = vllm::AllocatorRounding(c, range, weights);
  e.offload = vllm::WalkOffload(weights, range, c.settings);
  if (last && c.draft) {
    // Experts left over by an uneven split go to the first ranks.
    const vllm::DraftOnRank draft = PlaceDraft(c, LeftoverRank(c, local_experts));
    e.draft = draft.Resident();
    e.detail.parameters += draft.parameters;
    e.detail.buffers += Total(draft.buffers);
    e.detail.post_load += Total(draft.post_load);
    e.detail.rounding += draft.rounding;
  }
  e.resident = e.detail.parameters + e.detail.buffers + e.detail.post_load + e.detail.rounding -
               e.offload.bytes;
  e.weights = Range(e.resident - assumed, e.resident, e.resident);
  if (ends) {  // offload ends with a whole parameter, which may turn two ends around
    e.weights.low = std::min(e.resident, ResidentAt(c, ends->finest, stage, buffers) + e.draft);
    e.weights.high = std::max(e.resident, ResidentAt(c, ends->whole, stage, buffers) + e.draft);
  }
  e.activation = vllm::ComputeActivations(c, stage);
  e.graphs = vllm::ComputeGraphReserve(c, stage);
  const vllm::OutsideTorch outside = vllm::ComputeOutsideTorch(c);

  auto add = [&](Account account, bool in_budget, Range bytes, Basis basis, std::string source,
                 std::vector<Part> parts = {}) {
    if (bytes.high == Bytes() && bytes.low == Bytes()) return;
    Claim({account, in_budget, bytes, basis, std::move(source), std::move(parts)}, &e.entries);
  };
  const GpuSpec& gpu = *c.gpu;
  const Bytes capacity = gpu.cuda_visible.bytes.central;
  const Bytes device_total = gpu.device_total.bytes.central;
  // Only what CUDA sees is uncertain; the total is nvidia-smi's.
  add(Account::kDriverReserved, false,
      Range(device_total - gpu.cuda_visible.bytes.high, device_total - capacity,
            device_total - gpu.cuda_visible.bytes.low),
      gpu.cuda_visible.basis, gpu.cuda_visible.source);
  add(Account::kInUseByOthers, false, Range(prepared.deployment.gpu_memory_in_use),
      Basis::kMeasured, "--gpu-memory-in-use");
  add(Account::kCudaContext, false, gpu.context.bytes, gpu.context.basis, gpu.context.source);
  const std::vector<int64_t> groups = BaselineGroups(c.sizes, c.arch->moe.experts > 0);
  const vllm::MemoryConstant& group =
      gpu.nvlink_gb_per_s > 0 ? c.profile->nccl_group : c.profile->nccl_group_without_nvlink;
  Range communicators;
  // Nothing was measured of more than four ranks.
  for (const int64_t ranks : groups) communicators += group.At(std::min<int64_t>(ranks, 4));
  add(Account::kCommunication, false, communicators, Basis::kAssumed,
      c.Say("{} NCCL communicators made before the baseline: {}", groups.size(), group.source));
  const Basis exact = model.shape_basis;
  const Basis least = model.guesses ? Basis::kAssumed : Basis::kExact;
  add(Account::kWeights, true, e.weights,
      Softer(
          assumed > Bytes() ? Basis::kAssumed : least,
          e.detail.buffers + e.detail.post_load > Bytes() ? Softer(exact, Basis::kDerived) : exact),
      model.guesses
          ? "parameters and buffers by names and shapes of an unknown architecture, less offload"
          : "parameters, buffers and post-load copies by the engine's sharding rules, less "
            "offload");
  add(Account::kActivations, true, e.activation.bytes, Softer(least, Basis::kDerived),
      c.Say("profile run, binding phase {} ({} helps)", e.activation.binding, e.activation.flag),
      ActivationParts(e.activation, c.figures_only));
  add(Account::kCommunication, true, outside.communication, Basis::kAssumed,
      outside.communication_source);
  const vllm::All2AllBuffers all2all = vllm::MakeAll2AllBuffers(c);
  add(Account::kCommunication, true, Range(all2all.nvlink + all2all.network), Basis::kDerived,
      all2all.source);
  add(Account::kWorkspace, true, outside.library, Basis::kAssumed, outside.library_source);
  add(Account::kWorkspace, true, Range(e.offload.pool), Softer(exact, Basis::kDerived),
      c.Say("prefetch offload: {} buffers of each distinct parameter",
            c.settings.offload_prefetch_step));
  for (const vllm::ExtraBytes& buffer : vllm::EplbBuffers(c, range, weights)) {
    add(Account::kWorkspace, true, Range(buffer.bytes), Softer(exact, Basis::kDerived),
        c.Say("{}: {}", buffer.name, buffer.rule));
  }
  if (last) {
    for (const vllm::ExtraBytes& buffer : vllm::DrafterBuffers(c)) {
      add(Account::kWorkspace, true, Range(buffer.bytes), Basis::kAssumed,
          c.Say("{}: {}", buffer.name, buffer.rule));
    }
  }
  add(Account::kWorkspace, true, Range(VideoReserve(c)), Basis::kExact,
      "--mm-ipc-gpu-memory-gb: taken from the cache for decoded video "
      "(gpu_worker.py:reserve_mm_ipc_gpu_memory)");
  const std::string graphs =
      c.Say("{} piecewise and {} full graphs", e.graphs.piecewise, e.graphs.full);
  if (e.graphs.deducted) {
    add(Account::kCudaGraphs, true, e.graphs.reserved, Basis::kAssumed,
        c.Say("reserve for {}; they hold {} to {}: {}", graphs, FormatGiB(e.graphs.pool.low, 2),
              FormatGiB(e.graphs.pool.high, 2), c.profile->graph_estimate_base.source));
  } else {
    add(Account::kCudaGraphs, false, e.graphs.pool, Basis::kAssumed,
        c.Say("{}, which this version's budget does not reserve; per graph and layer, fitted "
              "on public start-up logs",
              graphs));
  }
  const Entry workspace = UnprofiledWorkspace(c, last, range, e.activation.bytes.central);
  add(workspace.account, false, workspace.bytes, workspace.basis, workspace.source,
      workspace.parts);

  e.load = LargestTransient(prepared, model, weights, stage, e.offload);
  SumUp(prepared, &e);
  return e;
}

void SumUp(const Prepared& prepared, StageEvaluation* evaluation) {
  const vllm::Context& c = prepared.context;
  const GpuSpec& gpu = *c.gpu;
  const Bytes capacity = gpu.cuda_visible.bytes.central;
  StageEvaluation& e = *evaluation;
  e.in_budget = e.outside = Range();
  for (const Entry& entry : e.entries) {
    (entry.in_budget ? e.in_budget : e.outside) += entry.bytes;
  }
  // The budget follows what CUDA sees, which may itself be a range.
  const double utilization = c.resolved.gpu_memory_utilization;
  e.budget = Range(RequestedBytes(gpu.cuda_visible.bytes.low, utilization),
                   RequestedBytes(capacity, utilization),
                   RequestedBytes(gpu.cuda_visible.bytes.high, utilization));
  if (e.budget_is_settled) e.budget = Range(e.budget.central);
  if (c.settings.kv_cache_memory_bytes) {
    // Utilization is ignored: the engine takes what it needs and the cache that was asked for.
    const Bytes kv = std::max(Bytes(), *c.settings.kv_cache_memory_bytes - VideoReserve(c));
    // At every end, so the remainder outside is the engine's, too.
    e.budget = Range(e.in_budget.high + kv, e.in_budget.central + kv, e.in_budget.low + kv);
    e.kv_available = Range(kv);
  } else {
    e.kv_available = Range(e.budget.low - e.in_budget.high, e.budget.central - e.in_budget.central,
                           e.budget.high - e.in_budget.low);
  }
  Range base;
  for (const Entry& entry : e.entries) {
    const bool at_load = entry.account == Account::kInUseByOthers ||
                         entry.account == Account::kCudaContext ||
                         (entry.account == Account::kCommunication && !entry.in_budget);
    if (at_load) base += entry.bytes;
  }
  e.load_peak = base + e.weights + e.load.bytes;
}

}  // namespace shardplan
