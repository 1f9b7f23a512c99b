#include "cli/draft_place.h"

#include <algorithm>

#include "shardplan/base/file.h"

namespace shardplan::cli {
namespace {

constexpr const char* kOption = "--draft-path";

// The draft's path that was planned from; empty where speculation has none of its own.
std::string DraftOf(const Deployment& deployment) {
  if (deployment.engine == "sglang") {
    const bool speculates = deployment.sglang.is_speculative();
    return speculates ? deployment.sglang.speculative_draft_model_path : "";
  }
  const auto& speculation = deployment.settings.speculation;
  return speculation ? speculation->model : "";
}

// "ORG/NAME", of letters, digits, '.', '-' and '_'.
bool IsRepository(const std::string& text) {
  const auto part = [](char c) {
    return c == '.' || c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  };
  const size_t slash = text.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.size()) return false;
  if (text[0] == '.' || text[0] == '-' || text[slash + 1] == '.') return false;
  return std::all_of(text.begin(), text.end(),
                     [&](const char& c) { return part(c) || &c == text.data() + slash; });
}

}  // namespace

Status PlaceDraft(const std::string& given, Deployment* deployment) {
  const std::string draft = DraftOf(*deployment);
  if (!given.empty()) {
    if (draft.empty()) {
      return Fail(ErrorCode::kUsage, std::string(kOption) + " " + Printable(given, 60),
                  "expected a draft that this is the place of, found none",
                  deployment->engine == "sglang"
                      ? "name it with --speculative-draft-model-path too"
                      : "name its config as \"model\" of --speculative-config too");
    }
    if (!given.starts_with('/') && !IsRepository(given)) {
      return Fail(ErrorCode::kUsage, std::string(kOption) + " " + Printable(given, 60),
                  "expected an absolute directory of the nodes, or a repository as ORG/NAME");
    }
    deployment->settings.served_draft = given;
    return {};
  }
  if (draft.empty() || !Exists(draft)) return {};
  if (!draft.starts_with('/')) {
    return Fail(ErrorCode::kUsage, "draft " + Printable(draft, 60),
                "expected where the nodes find it, found a path from this directory",
                std::string(kOption) + " DIR, absolute, or the ORG/NAME that the engine downloads");
  }
  if (!IsDirectory(draft)) {
    const std::string directory = draft.substr(0, draft.rfind('/'));
    deployment->settings.served_draft = directory.empty() ? "/" : directory;
  }
  return {};
}

}  // namespace shardplan::cli
