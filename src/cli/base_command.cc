#include "cli/base_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "cli/from_command.h"
#include "launch/secrets.h"
#include "shardplan/base/file.h"
#include "shardplan/launch/shell.h"

namespace shardplan::cli {
namespace {

// Options that a search chooses, by one name of each.
constexpr std::array<std::string_view, 15> kFree = {"tp",
                                                    "pp",
                                                    "pp-partition",
                                                    "dp",
                                                    "dcp",
                                                    "enable-expert-parallel",
                                                    "ep-size",
                                                    "enable-ep-moe",
                                                    "enable-dp-attention",
                                                    "cpu-offload-gb",
                                                    "cpu-offload-params",
                                                    "offload-backend",
                                                    "offload-group-size",
                                                    "offload-num-in-group",
                                                    "offload-prefetch-step"};

class Rewriter {
 public:
  Rewriter(const OptionSet& set, const CommandReading& reading, BaseCommand* out)
      : set_(set), reading_(reading), out_(*out) {}

  void Write() {
    const ServeCommand& serve = reading_.serve;
    const bool vllm = serve.engine == "vllm";
    std::vector<std::string> words;
    const std::string image = ImageOf(serve, vllm);
    if (!image.empty()) words = {"docker", "run"};
    for (const auto& [name, value] : serve.env) {
      if (!Keeps(name, value)) continue;
      if (!image.empty()) words.emplace_back("-e");
      words.push_back(name + "=" + value.text);
    }
    if (!image.empty()) {
      if (vllm) words.insert(words.end(), {"--entrypoint", "vllm"});
      words.push_back(image);
    }
    const std::string model = reading_.command.model && !reading_.command.model->expands
                                  ? reading_.command.model->text
                                  : std::string();
    if (vllm) {
      if (image.empty()) words.emplace_back("vllm");
      words.emplace_back("serve");
      if (!model.empty()) words.push_back(model);
    } else {
      words.insert(words.end(), {"python3", "-m", "sglang.launch_server"});
      if (!model.empty()) words.insert(words.end(), {"--model-path", model});
    }
    for (const ParsedFlag& flag : reading_.command.flags) Add(flag, &words);
    for (const std::string& word : words) {
      out_.text += (out_.text.empty() ? "" : " ") + Quoted(word);
    }
  }

 private:
  // Its tag names the version. Where a shell completes the name, the publisher's stands for it.
  static std::string ImageOf(const ServeCommand& serve, bool vllm) {
    if (!serve.image_whole.empty()) {
      return serve.image_whole + (serve.image_digest.empty() ? "" : "@" + serve.image_digest);
    }
    if (serve.image_tag.empty()) return "";
    return (vllm ? "vllm/" : "lmsysorg/") + serve.image + ":" + serve.image_tag;
  }

  bool IsFree(const OptionSet::Known* option) const {
    return option != nullptr && !option->given() &&
           std::any_of(kFree.begin(), kFree.end(),
                       [&](std::string_view name) { return set_.Find(name) == option; });
  }

  bool Keeps(const std::string& name, const ShellWord& value) {
    if (value.expands || LooksSecret(name)) return false;
    if (!name.ends_with("_PP_LAYER_PARTITION")) return true;
    if (!IsFree(set_.Find("pp-partition"))) return true;
    out_.freed.push_back(name + "=" + value.text);
    return false;
  }

  void Add(const ParsedFlag& flag, std::vector<std::string>* words) {
    const FlagEffect effect = flag.row->effect;
    const std::vector<std::string> own = flag.Words();
    const OptionSet::Known* const option = OptionOf(set_, *flag.row);
    if (IsFree(option)) {
      out_.freed.push_back(fmt::format("{}", fmt::join(own, " ")));
      return;
    }
    // Which process this is, and what nobody else may read, is no part of a plan.
    if (flag.expands || effect == FlagEffect::kPlace || effect == FlagEffect::kSecret) return;
    words->insert(words->end(), own.begin(), own.end());
    if (option != nullptr) out_.options.push_back(option->names.front());
    for (const JsonField& field : flag.fields) {
      const FlagRow& row = RowOfField(reading_.table, *flag.row, field.path);
      const OptionSet::Known* const part = &row == flag.row ? nullptr : OptionOf(set_, row);
      if (part != nullptr) out_.options.push_back(part->names.front());
    }
  }

  // NAME=VALUE stays an assignment.
  static std::string Quoted(const std::string& word) {
    const size_t equals = word.find('=');
    const bool assigns = equals != std::string::npos && equals > 0 && word[0] != '-' &&
                         word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == equals;
    if (!assigns) return ShellQuote(word);
    return word.substr(0, equals + 1) + ShellQuote(word.substr(equals + 1));
  }

  const OptionSet& set_;
  const CommandReading& reading_;
  BaseCommand& out_;
};

Status Read(const std::string& text, const OptionSet& set, const std::vector<std::string>& engines,
            DeploymentOptions* out, BaseCommand* base) {
  if (engines.size() > 1) {
    return Fail(ErrorCode::kUsage, "--engine",
                fmt::format("expected one beside --from-command, found {}", engines.size()),
                "the command starts one engine: search the other one without it");
  }
  if (!engines.empty()) SHARDPLAN_RETURN_IF_ERROR(ParseEngine(engines[0], &out->deployment));
  SHARDPLAN_ASSIGN_OR_RETURN(const ConfigStore store, StoreOf(set));
  DeploymentOptions whole = *out;
  SHARDPLAN_ASSIGN_OR_RETURN(const CommandReading reading,
                             ReadCommand(text, store, set, nullptr, &whole));
  Rewriter(set, reading, base).Write();
  base->today = whole.deployment;
  SHARDPLAN_RETURN_IF_ERROR(ApplyCommand(base->text, store, set, out));
  out->model = whole.model;
  Deployment& d = out->deployment;
  d.nodes = whole.deployment.nodes;
  if (!d.cluster) d.gpus_per_node = whole.deployment.gpus_per_node;
  return {};
}

}  // namespace

void AddBaseCommand(OptionSet* options, const std::vector<std::string>* engines,
                    DeploymentOptions* out, BaseCommand* base) {
  options->Group("What runs today (the options above override it)");
  const auto text = std::make_shared<std::string>();
  options->Text("--from-command", "COMMAND",
                "What starts the engine: 'vllm serve MODEL --flag …'; its layout and its offload "
                "are searched, the rest of it stays",
                [text](std::string given) { *text = std::move(given); });
  options->Afterwards([options, engines, out, base, text]() -> Status {
    if (text->empty()) return {};
    return Read(*text, *options, *engines, out, base);
  });
}

}  // namespace shardplan::cli
