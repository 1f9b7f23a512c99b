#include "plan/sglang/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/sglang/weights.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

double Gib(Bytes bytes) { return InGiB(bytes).value(); }

Bytes AtEnd(const Range& range, End end) {
  return end == End::kLow ? range.low : end == End::kHigh ? range.high : range.central;
}

Range Minus(const Range& a, const Range& b) {
  return {a.low - b.high, a.central - b.central, a.high - b.low};
}

// Context and communicators, and what is free when they are there.
struct Start {
  SourcedBytes context;
  SourcedBytes communication;
  Range free;
};

Start StartOf(const SglangPrepared& p) {
  const GpuSpec& gpu = p.gpu;
  const int64_t ranks = p.sizes.tp * p.sizes.pp;
  const Range in_use(p.deployment.gpu_memory_in_use);
  Start start;
  start.context = gpu.context;
  const sglang::Estimate gone = sglang::GoneBeforeLoad(p.context, ranks);
  start.communication = {gone.bytes, Basis::kAssumed, "gone before the weights: " + gone.source};
  if (const auto& given = p.deployment.sglang.free_before_load) {
    // What was measured settles the sum; the context takes its share of it first.
    const Bytes taken = gpu.cuda_visible.bytes.central - in_use.central - *given;
    const Bytes context = std::clamp(gpu.context.bytes.central, Bytes(), std::max(taken, Bytes()));
    start.context.bytes = Range(context);
    start.communication = {Range(taken - context), Basis::kMeasured, "--free-memory-before-load"};
    start.free = Range(*given);
    return start;
  }
  start.free =
      Minus(Minus(gpu.cuda_visible.bytes, in_use), start.context.bytes + start.communication.bytes);
  return start;
}

Range WeightsRange(const SglangPrepared& p, const Model& model, const StageRange& stage, bool first,
                   bool last, Bytes central) {
  Range range(central);
  if (!model.guesses) return range;
  ShardingRules rules = sglang::RulesFor(p.context);
  const TensorTable table = sglang::TableFor(p.context);
  const auto at = [&](GuessEnd end) {
    rules.guess = end;
    return ComputeDeviceWeights(model.arch, table, rules).StageBytes(stage, first, last);
  };
  range.low = std::min(central, at(GuessEnd::kFinest));
  range.high = std::max(central, at(GuessEnd::kWhole));
  return range;
}

void FillWeights(const SglangPrepared& p, const Model& model, const DeviceWeights& weights,
                 size_t i, SglangStage* s) {
  const StageRange& stage = p.stages[i];
  const bool last = i + 1 == p.stages.size();
  s->detail.parameters = weights.StageBytes(stage, i == 0, last);
  for (const sglang::ExtraBytes& extra : sglang::Extras(p.context, stage)) {
    (extra.post_load ? s->detail.post_load : s->detail.buffers) += extra.bytes;
  }
  s->offload = sglang::OffloadOf(p.context, weights, stage);
  if (p.draft) {
    s->draft = p.draft->weights;
    s->detail.parameters += s->draft;
  }
  const Bytes beside = s->detail.buffers + s->detail.post_load + s->draft - s->offload.bytes;
  const Range params = WeightsRange(p, model, stage, i == 0, last, s->detail.parameters - s->draft);
  s->weights = params + Range(beside);
}

class Entries {
 public:
  explicit Entries(std::vector<Entry>* out) : out_(*out) {}
  void Add(Account account, bool in_budget, const Range& bytes, Basis basis, std::string source,
           std::vector<Part> parts = {}) {
    if (bytes.low == Bytes() && bytes.high == Bytes()) return;
    out_.push_back({account, in_budget, bytes, basis, std::move(source), std::move(parts)});
  }

 private:
  std::vector<Entry>& out_;
};

void FillEntries(const SglangPrepared& p, const Model& model, const Start& start, SglangStage* s) {
  const GpuSpec& gpu = p.gpu;
  const Bytes total = gpu.device_total.bytes.central;
  const Range& visible = gpu.cuda_visible.bytes;
  Entries out(&s->entries);
  out.Add(Account::kDriverReserved, false,
          {total - visible.high, total - visible.central, total - visible.low},
          gpu.cuda_visible.basis, gpu.cuda_visible.source);
  out.Add(Account::kInUseByOthers, false, Range(p.deployment.gpu_memory_in_use), Basis::kMeasured,
          "--gpu-memory-in-use");
  out.Add(Account::kCudaContext, false, start.context.bytes, start.context.basis,
          start.context.source);
  out.Add(Account::kCommunication, false, start.communication.bytes, start.communication.basis,
          start.communication.source);
  const Basis basis = model.guesses ? Basis::kAssumed : Basis::kDerived;
  std::vector<Part> parts;
  if (s->draft > Bytes()) {
    parts = {
        {"model", "parameters, buffers and copies, less offload", s->weights.central - s->draft},
        {"draft", p.draft->source, s->draft}};
  }
  out.Add(Account::kWeights, true, s->weights, p.draft ? Softer(basis, p.draft->basis) : basis,
          "parameters, buffers and copies by SGLang's sharding rules, less offload",
          std::move(parts));
  out.Add(Account::kCommunication, false, s->communication.bytes, Basis::kAssumed,
          "communicators made later: " + s->communication.source);
  out.Add(Account::kCommunication, false, s->all_to_all.bytes, Basis::kAssumed,
          s->all_to_all.source, s->all_to_all.parts);
  out.Add(Account::kActivations, false, s->activations.bytes, Basis::kAssumed,
          s->activations.source, s->activations.parts);
  out.Add(Account::kCudaGraphs, false, s->graphs.bytes, Basis::kAssumed, s->graphs.source,
          s->graphs.parts);
  Bytes items;
  std::vector<Part> pieces;
  for (const sglang::SlackItem& item : s->items) {
    items += item.bytes;
    pieces.push_back({item.name, item.rule, item.bytes});
  }
  out.Add(Account::kWorkspace, false, Range(items), Basis::kDerived, "allocated beside the pools",
          std::move(pieces));
  out.Add(Account::kWorkspace, false, Range(s->offload.on_card), Basis::kDerived,
          "copies of offloaded layers while they run");
}

