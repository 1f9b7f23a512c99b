#include "preflight/flag_relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

class Relations {
 public:
  explicit Relations(const std::vector<GivenFlag>& flags) : flags_(flags) {}

  std::vector<Finding> Take() { return std::move(findings_); }

 protected:
  const GivenFlag* Find(std::string_view name) const {
    const auto found = std::find_if(flags_.begin(), flags_.end(),
                                    [&](const GivenFlag& flag) { return flag.name == name; });
    return found == flags_.end() ? nullptr : &*found;
  }
  // A switch that is on, or a flag with a value.
  bool Has(std::string_view name) const {
    const GivenFlag* const flag = Find(name);
    return flag != nullptr && flag->value != "false";
  }
  std::string Text(std::string_view name) const {
    const GivenFlag* const flag = Find(name);
    return flag == nullptr ? "" : flag->value;
  }
  std::optional<int64_t> Number(std::string_view name) const {
    const GivenFlag* const flag = Find(name);
    if (flag == nullptr) return std::nullopt;
    const Result<int64_t> number = ParseTokenCount(flag->value);
    return number ? std::optional(*number) : std::nullopt;
  }

  void Refuse(std::string subject, std::string message, std::string fix) {
    findings_.push_back({"command.contradiction", Severity::kError, std::move(subject),
                         std::move(message), std::move(fix)});
  }

 private:
  const std::vector<GivenFlag>& flags_;
  std::vector<Finding> findings_;
};

// Sources: vllm/config/parallel.py (00193b82), vllm/config/scheduler.py (01230b40),
// vllm/entrypoints/cli/serve.py (00a5fdd2).
class VllmRelations : public Relations {
 public:
  using Relations::Relations;

  void Check() {
    DataParallel();
    LoadBalancing();
    Contexts();
    Prefills();
    Adapters();
    Transfers();
  }

 private:
  void DataParallel() {
    const std::optional<int64_t> dp =
        Has("--data-parallel-size") ? Number("--data-parallel-size") : std::optional<int64_t>(1);
    if (!dp) return;
    const std::optional<int64_t> local = Number("--data-parallel-size-local");
    if (local && *local > *dp) {
      Refuse(fmt::format("--data-parallel-size-local {}", *local),
             fmt::format("data_parallel_size_local ({}) must be <= data_parallel_size ({})", *local,
                         *dp),
             fmt::format("at most {}, or a larger --data-parallel-size", *dp));
    }
    if (const auto rank = Number("--data-parallel-rank"); rank && *dp > 1 && *rank >= *dp) {
      Refuse(fmt::format("--data-parallel-rank {}", *rank),
             fmt::format("data_parallel_rank ({}) must be in the range [0, {})", *rank, *dp),
             fmt::format("a number below {}", *dp));
    }
    const std::optional<int64_t> start = Number("--data-parallel-start-rank");
    if (!start || *dp == 1 || (local && *local > *dp)) return;
    const int64_t mine = std::max<int64_t>(local.value_or(1), 1);
    if (*start + mine <= *dp) return;
    Refuse(fmt::format("--data-parallel-start-rank {}", *start),
           fmt::format("the {} rank(s) from {} on pass the {} of --data-parallel-size", mine,
                       *start, *dp),
           fmt::format("at most {}", *dp - mine));
  }

  void LoadBalancing() {
    const bool several = Has("--data-parallel-multi-port-external-lb");
    const bool outside = Has("--data-parallel-external-lb") || Has("--data-parallel-rank");
    const bool hybrid =
        Has("--data-parallel-hybrid-lb") || (!several && Has("--data-parallel-start-rank"));
    if (several + outside + hybrid > 1) {
      Refuse("--data-parallel-…-lb",
             "Cannot use more than one data parallel load balancing mode. Choose one of: "
             "--data-parallel-multi-port-external-lb, --data-parallel-external-lb (or "
             "--data-parallel-rank), --data-parallel-hybrid-lb (or --data-parallel-start-rank).",
             "leave all but one out");
    }
    if (Has("--data-parallel-external-lb") && Number("--data-parallel-size").value_or(1) <= 1) {
      Refuse("--data-parallel-external-lb",
             "data_parallel_external_lb can only be set when data_parallel_size > 1",
             "give --data-parallel-size, or leave it out");
    }
    if (!Has("--headless")) return;
    if (const auto servers = Number("--api-server-count"); servers && *servers > 0) {
      Refuse(fmt::format("--api-server-count {}", *servers),
             fmt::format("--api-server-count={} cannot be used with --headless (no API servers are "
                         "started in headless mode).",
                         *servers),
             "leave one of the two out");
    }
    if (Has("--data-parallel-hybrid-lb")) {
      Refuse("--data-parallel-hybrid-lb",
             "data_parallel_hybrid_lb is not applicable in headless mode",
             "leave one of the two out");
    }
  }

