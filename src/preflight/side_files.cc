#include "preflight/side_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "checkpoint/index.h"
#include "checkpoint/padded_text.h"
#include "model/config_reader.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"
#include "shardplan/preflight/directory.h"

namespace shardplan {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr Bytes kMaxConfig(16 * kMiB);
constexpr Bytes kMaxTokenizer(128 * kMiB);

// Python's json takes NaN and Infinity, which the second reader knows.
bool IsJson(const std::string& text, const std::string& subject) {
  return nlohmann::json::accept(text) || ParseConfigObject(text, subject).has_value();
}

class SideFiles {
 public:
  SideFiles(const std::string& directory, const std::vector<std::string>& names)
      : directory_(directory), names_(names.begin(), names.end()) {}

  std::vector<Finding> Look() {
    if (!names_.contains("config.json")) {
      Add("model.config_missing", Severity::kError, directory_,
          "expected a config.json, found none", "copy the model's config.json there");
    }
    for (const std::string_view name : {"generation_config.json", "hf_quant_config.json",
                                        "special_tokens_map.json", "tokenizer.json"}) {
      LookAtJson(std::string(name));
    }
    LookAtCode("config.json", Severity::kWarning);
    LookAtCode("tokenizer_config.json", Severity::kError);
    LookAtCode("preprocessor_config.json", Severity::kWarning);
    LookAtCode("processor_config.json", Severity::kWarning);
    LookForTokenizer();
    TellCode();
    return std::move(findings_);
  }

 private:
  void Add(std::string id, Severity severity, const std::string& path, std::string message,
           std::string fix) {
    findings_.push_back(
        {std::move(id), severity, Printable(path), std::move(message), std::move(fix)});
  }

  // The text of a file that is there and can be read; what cannot is told by DirectoryFindings.
  std::optional<std::string> TextOf(const std::string& name, Bytes limit) const {
    if (!names_.contains(name)) return std::nullopt;
    Result<std::string> text = ReadTextFile(JoinPath(directory_, name), limit);
    if (!text || IsLfsPointer(*text)) return std::nullopt;
    return *std::move(text);
  }

  void TellBroken(const std::string& name, const std::string& text) {
    Add("model.json_broken", Severity::kError, JoinPath(directory_, name),
        text.empty() ? "expected JSON, the file is empty" : "expected JSON, could not parse",
        "fetch the file again");
  }

  void LookAtJson(const std::string& name) {
    const std::optional<std::string> text = TextOf(name, kMaxTokenizer);
    if (text && !IsJson(*text, name)) TellBroken(name, *text);
  }

  void LookAtCode(const std::string& name, Severity severity) {
    const std::optional<std::string> text = TextOf(name, kMaxConfig);
    if (!text) return;
    const Result<nlohmann::json> json = ParseConfigObject(*text, name);
    if (!json) {
      // What is wrong with the model's own config is told by the reader of models.
      if (name != "config.json" && !nlohmann::json::accept(*text)) TellBroken(name, *text);
      return;
    }
    const auto map = json->find("auto_map");
    if (map == json->end() || !map->is_object()) return;
    for (const auto& [kind, value] : map->items()) {
      if (value.is_string()) NeedCode(name, severity, value.get<std::string>());
      if (!value.is_array()) continue;
      for (const nlohmann::json& element : value) {
        if (element.is_string()) NeedCode(name, severity, element.get<std::string>());
      }
    }
  }

  // "configuration_kimi.KimiConfig", or "owner/name--configuration_kimi.KimiConfig" for code of
  // another repository. Source: transformers/dynamic_module_utils.py get_class_from_dynamic_module
  // (4.57).
  void NeedCode(const std::string& name, Severity severity, const std::string& reference) {
    const size_t dashes = reference.find("--");
    if (dashes != std::string::npos) {
      elsewhere_.insert(reference.substr(0, dashes));
      return;
    }
    const size_t dot = reference.find('.');
    if (dot == 0 || dot == std::string::npos || reference.find('.', dot + 1) != std::string::npos)
      return;
    const std::string module = reference.substr(0, dot) + ".py";
    if (!IsPlainFileName(module) || names_.contains(module)) return;
    const auto [at, added] = missing_.insert({module, {severity, name}});
    if (!added && severity < at->second.first) at->second = {severity, name};
  }

  void TellCode() {
    for (const Severity severity : {Severity::kError, Severity::kWarning}) {
      std::vector<std::string> modules;
      std::string by;
      for (const auto& [module, need] : missing_) {
        if (need.first != severity) continue;
        modules.push_back(module);
        by = need.second;
      }
      if (modules.empty()) continue;
      Add("model.code_missing", severity, JoinPath(directory_, by),
          "auto_map names code that is not there: " + NameSome(modules),
          "fetch it as well: --trust-remote-code fails without");
    }
    if (elsewhere_.empty()) return;
    Add("model.code_elsewhere", Severity::kWarning, directory_,
        "auto_map names code of other repositories, which is fetched at every start: " +
            NameSome({elsewhere_.begin(), elsewhere_.end()}),
        "a node without access to the hub needs it in its cache");
  }

  void LookForTokenizer() {
    const auto is_one = [&](const std::string& name) {
      return name == "tokenizer.json" || name == "tokenizer.model" || name == "tekken.json" ||
             name == "spiece.model" || name.ends_with(".tiktoken") || name == "tiktoken.model" ||
             (name == "vocab.json" && names_.contains("merges.txt"));
    };
    const std::string fix =
        "fetch it as well, unless --tokenizer names another place or none is wanted";
    if (std::none_of(names_.begin(), names_.end(), is_one)) {
      Add("model.tokenizer_missing", Severity::kWarning, directory_,
          "expected a tokenizer (tokenizer.json, tokenizer.model or another vocabulary), found "
          "none",
          fix);
    } else if (!names_.contains("tokenizer_config.json") && !names_.contains("tekken.json")) {
      Add("model.tokenizer_missing", Severity::kWarning, directory_,
          "a tokenizer without tokenizer_config.json: no special tokens, and no chat template",
          fix);
    }
  }

  const std::string& directory_;
  const Names names_;
  std::map<std::string, std::pair<Severity, std::string>> missing_;  // module → for which file
  std::set<std::string> elsewhere_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> SideFileFindings(const std::string& directory,
                                      const std::vector<std::string>& names) {
  return SideFiles(directory, names).Look();
}

}  // namespace shardplan
