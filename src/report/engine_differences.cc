#include "report/engine_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/comparison_rows.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// The plans of the two engines and their fullest ranks.
struct Pair {
  const Plan* vllm = nullptr;
  const Plan* sglang = nullptr;
  const RankPlan* v = nullptr;
  const RankPlan* s = nullptr;
};

std::optional<Pair> FindPair(const std::vector<Variant>& variants) {
  Pair pair;
  for (const Variant& variant : variants) {
    const Plan*& plan = variant.plan.engine == "sglang" ? pair.sglang : pair.vllm;
    if (plan == nullptr) plan = &variant.plan;
  }
  if (pair.vllm == nullptr || pair.sglang == nullptr) return std::nullopt;
  pair.v = FullestRank(*pair.vllm);
  pair.s = FullestRank(*pair.sglang);
  if (pair.v == nullptr || pair.s == nullptr || !pair.sglang->static_memory) return std::nullopt;
  return pair;
}

std::string Gib(Bytes bytes) { return FormatGiB(bytes, 2); }

std::string Between(Bytes vllm, Bytes sglang) {
  return fmt::format("vLLM {}, SGLang {}", Gib(vllm), Gib(sglang));
}

// What an option took: given ones are not in the list of defaults.
std::optional<std::string> DefaultOf(const Plan& plan, const std::string& option) {
  for (const auto& [name, value] : plan.defaults) {
    if (name == option) return value;
  }
  return std::nullopt;
}

class Differences {
 public:
  explicit Differences(const Pair& pair) : p_(pair) {}

  void Add(bool differs, std::string row, bool is_rule, std::string text) {
    if (differs) out_.push_back({std::move(row), is_rule, std::move(text)});
  }

  void Budget() {
    Add(p_.v->budget != p_.s->budget, "budget", true,
        fmt::format("vLLM takes a share of the card, SGLang a fraction of the {} that are free "
                    "before loading: {}",
                    Gib(p_.sglang->static_memory->free_before_load.central),
                    Between(p_.v->budget, p_.s->budget)));
    const auto utilization = DefaultOf(*p_.vllm, "gpu-memory-utilization");
    const StaticMemoryPlan& memory = *p_.sglang->static_memory;
    Add(true, "budget", false,
        fmt::format("--gpu-memory-utilization {} and --mem-fraction-static {:.4g}{}",
                    utilization ? *utilization + " (vLLM's own)" : std::string("as given"),
                    memory.fraction, memory.fraction_given ? " as given" : " (SGLang's own)"));
  }

  void Layout() {
    const ParallelSizes& v = p_.vllm->sizes;
    const ParallelSizes& s = p_.sglang->sizes;
    Add(v.ep() != s.ep(), "layout", false,
        fmt::format(
            "expert parallel over {} in vLLM and {} in SGLang: --enable-expert-parallel has "
            "no size, --ep-size is one",
            v.ep(), s.ep()));
    Add(s.dp_in_tp, "layout", true,
        fmt::format("DP {} is {} engines in vLLM and attention inside TP in SGLang", s.dp, v.dp));
  }

  void Weights() {
    const WeightsDetail& v = p_.v->detail;
    const WeightsDetail& s = p_.s->detail;
    Add(v.parameters != s.parameters, "weights", true,
        "parameters by each engine's sharding and padding: " + Between(v.parameters, s.parameters));
    const Bytes v_more = v.buffers + v.post_load + v.rounding;
    const Bytes s_more = s.buffers + s.post_load + s.rounding;
    Add(v_more != s_more, "weights", true,
        "buffers, second copies and rounding beside them: " + Between(v_more, s_more));
    const auto runner = DefaultOf(*p_.sglang, "moe-runner-backend");
    const auto backend = DefaultOf(*p_.vllm, "moe-backend");
    Add(runner && backend && *runner != *backend, "weights", false,
        fmt::format("experts run by {} in vLLM and by {} in SGLang, as each chose",
                    backend.value_or(""), runner.value_or("")));
    Add(p_.v->offloaded != p_.s->offloaded, "weights", true,
        "offload to the host: " + Between(p_.v->offloaded, p_.s->offloaded));
  }

  void Running() {
    const auto sum = [](const RankPlan& rank, Account account) { return rank.ledger.Sum(account); };
    for (const Account account : {Account::kActivations, Account::kCudaGraphs}) {
      const Bytes v = sum(*p_.v, account);
      const Bytes s = sum(*p_.s, account);
      const bool graphs = account == Account::kCudaGraphs;
      Add(v != s, std::string(ToString(account)), true,
          (graphs ? "vLLM reserves an estimate inside its budget, SGLang captures in what its "
                    "fraction leaves: "
                  : "vLLM measures a profile run and counts it, SGLang measures nothing and leaves "
                    "room outside its fraction: ") +
              Between(v, s));
    }
    const auto tokens = [](const Plan& plan, const char* option) {
      return DefaultOf(plan, option);
    };
    const auto v = tokens(*p_.vllm, "max-num-batched-tokens");
    const auto s = tokens(*p_.sglang, "chunked-prefill-size");
    Add(v && s && *v != *s, "activations", false,
        fmt::format("tokens at once: {} (vLLM's own) and {} (SGLang's own)", v.value_or(""),
                    s.value_or("")));
  }

  void Caches() {
    const StaticMemoryPlan& memory = *p_.sglang->static_memory;
    if (memory.states && memory.states->slots > 0) {
      Add(true, "state_cache", true,
          fmt::format(
              "vLLM keeps states in blocks of the KV cache, SGLang in a pool of its own: {} "
              "slots, {} a request",
              FormatCount(memory.states->slots), memory.states->slots_per_request));
      Add(true, "state_cache", false,
          "--mamba-full-memory-ratio divides what is left between states and tokens");
    }
    if (!p_.vllm->kv || !p_.sglang->kv) return;
    const KvPlan& v = *p_.vllm->kv;
    const KvPlan& s = *p_.sglang->kv;
    Add(v.block_tokens != s.block_tokens, "kv_cache", true,
        fmt::format("pages of {} and {} tokens", FormatCount(v.block_tokens),
                    FormatCount(s.block_tokens)));
    Add(v.dtype != s.dtype, "kv_cache", false,
        fmt::format("stored as {} and {}", v.dtype, s.dtype));
  }

  std::vector<EngineDifference> Take() { return std::move(out_); }

 private:
  const Pair& p_;
  std::vector<EngineDifference> out_;
};

}  // namespace

std::vector<EngineDifference> EngineDifferences(const std::vector<Variant>& variants) {
  const std::optional<Pair> pair = FindPair(variants);
  if (!pair) return {};
  Differences differences(*pair);
  differences.Budget();
  differences.Layout();
  differences.Weights();
  differences.Running();
  differences.Caches();
  return differences.Take();
}

}  // namespace shardplan
