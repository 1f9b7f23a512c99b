#include "model/module_patterns.h"

#include <re2/re2.h>

#include <algorithm>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

constexpr int64_t kRegexMemory = 1 << 20;

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

// Whether `name` stands in `module` as a run of whole components.
bool HasComponents(std::string_view module, std::string_view name) {
  for (size_t at = module.find(name); at != std::string_view::npos;
       at = module.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || module[at - 1] == '.') && (end == module.size() || module[end] == '.')) {
      return true;
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
  if (text.starts_with("re:")) {
    const std::string_view expression = text.substr(3);
    RE2::Options options;
    options.set_max_mem(kRegexMemory);
    options.set_log_errors(false);
    auto regex = std::make_shared<const RE2>(re2::StringPiece(expression.data(), expression.size()),
                                             options);
    if (!regex->ok()) {
      return Fail(ErrorCode::kInvalidInput, subject,
                  "the regular expression '" + Printable(expression, 60) +
                      "' cannot be read: " + Printable(regex->error(), 60));
    }
    regexes_.push_back(std::move(regex));
  } else if (text.find('*') != std::string_view::npos) {
    globs_.emplace_back(text);
  } else {
    names_.emplace_back(text);
  }
  return {};
}

bool ModulePatterns::Match(std::string_view module) const {
  const auto any = [](const auto& list, const auto& matches) {
    return std::any_of(list.begin(), list.end(), matches);
  };
  return any(names_, [&](const std::string& name) { return HasComponents(module, name); }) ||
         any(globs_, [&](const std::string& glob) { return GlobMatchAncestors(glob, module); }) ||
         any(regexes_, [&](const auto& regex) {
           // As Python's re.match: anchored at the start alone.
           return regex->Match(re2::StringPiece(module.data(), module.size()), 0, module.size(),
                               RE2::ANCHOR_START, nullptr, 0);
         });
}

}  // namespace shardplan
