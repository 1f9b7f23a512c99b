#include "model/module_patterns.h"

#include <re2/re2.h>

#include <algorithm>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

constexpr int64_t kRegexMemory = 1 << 20;
constexpr size_t kMostExpressions = 2000;

// "*" stands for any run of characters, dots included; everything else for itself. Two positions
// are remembered, so the time is at most the product of the lengths.
bool GlobMatch(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// Whether a run of whole components of `module` is one of `names`.
bool HasRun(const std::unordered_set<std::string>& names, std::string_view module) {
  if (names.empty()) return false;
  std::vector<size_t> starts = {0};
  for (size_t dot = module.find('.'); dot != std::string_view::npos;
       dot = module.find('.', dot + 1)) {
    starts.push_back(dot + 1);
  }
  std::string run;
  for (size_t first = 0; first < starts.size(); ++first) {
    for (size_t last = first; last < starts.size(); ++last) {
      const size_t end = last + 1 < starts.size() ? starts[last + 1] - 1 : module.size();
      run.assign(module.substr(starts[first], end - starts[first]));
      if (names.contains(run)) return true;
    }
  }
  return false;
}

// The module or one of its ancestors.
bool GlobMatchAncestors(const std::string& glob, std::string_view module) {
  if (GlobMatch(glob, module)) return true;
  for (size_t dot = module.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = module.rfind('.', dot - 1)) {
    if (GlobMatch(glob, module.substr(0, dot))) return true;
  }
  return false;
}

}  // namespace

Status ModulePatterns::Add(std::string_view text, const std::string& subject) {
  if (text.empty()) return {};
  const bool expression = text.starts_with("re:") || text.find('*') != std::string_view::npos;
  if (expression && globs_.size() + regexes_.size() >= kMostExpressions) {
    return Fail(ErrorCode::kInvalidInput, subject, "expected at most 2,000 patterns, found more");
  }
  if (text.starts_with("re:")) {
    const std::string_view pattern = text.substr(3);
    RE2::Options options;
    options.set_max_mem(kRegexMemory);
    options.set_log_errors(false);
    auto regex =
        std::make_shared<const RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
    if (!regex->ok()) {
      return Fail(ErrorCode::kInvalidInput, subject,
                  "the regular expression '" + Printable(pattern, 60) +
                      "' cannot be read: " + Printable(regex->error(), 60));
    }
    regexes_.push_back(std::move(regex));
  } else if (text.find('*') != std::string_view::npos) {
    globs_.emplace_back(text);
  } else {
    names_.emplace(text);
  }
  return {};
}

bool ModulePatterns::Match(std::string_view module) const {
  const auto any = [](const auto& list, const auto& matches) {
    return std::any_of(list.begin(), list.end(), matches);
  };
  return HasRun(names_, module) ||
         any(globs_, [&](const std::string& glob) { return GlobMatchAncestors(glob, module); }) ||
         any(regexes_, [&](const auto& regex) {
           // As Python's re.match: anchored at the start alone.
           return regex->Match(re2::StringPiece(module.data(), module.size()), 0, module.size(),
                               RE2::ANCHOR_START, nullptr, 0);
         });
}

}  // namespace shardplan