void SumOutside(SglangStage* s) {
  s->outside = Range();
  for (const Entry& entry : s->entries) {
    if (!entry.in_budget) s->outside += entry.bytes;
  }
}

Result<sglang::Pools> PoolsAt(const SglangPrepared& p, const SglangEvaluation& e, End end) {
  // The others' cheap end leaves the most.
  const End mirrored = end == End::kLow ? End::kHigh : end == End::kHigh ? End::kLow : end;
  return sglang::SizePools(p.context, p.defaults, p.stages,
                           {Gib(AtEnd(e.before, mirrored)), Gib(AtEnd(e.after, mirrored))});
}

}  // namespace

Bytes StatePoolBytes(const SglangPrepared& p, const sglang::Pools& pools, const StageRange& stage) {
  if (!pools.states) return Bytes();
  const sglang::StateSlot own = sglang::SlotOfStage(p.context, stage);
  const int64_t slots =
      std::max<int64_t>(0, pools.states->slots) + p.context.profile->state_padding_slots;
  const double scratch = std::max(0.0, pools.states->scratch_gib) * static_cast<double>(kGiB);
  const double share = static_cast<double>(own.states().count()) /
                       static_cast<double>(std::max<int64_t>(1, pools.slot.states().count()));
  return own.bytes() * slots + Bytes(static_cast<int64_t>(scratch * share));
}

Bytes SglangBudget(const SglangPrepared& p, const SglangEvaluation& e, End end) {
  const End mirrored = end == End::kLow ? End::kHigh : end == End::kHigh ? End::kLow : end;
  return Bytes(std::llround(static_cast<double>(AtEnd(e.before, mirrored).count()) *
                            p.defaults.mem_fraction_static));
}

Result<SglangEvaluation> EvaluateSglang(const SglangPrepared& p, const Model& model) {
  SglangEvaluation e;
  const Start start = StartOf(p);
  e.before = start.free;
  const std::shared_ptr<const DeviceWeights> weights =
      sglang::WeightsOn(p.context, sglang::RulesFor(p.context));
  e.stages.resize(p.stages.size());
  Range fullest;
  for (size_t i = 0; i < p.stages.size(); ++i) {
    SglangStage& stage = e.stages[i];
    FillWeights(p, model, *weights, i, &stage);
    fullest = {std::max(fullest.low, stage.weights.low),
               std::max(fullest.central, stage.weights.central),
               std::max(fullest.high, stage.weights.high)};
  }
  e.after = Minus(e.before, fullest);
  SHARDPLAN_ASSIGN_OR_RETURN(e.central, PoolsAt(p, e, End::kCentral));
  SHARDPLAN_ASSIGN_OR_RETURN(e.low, PoolsAt(p, e, End::kLow));
  SHARDPLAN_ASSIGN_OR_RETURN(e.high, PoolsAt(p, e, End::kHigh));
  const int64_t ranks = p.sizes.tp * p.sizes.pp;
  for (size_t i = 0; i < p.stages.size(); ++i) {
    SglangStage& s = e.stages[i];
    const int64_t requests = e.central.max_running_requests;
    s.activations = sglang::EstimateActivations(p.context, p.defaults, p.stages[i], requests);
    s.graphs = sglang::EstimateGraphs(p.context, p.defaults, p.stages[i], requests);
    s.communication = sglang::CommunicationLater(p.context, ranks);
    s.all_to_all = sglang::AllToAllBuffers(p.context, p.defaults);
    s.items = sglang::SlackItems(p.context, p.defaults, e.central);
    if (!e.central.refusal) {
      s.items.push_back(
          {sglang::kSparePage, "rows that the pool has beside its tokens", e.central.SparePage(i)});
    }
    FillEntries(p, model, start, &s);
    const Bytes reserved = Gibibytes(e.central.multimodal_gib).ToBytes();
    if (reserved > Bytes()) {
      s.entries.push_back({Account::kWorkspace,
                           true,
                           Range(reserved),
                           Basis::kDerived,
                           "set aside for embeddings of images (SGLANG_VLM_CACHE_SIZE_MB)",
                           {}});
    }
    SumOutside(&s);
    const Range begin =
        Range(p.deployment.gpu_memory_in_use) + start.context.bytes + start.communication.bytes;
    s.load_peak = begin + s.weights;
  }
  return e;
}

}  // namespace shardplan