  void Contexts() {
    if (Text("--dcp-comm-backend") == "a2a" &&
        Number("--decode-context-parallel-size").value_or(1) <= 1) {
      Refuse("--dcp-comm-backend a2a",
             "dcp_comm_backend='a2a' requires decode_context_parallel_size > 1.",
             "give --decode-context-parallel-size, or leave it out");
    }
    const std::optional<int64_t> pcp = Number("--prefill-context-parallel-size");
    if (pcp && *pcp > 1 && Number("--data-parallel-size").value_or(1) > 1) {
      Refuse(fmt::format("--prefill-context-parallel-size {}", *pcp),
             "PCP does not support data parallelism yet.", "leave one of the two out");
    }
  }

  // Source: vllm/config/lora.py _validate_lora_config (d29f7f5c).
  void Adapters() {
    const int64_t most = Number("--max-loras").value_or(1);
    const std::optional<int64_t> kept = Number("--max-cpu-loras");
    if (!Has("--enable-lora") || !kept || *kept >= most) return;
    Refuse(fmt::format("--max-cpu-loras {}", *kept),
           fmt::format("max_cpu_loras ({}) must be >= max_loras ({}).", *kept, most),
           fmt::format("at least {}", most));
  }

  // Source: vllm/config/kv_transfer.py __post_init__ (d29f7f5c).
  void Transfers() {
    const auto json = nlohmann::json::parse(Text("--kv-transfer-config"), nullptr, false);
    if (!json.is_object() || !json.contains("kv_connector") || json.contains("kv_role")) return;
    Refuse("--kv-transfer-config", "Please specify kv_role when kv_connector is set",
           "\"kv_role\": \"kv_producer\", \"kv_consumer\" or \"kv_both\"");
  }

  void Prefills() {
    const int64_t partial = Number("--max-num-partial-prefills").value_or(1);
    const int64_t longer = Number("--max-long-partial-prefills").value_or(1);
    if (longer > partial) {
      Refuse(fmt::format("--max-long-partial-prefills {}", longer),
             fmt::format("self.max_long_partial_prefills={} must be less than or equal to "
                         "self.max_num_partial_prefills={}.",
                         longer, partial),
             fmt::format("at most {}", partial));
    }
    if (partial <= 1) return;
    if (Text("--enable-chunked-prefill") == "false") {
      Refuse(fmt::format("--max-num-partial-prefills {}", partial),
             "Chunked prefill must be enabled to set max_num_partial_prefills > 1.",
             "leave one of the two out");
    }
    const std::optional<int64_t> threshold = Number("--long-prefill-token-threshold");
    const std::optional<int64_t> window = Number("--max-model-len");
    if (threshold && window && *threshold > *window) {
      Refuse(fmt::format("--long-prefill-token-threshold {}", *threshold),
             fmt::format("long_prefill_token_threshold ({}) cannot be greater than the "
                         "max_model_len ({}).",
                         *threshold, *window),
             fmt::format("at most {}", *window));
    }
  }
};

// Source: python/sglang/srt/server_args.py check_server_args, check_lora_server_args,
// _check_two_batch_overlap (001067ff).
class SglangRelations : public Relations {
 public:
  using Relations::Relations;

