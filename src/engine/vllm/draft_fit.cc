#include "engine/vllm/draft_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

constexpr const char* kOption = "--speculative-config";

// Families that are drafts, and what vLLM loads them for.
struct DraftFamily {
  std::string_view family;
  std::string_view method;
};
constexpr std::array<DraftFamily, 6> kFamilies = {{{"dflash", "dflash"},
                                                   {"dspark", "dspark"},
                                                   {"eagle", "eagle"},
                                                   {"eagle3", "eagle3"},
                                                   {"eagle3-mla", "eagle3"},
                                                   {"medusa", "medusa"}}};

// What torch says where a draft's matrix meets hidden states of another width.
constexpr const char* kShapes = "mat1 and mat2 shapes cannot be multiplied";
// A head has one layer, or a few; the smallest whole models have 16.
constexpr int64_t kLayersOfAHead = 8;

class Fit {
 public:
  Fit(const Speculation& s, const DraftSource& source, const Draft& draft,
      const ParallelSizes& sizes)
      : s_(s), target_(*source.target), a_(*source.arch), draft_(draft), sizes_(sizes) {}

  std::vector<Finding> Check() {
    Method();
    if (draft_.method == "draft_model") {
      Group();
      WholeVocabulary();
      return std::move(findings_);
    }
    Vocabulary();
    Width();
    if (draft_.method != "medusa" && draft_.method != "eagle") Layers();
    return std::move(findings_);
  }

 private:
  void Add(const char* id, Severity severity, std::string what, std::string instead) {
    findings_.push_back({id, severity, kOption, std::move(what), std::move(instead)});
  }

  void Method() {
    constexpr const char* kId = "speculative.method";
    const std::string& named = a_.draft.named;
    const std::string& method = draft_.method;
    // vllm/config/speculative.py detects by path, a Medusa head by its model_type and DSpark drafts
    // of Qwen3 by their class; everything else is a draft model.
    const bool detected =
        method == "draft_model" || method == "medusa" || a_.name == "Qwen3DSparkModel";
    if (s_.method.empty() && !detected) {
      Add(kId, Severity::kError,
          fmt::format("no method is given, and the draft's path doesn't tell vLLM one: it loads "
                      "{} as a whole draft model, and fails",
                      Printable(a_.name)),
          fmt::format(R"("method": "{}")", method));
    }
    // MedusaConfig takes any config, and the class passes over tensors that it doesn't know
    // (models/medusa.py:load_weights).
    if (method == "medusa" && !named.empty() && named.find("Medusa") == std::string::npos) {
      Add(kId, Severity::kError,
          fmt::format("method medusa, and the draft's class is {}: vLLM builds Medusa heads of its "
                      "config, loads none of its tensors into them and says 'Following weights "
                      "were not initialized from checkpoint'",
                      Printable(named)),
          "the draft's own method, or a Medusa head");
    }
    const bool rebuilt = method == "eagle" || method == "eagle3";
    const bool own_words = a_.draft.words > 0 && a_.draft.words != a_.vocabulary;
    if (rebuilt && !named.empty() && !own_words && a_.layers() >= kLayersOfAHead) {
      Add(kId, Severity::kWarning,
          fmt::format("method {}, and {} of {} layers looks like a whole model: vLLM builds {} of "
                      "its config, and fails on tensors of any other ('There is no module or "
                      "parameter named …')",
                      method, Printable(named), a_.layers(), Printable(a_.name)),
          R"("method": "draft_model" for a whole model)");
    }
  }

  void Group() {
    if (!s_.draft_tp || *s_.draft_tp == sizes_.tp) return;
    Add("speculative.draft_tp", Severity::kError,
        fmt::format("vLLM runs a draft model in the target's tensor-parallel group: "
                    "draft_tensor_parallel_size {} must be {}",
                    *s_.draft_tp, sizes_.tp),
        fmt::format(R"("draft_tensor_parallel_size": {})", sizes_.tp));
  }

  // verify_equal_vocab_size_if_draft_model
  void WholeVocabulary() {
    if (target_.vocabulary == a_.vocabulary || s_.any_vocabulary) return;
    Add("speculative.vocabulary", Severity::kError,
        fmt::format("Target and draft model should have the same vocabulary size. Target model "
                    "vocab_size={}. Draft model vocab_size={}.",
                    target_.vocabulary, a_.vocabulary),
        R"(another draft, or "use_heterogeneous_vocab": true)");
  }

  // Of heads vLLM compares no vocabulary but Qwen3-Omni's.
  void Vocabulary() {
    constexpr const char* kId = "speculative.vocabulary";
    const int64_t words = a_.draft.words;
    const int64_t of_target = target_.vocabulary;
    if (draft_.method == "medusa") {
      if (words == 0 || words == of_target || words < a_.vocabulary) return;
      Add(kId, Severity::kWarning,
          fmt::format("the Medusa heads are of {} words, and the target has {}: vLLM makes them of "
                      "the target's, which the files' tables don't fit; earlier releases guess "
                      "words of another vocabulary (assumed)",
                      FormatCount(words), FormatCount(of_target)),
          "heads that were trained for this model");
      return;
    }
    if (draft_.method == "eagle") return;  // both tables are the target's
    if (words > a_.vocabulary) {
      // models/llama_eagle3.py:compute_logits writes the logits of `words` into vocab_size columns.
      Add(kId, Severity::kError,
          fmt::format("the draft's draft_vocab_size {} is above its own vocab_size {}: its logits "
                      "have no place for the rest, and vLLM fails when it drafts first (an index "
                      "out of bounds)",
                      FormatCount(words), FormatCount(a_.vocabulary)),
          "a config.json that belongs to the draft's files");
      return;
    }
    const int64_t most = std::max(words, a_.vocabulary);
    if (most <= of_target) return;
    Add(kId, Severity::kWarning,
        fmt::format("the draft knows {} words and the target {}: vLLM compares the vocabularies of "
                    "whole draft models alone, and a guess beyond the target's is an index out of "
                    "bounds (assumed; padding that is never guessed does no harm)",
                    FormatCount(most), FormatCount(of_target)),
        "a draft that was trained for this model");
  }

