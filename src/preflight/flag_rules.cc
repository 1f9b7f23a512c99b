#include "preflight/flag_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shardplan {
namespace {

enum class Kind {
  kIdleWithout,     // has no effect without the other
  kIdleWith,        // has no effect beside the other
  kRefusedWith,     // the engine refuses the two together
  kRefusedWithout,  // the engine refuses it without the other
  kWants,           // runs, but not as meant
};

struct Rule {
  std::string_view engine;
  std::string_view flag;
  Kind kind;
  std::string_view other;
  std::string_view why;  // empty: the kind says it all
};

// vLLM: vllm/config/{parallel,cache,offload,lora,compilation}.py, vllm/engine/arg_utils.py,
// vllm/entrypoints/openai/cli_args.py (d29f7f5c), vllm/entrypoints/cli/serve.py (00a5fdd2). SGLang:
// python/sglang/srt/server_args.py (0bda0b168).
constexpr std::array kRules = {
    Rule{"vllm", "--cpu-offload-params", Kind::kIdleWithout, "--cpu-offload-gb", ""},
    Rule{"vllm", "--offload-params", Kind::kIdleWithout, "--offload-group-size", ""},
    Rule{"vllm", "--offload-num-in-group", Kind::kIdleWithout, "--offload-group-size", ""},
    Rule{"vllm", "--offload-prefetch-step", Kind::kIdleWithout, "--offload-group-size", ""},
    Rule{"vllm", "--numa-bind-nodes", Kind::kIdleWithout, "--numa-bind", ""},
    Rule{"vllm", "--numa-bind-cpus", Kind::kIdleWithout, "--numa-bind", ""},
    Rule{"vllm", "--max-loras", Kind::kIdleWithout, "--enable-lora", ""},
    Rule{"vllm", "--max-lora-rank", Kind::kIdleWithout, "--enable-lora", ""},
    Rule{"vllm", "--fully-sharded-loras", Kind::kIdleWithout, "--enable-lora", ""},
    Rule{"vllm", "--all2all-backend", Kind::kIdleWithout, "--enable-expert-parallel",
         "only expert parallelism sends tokens to experts on other ranks"},
    Rule{"vllm", "--eplb-config", Kind::kIdleWithout, "--enable-eplb", ""},
    Rule{"vllm", "--gpu-memory-utilization", Kind::kIdleWith, "--kv-cache-memory-bytes",
         "a given cache goes past the budget"},
    Rule{"vllm", "--kv-cache-memory-bytes", Kind::kIdleWith, "--num-gpu-blocks-override",
         "the number of blocks decides"},
    Rule{"vllm", "--cudagraph-capture-sizes", Kind::kIdleWith, "--enforce-eager",
         "no graphs are captured"},
    Rule{"vllm", "--max-cudagraph-capture-size", Kind::kIdleWith, "--enforce-eager",
         "no graphs are captured"},
    Rule{"vllm", "--limit-mm-per-prompt", Kind::kIdleWith, "--language-model-only",
         "no image is served"},
    Rule{"vllm", "--mm-encoder-tp-mode", Kind::kIdleWith, "--language-model-only",
         "the tower is not loaded"},
    Rule{"vllm", "--node-rank", Kind::kIdleWithout, "--nnodes", ""},
    Rule{"vllm", "--nnodes", Kind::kWants, "--master-addr",
         "the other nodes look for node 0 at 127.0.0.1"},
    Rule{"vllm", "--data-parallel-start-rank", Kind::kIdleWithout, "--data-parallel-size", ""},
    Rule{"vllm", "--enable-auto-tool-choice", Kind::kRefusedWithout, "--tool-call-parser",
         "Error: --enable-auto-tool-choice requires --tool-call-parser"},
    Rule{"vllm", "--enable-log-outputs", Kind::kRefusedWithout, "--enable-log-requests",
         "Error: --enable-log-outputs requires --enable-log-requests"},
    Rule{"vllm", "--enable-per-request-metrics", Kind::kRefusedWith, "--disable-log-stats",
         "Error: --enable-per-request-metrics requires engine statistics logging"},
    Rule{"vllm", "--port", Kind::kIdleWith, "--headless", "no API server is started"},
    Rule{"vllm", "--host", Kind::kIdleWith, "--headless", "no API server is started"},
    Rule{"vllm", "--uds", Kind::kIdleWith, "--headless", "no API server is started"},
    Rule{"vllm", "--api-key", Kind::kIdleWith, "--headless", "no API server is started"},
    Rule{"sglang", "--speculative-num-steps", Kind::kIdleWithout, "--speculative-algorithm", ""},
    Rule{"sglang", "--speculative-eagle-topk", Kind::kIdleWithout, "--speculative-algorithm", ""},
    Rule{"sglang", "--speculative-num-draft-tokens", Kind::kIdleWithout, "--speculative-algorithm",
         ""},
    Rule{"sglang", "--speculative-draft-model-path", Kind::kIdleWithout, "--speculative-algorithm",
         ""},
    Rule{"sglang", "--hicache-ratio", Kind::kIdleWithout, "--enable-hierarchical-cache", ""},
    Rule{"sglang", "--hicache-size", Kind::kIdleWithout, "--enable-hierarchical-cache", ""},
    Rule{"sglang", "--hicache-ratio", Kind::kIdleWith, "--hicache-size", "the size decides"},
    Rule{"sglang", "--cuda-graph-max-bs-decode", Kind::kIdleWith, "--disable-cuda-graph",
         "no graphs are captured"},
    Rule{"sglang", "--cuda-graph-bs-decode", Kind::kIdleWith, "--disable-cuda-graph",
         "no graphs are captured"},
    Rule{"sglang", "--mamba-full-memory-ratio", Kind::kIdleWith, "--max-mamba-cache-size",
         "the number of states decides"},
    Rule{"sglang", "--enable-dp-attention", Kind::kIdleWithout, "--dp-size",
         "with one data-parallel rank SGLang switches it off"},
    Rule{"sglang", "--nnodes", Kind::kRefusedWithout, "--dist-init-addr",
         "the nodes have no address to meet at"},
    Rule{"sglang", "--node-rank", Kind::kIdleWithout, "--nnodes", ""},
    Rule{"sglang", "--disable-priority-preemption", Kind::kIdleWithout,
         "--enable-priority-scheduling", ""},
    Rule{"sglang", "--default-priority-value", Kind::kIdleWithout, "--enable-priority-scheduling",
         ""},
    Rule{"sglang", "--export-metrics-to-file", Kind::kRefusedWithout,
         "--export-metrics-to-file-dir",
         "--export-metrics-to-file-dir is required when --export-metrics-to-file is enabled"},
};

const GivenFlag* FindGiven(const std::vector<GivenFlag>& flags, std::string_view name) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const GivenFlag& flag) {
    // An object may have been given by its fields.
    return (flag.name == name || flag.name.starts_with(std::string(name) + ".")) &&
           flag.value != "false";
  });
  return found == flags.end() ? nullptr : &*found;
}