  void Check() {
    Priorities();
    Adapters();
    Addresses();
    const std::optional<int64_t> chunk = Number("--chunked-prefill-size");
    const std::optional<int64_t> page = Number("--page-size");
    if (chunk && page && *chunk > 0 && *page > 0 && *chunk % *page != 0) {
      Refuse(fmt::format("--chunked-prefill-size {}", *chunk),
             "chunked_prefill_size must be divisible by page_size",
             fmt::format("a multiple of {}", *page));
    }
    const std::string a2a = Text("--moe-a2a-backend");
    if (Has("--enable-two-batch-overlap") && (a2a.empty() || a2a == "none") &&
        !Has("--enable-deepep-moe") && !Has("--enable-dp-attention")) {
      Refuse("--enable-two-batch-overlap",
             "two batches overlap over an all-to-all backend, or over DP attention: SGLang refuses "
             "it without either",
             "--moe-a2a-backend deepep, or leave it out");
    }
  }

 private:
  void Priorities() {
    const bool priorities = Has("--enable-priority-scheduling");
    const std::string policy = Text("--schedule-policy");
    if (priorities && !policy.empty() && policy != "fcfs" && policy != "lof") {
      Refuse("--schedule-policy " + Printable(policy, 40),
             fmt::format("To use priority scheduling, schedule_policy must be 'fcfs' or 'lof'. "
                         "'{}' is not supported.",
                         Printable(policy, 40)),
             "fcfs or lof, or no --enable-priority-scheduling");
    }
    if (!priorities && Text("--retraction-policy") == "priority") {
      Refuse("--retraction-policy priority",
             "--retraction-policy priority requires --enable-priority-scheduling",
             "give --enable-priority-scheduling, or leave it out");
    }
  }

  void Adapters() {
    const bool paths = Has("--lora-paths");
    if (!paths && !Has("--enable-lora")) return;
    if (!paths && (!Has("--max-lora-rank") || !Has("--lora-target-modules"))) {
      Refuse("--enable-lora",
             "When no initial --lora-paths is provided, you need to specify both --max-lora-rank "
             "and --lora-target-modules for LoRA initialization.",
             "give --lora-paths, or both of them");
    }
    constexpr int64_t kDefaultBatch = 8;
    const std::optional<int64_t> loaded = Number("--max-loaded-loras");
    const int64_t batch = Number("--max-loras-per-batch").value_or(kDefaultBatch);
    if (loaded && *loaded < batch) {
      Refuse(fmt::format("--max-loaded-loras {}", *loaded),
             fmt::format("max_loaded_loras should be greater than or equal to "
                         "max_loras_per_batch. max_loaded_loras={}, max_loras_per_batch={}",
                         *loaded, batch),
             fmt::format("at least {}", batch));
    }
  }

  void Addresses() {
    constexpr int64_t kDefaultPort = 30'000;
    const int64_t port = Number("--port").value_or(kDefaultPort);
    if (const auto grpc = Number("--grpc-port"); grpc && *grpc == port) {
      Refuse(fmt::format("--grpc-port {}", *grpc),
             fmt::format("--grpc-port ({}) must differ from --port ({})", *grpc, port),
             "another port");
    }
    const std::string address = Text("--dist-init-addr");
    // A placeholder or a variable stands for both.
    if (address.empty() || address.find_first_of("$<{") != std::string::npos) return;
    const size_t colon = address.rfind(':');
    const std::string digits = colon == std::string::npos ? "" : address.substr(colon + 1);
    const bool several = address.find(':') != colon && address.find(']') == std::string::npos;
    if (!several && !digits.empty() &&
        digits.find_first_not_of("0123456789") == std::string::npos) {
      return;
    }
    Refuse("--dist-init-addr " + Printable(address, 60), "expected HOST:PORT, found no port",
           several ? "an IPv6 address stands in brackets: [fd00::1]:5000"
                   : "such as " + Printable(address.substr(0, colon), 60) + ":5000");
  }
};

}  // namespace

std::vector<Finding> CheckFlagRelations(std::string_view engine,
                                        const std::vector<GivenFlag>& flags) {
  if (engine == "vllm") {
    VllmRelations relations(flags);
    relations.Check();
    return relations.Take();
  }
  SglangRelations relations(flags);
  relations.Check();
  return relations.Take();
}

}  // namespace shardplan
