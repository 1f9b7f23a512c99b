#include "engine/sglang/legality.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "engine/sglang/parallel.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::sglang {
namespace {

bool IsBackend(const std::string& name) {
  const std::vector<std::string>& known = AttentionBackends();
  return std::find(known.begin(), known.end(), name) != known.end();
}

class Findings {
 public:
  void Add(Severity severity, const char* id, std::string subject, std::string message,
           std::string fix) {
    findings_.push_back({id, severity, std::move(subject), std::move(message), std::move(fix)});
  }
  void Refuse(const char* id, std::string subject, std::string message, std::string fix) {
    Add(Severity::kError, id, std::move(subject), std::move(message), std::move(fix));
  }
  void Append(std::vector<Finding> findings) {
    findings_.insert(findings_.end(), std::make_move_iterator(findings.begin()),
                     std::make_move_iterator(findings.end()));
  }
  std::vector<Finding> Take() { return std::move(findings_); }

 private:
  std::vector<Finding> findings_;
};

// What arguments tell alone.
class FlagChecker : private Findings {
 public:
  explicit FlagChecker(const ServerArgs& args) : a_(args) {}

  std::vector<Finding> Run() {
    for (const auto& backend :
         {a_.attention_backend, a_.prefill_attention_backend, a_.decode_attention_backend}) {
      if (backend) Backend(*backend);
    }
    if (AttentionTp(a_) % a_.dcp_size != 0) {
      Refuse("layout.dcp", fmt::format("--dcp-size {}", a_.dcp_size),
             fmt::format("does not divide the attention's TP of {}", AttentionTp(a_)),
             "choose a divisor");
    }
    Caches();
    Draft();
    if (a_.enable_eplb && ExpertParallel(a_) == 1) {
      Refuse("engine.contradiction", "--enable-eplb", "SGLang asserts ep_size > 1",
             fmt::format("--ep-size {}", a_.tp_size));
    }
    return Take();
  }

 private:
  void Backend(const std::string& name) {
    if (IsBackend(name)) return;
    const std::vector<std::string>& known = AttentionBackends();
    const std::vector<std::string> close = CloseNames(name, known);
    Refuse(
        "engine.unknown_backend", "--attention-backend " + Printable(name, 40),
        "SGLang has no backend of this name",
        close.empty() ? "one of " + JoinWithOr(known) : "did you mean " + JoinWithOr(close) + "?");
  }

  void Caches() {
    if (a_.enable_hierarchical_cache && a_.disable_radix_cache) {
      Refuse("engine.contradiction", "--enable-hierarchical-cache",
             "The arguments enable-hierarchical-cache and disable-radix-cache are mutually "
             "exclusive and cannot be used at the same time. Please use only one of them.",
             "leave one of the two out");
    } else if (a_.enable_hierarchical_cache && a_.disaggregation_mode == Disaggregation::kDecode) {
      Refuse("engine.contradiction", "--enable-hierarchical-cache",
             "a decoding server runs without the prefix cache that it would copy",
             "leave it to the prefill servers");
    }
    if (a_.offload_group_size > 0 && a_.offload_num_in_group > a_.offload_group_size) {
      Refuse("engine.contradiction",
             fmt::format("--offload-num-in-group {}", a_.offload_num_in_group),
             fmt::format("more layers than a group of {} has", a_.offload_group_size),
             "at most the group's size");
    }
    const int64_t ring = a_.linear_replayssm_cache_len;
    if (!a_.enable_linear_replayssm_spec) return;
    if ((ring & (ring - 1)) != 0 || ring < 2 * a_.speculative_num_draft_tokens) {
      Refuse("engine.contradiction", fmt::format("--linear-replayssm-cache-len {}", ring),
             fmt::format("a power of two is expected, at least twice the {} tokens of a draft",
                         a_.speculative_num_draft_tokens),
             "16 or 32");
    }
  }