bool Breaks(const Rule& rule, bool other_given) {
  const bool beside = rule.kind == Kind::kIdleWith || rule.kind == Kind::kRefusedWith;
  return beside == other_given;
}

Finding Told(const Rule& rule) {
  const bool beside = rule.kind == Kind::kIdleWith || rule.kind == Kind::kRefusedWith;
  const std::string why = rule.why.empty() ? "" : fmt::format(": {}", rule.why);
  const std::string where = fmt::format("{} {}", beside ? "beside" : "without", rule.other);
  const std::string fix =
      beside ? "leave one of the two out" : fmt::format("give {}, or leave it out", rule.other);
  const std::string subject(rule.flag);
  switch (rule.kind) {
    case Kind::kIdleWith:
    case Kind::kIdleWithout:
      return {"command.idle", Severity::kWarning, subject,
              fmt::format("has no effect {}{}", where, why), fix};
    case Kind::kRefusedWith:
    case Kind::kRefusedWithout:
      return {"command.contradiction", Severity::kError, subject,
              fmt::format("is refused {}{}", where, why), fix};
    case Kind::kWants:
      break;
  }
  return {"command.incomplete", Severity::kWarning, subject, fmt::format("{}{}", where, why),
          fmt::format("give {}", rule.other)};
}

// --nnodes 1 is one node.
bool MeansNothing(const GivenFlag& flag) { return flag.name == "--nnodes" && flag.value == "1"; }

}  // namespace

std::vector<Finding> CheckFlagRules(std::string_view engine, const std::vector<GivenFlag>& flags) {
  std::vector<Finding> findings;
  for (const Rule& rule : kRules) {
    if (rule.engine != engine) continue;
    const GivenFlag* const flag = FindGiven(flags, rule.flag);
    if (flag == nullptr || MeansNothing(*flag)) continue;
    if (Breaks(rule, FindGiven(flags, rule.other) != nullptr)) findings.push_back(Told(rule));
  }
  return findings;
}

}  // namespace shardplan