  void Width() {
    constexpr const char* kId = "speculative.hidden_size";
    const int64_t wanted = a_.draft.target_hidden;
    if (wanted > 0 && wanted != target_.hidden) {
      Add(kId, Severity::kError,
          fmt::format("the draft takes hidden states of {}, and {} has {}: vLLM compares them "
                      "nowhere and fails when it drafts first ({})",
                      FormatCount(wanted), Printable(target_.name), FormatCount(target_.hidden),
                      kShapes),
          "a draft that was trained for this model");
      return;
    }
    // What it takes of the target whole, without a matrix between.
    const bool embeds =
        std::any_of(draft_.table.rows.begin(), draft_.table.rows.end(),
                    [](const ModuleRow& row) { return row.param == "model.embed_tokens.weight"; });
    const bool takes_states = wanted > 0 && a_.draft.joined == 0;
    if (a_.hidden == target_.hidden || (embeds && !takes_states)) return;
    Add(kId, Severity::kError,
        fmt::format(
            "the draft is {} wide and takes the target's {}, which is {} wide: vLLM "
            "compares them nowhere and fails when it drafts first ({})",
            FormatCount(a_.hidden), embeds ? "last hidden state" : "embedding",
            FormatCount(target_.hidden),
            embeds ? kShapes : "hidden_states and input_embeds must have the same last dimension"),
        "a draft that was trained for this model, or that stores its embedding");
  }

  void Layers() {
    constexpr const char* kId = "speculative.target_layers";
    const std::vector<int64_t>& taken = a_.draft.target_layers;
    const int64_t layers = target_.layers();
    const bool beyond = std::any_of(taken.begin(), taken.end(),
                                    [&](int64_t layer) { return layer < 0 || layer > layers; });
    if (a_.draft.joined > 0 && beyond) {
      // models/interfaces.py:EagleModelMixin._maybe_add_hidden_state
      Add(kId, Severity::kError,
          fmt::format("the draft takes hidden states after layers {}, and {} has {}: vLLM checks "
                      "it nowhere, collects those that are there and fails when it drafts first "
                      "({})",
                      fmt::join(taken, ", "), Printable(target_.name), layers, kShapes),
          "a draft that was trained for this model");
      return;
    }
    // Block drafts join as many as their lists name.
    if (draft_.method != "eagle3" || a_.draft.joined == 0) return;
    constexpr int64_t kDefault = 3;  // get_eagle3_default_aux_hidden_state_layers
    const int64_t given = taken.empty() ? kDefault : static_cast<int64_t>(taken.size());
    if (given == a_.draft.joined) return;
    Add(kId, Severity::kError,
        fmt::format("the head joins {} hidden states of the target, and {}: vLLM checks it nowhere "
                    "and fails when it drafts first ({})",
                    a_.draft.joined,
                    taken.empty() ? std::string("its config names no layers, which stands for 3")
                                  : fmt::format("its config names {} layers", given),
                    kShapes),
        "num_aux_hidden_states and eagle_aux_hidden_state_layer_ids that agree");
  }

  const Speculation& s_;
  const Architecture& target_;
  const Architecture& a_;
  const Draft& draft_;
  const ParallelSizes& sizes_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string MethodOfShape(const Architecture& arch) {
  for (const DraftFamily& f : kFamilies) {
    if (f.family == arch.family) return std::string(f.method);
  }
  return "draft_model";
}

std::optional<Error> RefuseShape(const std::string& method, const Architecture& arch) {
  const std::string shape = MethodOfShape(arch);
  if (method.empty() || method == shape) return std::nullopt;
  const auto refuse = [&](std::string why) {
    return Error{ErrorCode::kUsage, kOption,
                 fmt::format("method {}, and the draft's class is {}: vLLM {}", method,
                             Printable(arch.name), why),
                 fmt::format(R"("method": "{}")", shape)};
  };
  if (method == "draft_model") {
    return refuse(
        "hands a draft model no hidden states of the target, which this needs, and fails "
        "in its first dummy run");
  }
  if (method == "dflash") {
    const std::string wanted = "DFlash" + arch.name;
    return refuse(
        fmt::format("looks for {}, and would say: Model architectures ['{}'] are not "
                    "supported for now",
                    Printable(wanted), Printable(wanted)));
  }
  if (method == "dspark") {
    return refuse(
        "takes drafts of other classes than DSpark's for the stages inside DeepSeek-V4's "
        "own files, and fails on their tensors");
  }
  if (shape != "draft_model") {
    return refuse(
        fmt::format("builds another class of it for {}, which its files don't fill", method));
  }
  return std::nullopt;
}

std::vector<Finding> CheckFit(const Speculation& speculation, const DraftSource& source,
                              const Draft& draft, const ParallelSizes& sizes) {
  return Fit(speculation, source, draft, sizes).Check();
}

}  // namespace shardplan::vllm