  void Draft() {
    if (!a_.is_speculative()) {
      if (a_.draft_weights) {
        Add(Severity::kWarning, "speculative.none", "--draft-weights",
            "without --speculative-algorithm there is no draft", "");
      }
      return;
    }
    if (!a_.speculative_num_steps && (a_.speculative_eagle_topk || a_.draft_tokens_given)) {
      Refuse("speculative.incomplete", "--speculative-num-steps",
             "SGLang chooses steps, branches and draft tokens together, or none of them: it "
             "asserts where the steps are left out and another is given",
             "give all three, or none");
    } else if (a_.speculative_num_steps && a_.speculative_eagle_topk == 1 &&
               a_.draft_tokens_given &&
               a_.speculative_num_draft_tokens != *a_.speculative_num_steps + 1) {
      Add(Severity::kWarning, "speculative.draft_tokens",
          fmt::format("--speculative-num-draft-tokens {}", a_.speculative_num_draft_tokens),
          fmt::format("with one branch SGLang makes it steps + 1 = {}",
                      *a_.speculative_num_steps + 1),
          fmt::format("--speculative-num-draft-tokens {}", *a_.speculative_num_steps + 1));
    }
  }

  const ServerArgs& a_;
};

class Checker : private Findings {
 public:
  Checker(const Context& c, const Defaults& d) : c_(c), a_(c.args), d_(d) {}

  std::vector<Finding> Run() {
    Window();
    for (const auto& backend :
         {a_.attention_backend, a_.prefill_attention_backend, a_.decode_attention_backend}) {
      if (backend && IsBackend(*backend)) Backend(*backend);
    }
    Append(FlagChecker(a_).Run());
    ContextParallel();
    Draft();
    Experts();
    return Take();
  }

 private:
  void Window() {
    const int64_t window = ContextLength(c_);
    const int64_t most = c_.arch->max_positions;
    if (window <= most || a_.longer_context) return;
    Refuse("window.max_positions", fmt::format("--context-length {}", window),
           fmt::format("SGLang would say: User-specified context_length ({}) is greater than the "
                       "derived context_length ({}).",
                       window, most),
           fmt::format("ask for at most {}, or set SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
                       FormatCount(most)));
  }

  void Backend(const std::string& name) {
    const int capability = c_.gpu->capability;
    const bool blackwell = capability >= 100 && capability < 120;
    const std::string subject = "--attention-backend " + Printable(name, 40);
    const auto card = [&](const char* what) {
      Refuse("engine.backend_card", subject, what, "leave it out, or name one that this card has");
    };
    if (name.starts_with("trtllm_") && !blackwell) {
      card("TensorRT-LLM's attention is only supported on Blackwell GPUs (SM100)");
    } else if (name == "fa3" && (IsHip(*c_.gpu) || capability < 80 || capability > 90)) {
      card("FlashAttention v3 Backend requires SM>=80 and SM<=90");
    } else if ((name == "cutlass_mla" || name == "cutedsl_mla") && !blackwell) {
      card("this latent attention is only supported on Blackwell GPUs (SM100)");
    } else if (name == "aiter" && !IsHip(*c_.gpu)) {
      card("aiter is AMD's");
    } else if (IsHip(*c_.gpu) && (name == "flashmla" || name == "flashinfer")) {
      card("this backend is NVIDIA's");
    }
  }

  void ContextParallel() {
    if (a_.dcp_size == 1 || AttentionTp(a_) % a_.dcp_size != 0) return;
    const std::string subject = fmt::format("--dcp-size {}", a_.dcp_size);
    const std::string& decode = d_.attention_backend;
    const bool given = a_.attention_backend || a_.decode_attention_backend;
    if (UsesMla(*c_.arch) && given && decode != "cutedsl_mla" && decode != "tokenspeed_mla") {
      Refuse("layout.dcp", subject,
             fmt::format("decode context parallelism runs on cutedsl_mla or tokenspeed_mla: SGLang "
                         "asserts for {}",
                         Printable(decode, 40)),
             "--decode-attention-backend cutedsl_mla");
    }
    if (UsesMla(*c_.arch) && (c_.gpu->capability < 100 || c_.gpu->capability >= 120)) {
      Refuse("layout.dcp", subject,
             "decode context parallelism runs on TensorRT-LLM's and CuTe's latent attention, which "
             "are only supported on Blackwell GPUs (SM100)",
             "--dcp-size 1 on this card");
    }
  }

