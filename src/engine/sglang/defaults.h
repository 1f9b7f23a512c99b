// What SGLang makes of the settings that nobody gave: --mem-fraction-static first of all.
#ifndef SHARDPLAN_ENGINE_SGLANG_DEFAULTS_H_
#define SHARDPLAN_ENGINE_SGLANG_DEFAULTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/sglang/context.h"

namespace shardplan::sglang {

// A term of what the default fraction leaves outside, in MiB.
struct ReserveTerm {
  std::string name;  // "activations"
  std::string rule;  // "1.5 MiB × 8,192 tokens"
  double mib = 0;
};

// Settings with their defaults, in the order in which SGLang fills them in: chunk and graph sizes
// by the card's memory, then the fraction from them, and only then what DP attention changes.
struct Defaults {
  int64_t chunked_prefill_size = 0;    // as served: divided by DP under DP attention; -1: whole
  int64_t chunk_as_given = 0;          // as a command has it: before that
  int64_t max_running_requests = 0;    // 0: not limited by a flag or a default
  std::vector<int64_t> decode_graphs;  // requests; empty: no decode graphs
  PrefillGraph prefill_graph = PrefillGraph::kDisabled;
  std::vector<int64_t> prefill_graphs;  // tokens

  double mem_fraction_static = 0;
  bool fraction_given = false;
  std::vector<ReserveTerm> terms;  // empty where the fraction was given or needs none
  double reserved_mib = 0;
  double vision_factor = 1;
  double aiter_factor = 1;  // that the aiter backend applies even to a given fraction

  std::string attention_backend;  // of decode
  int64_t page_size = 1;
  double symm_mem_gib = 0;  // allocated after graph capture
};

// Source: python/sglang/srt/server_args.py _handle_gpu_memory_settings and what follows it
// (0bda0b168), as dated in configs/engines/sglang/rules.yaml.
Defaults ResolveDefaults(const Context& context);

// The attention backend that decodes, where no flag names one.
std::string DefaultAttentionBackend(const Context& context);

// The page of a backend: the one that was asked for where the backend takes it.
int64_t PageSizeOf(const Profile& profile, const std::string& backend, int64_t asked);

// Python's round(x, 3).
double RoundThousandth(double value);

}  // namespace shardplan::sglang

#endif  // SHARDPLAN_ENGINE_SGLANG_DEFAULTS_H_