  // Without a path the draft is read from the model's own directory: a whole second model where no
  // MTP layers of it are known (zai-org/GLM-4.5#3, 2025-08).
  void Draft() {
    static const std::set<std::string> own = {"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"};
    if (!own.contains(a_.speculative_algorithm) || a_.draft_weights) return;
    if (!a_.speculative_draft_model_path.empty()) return;
    const int64_t layers = c_.arch->mtp_layers;
    const bool announced =
        layers > 0 && (a_.speculative_algorithm == "EAGLE" || a_.speculative_algorithm == "NEXTN");
    Add(announced ? Severity::kNote : Severity::kWarning, "speculative.draft_from_model",
        "--speculative-algorithm " + Printable(a_.speculative_algorithm, 40),
        announced ? fmt::format("no draft was named: the model's own {} MTP layer(s) are loaded, "
                                "and by releases that do not know them the whole model again",
                                layers)
                  : "no draft was named, and the model has no MTP layers: SGLang loads the whole "
                    "model a second time as its draft",
        announced ? "" : "--speculative-draft-model-path DRAFT");
  }

  void Experts() {
    const int64_t experts = c_.arch->moe.experts;
    const int64_t ep = ExpertParallel(a_);
    if (experts == 0) return;
    if (experts % ep == 0 && a_.redundant_experts % ep != 0) {
      Refuse("layout.redundant_experts",
             fmt::format("--ep-num-redundant-experts {}", a_.redundant_experts),
             fmt::format("{} experts are not divisible by {} expert-parallel ranks",
                         experts + a_.redundant_experts, ep),
             fmt::format("a multiple of {}", ep));
    }
  }

  const Context& c_;
  const ServerArgs& a_;
  const Defaults& d_;
};

}  // namespace

const std::vector<std::string>& AttentionBackends() {
  static const std::vector<std::string> names = {"triton",
                                                 "torch_native",
                                                 "flex_attention",
                                                 "dsa",
                                                 "nsa",
                                                 "dsv4",
                                                 "compressed",
                                                 "cutlass_mla",
                                                 "fa3",
                                                 "fa4",
                                                 "flashinfer",
                                                 "flashmla",
                                                 "trtllm_mla",
                                                 "cutedsl_mla",
                                                 "tokenspeed_mla",
                                                 "trtllm_mha",
                                                 "hpc_ops",
                                                 "dual_chunk_flash_attn",
                                                 "minicpm_flashattn",
                                                 "minicpm_flashinfer",
                                                 "aiter",
                                                 "wave",
                                                 "intel_amx",
                                                 "ascend",
                                                 "intel_xpu"};
  return names;
}

const std::vector<std::string>& AllToAllBackends() {
  static const std::vector<std::string> names = {
      "none", "deepep",     "deepep_v2", "mooncake",      "nixl",     "mori",
      "pplx", "flashinfer", "megamoe",   "ascend_fuseep", "ascend_tp"};
  return names;
}

const std::vector<std::string>& MoeRunners() {
  static const std::vector<std::string> names = {"auto",
                                                 "deep_gemm",
                                                 "triton",
                                                 "triton_kernel",
                                                 "flashinfer_trtllm",
                                                 "experimental_sgl_trtllm",
                                                 "cutlass",
                                                 "aiter",
                                                 "flashinfer_trtllm_routed",
                                                 "marlin",
                                                 "humming",
                                                 "flashinfer_cutlass",
                                                 "flashinfer_mxfp4",
                                                 "hpc_ops",
                                                 "experimental_sgl_marlin",
                                                 "flashinfer_cutedsl",
                                                 "megamoe"};
  return names;
}

std::vector<Finding> CheckFlags(const ServerArgs& args) { return FlagChecker(args).Run(); }

std::vector<Finding> CheckArguments(const Context& c, const Defaults& d) {
  return Checker(c, d).Run();
}

}  // namespace shardplan::sglang
