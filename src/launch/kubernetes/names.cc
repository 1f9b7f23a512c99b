#include "launch/kubernetes/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "shardplan/base/file.h"

namespace shardplan::kubernetes {
namespace {

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlphanumeric(char c) { return IsLower(c) || IsDigit(c) || (c >= 'A' && c <= 'Z'); }

bool IsShown(const std::string& text) { return Printable(text, 4 * text.size() + 4) == text; }

// Components between slashes, none of them empty, "." or "..".
bool HasPlainComponents(std::string_view path) {
  while (true) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

tl::unexpected<Error> Refuse(const std::string& subject, const std::string& expected,
                             const std::string& found) {
  return Fail(ErrorCode::kUsage, subject,
              fmt::format("expected {}, found '{}'", expected, Printable(found)));
}

}  // namespace

bool IsDnsLabel(std::string_view text, size_t longest) {
  if (text.empty() || text.size() > longest || text.front() == '-' || text.back() == '-') {
    return false;
  }
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; });
}

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > 253) return false;
  while (true) {
    const size_t end = std::min(text.find('.'), text.size());
    if (!IsDnsLabel(text.substr(0, end))) return false;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}

std::string MakeDnsLabel(std::string_view text, size_t longest) {
  std::string out;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c + 32);
    } else if (IsLower(c) || IsDigit(c)) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  if (out.size() > longest) out.resize(longest);
  while (!out.empty() && out.back() == '-') out.pop_back();
  // A Service's name begins with a letter (RFC 1035).
  if (!out.empty() && IsDigit(out.front())) out = MakeDnsLabel("m-" + out, longest);
  return out.empty() ? "model" : out;
}

bool IsLabelValue(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() > 63 || !IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back()))
    return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsQualifiedName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    if (!IsDnsSubdomain(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  return !text.empty() && IsLabelValue(text);
}

bool IsSecretKey(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

Status CheckMountPath(const std::string& subject, const std::string& path) {
  const std::string trimmed =
      path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  const bool good = trimmed.starts_with('/') &&
                    HasPlainComponents(std::string_view(trimmed).substr(1)) &&
                    path.find(':') == std::string::npos && IsShown(path);
  if (good) return {};
  return Refuse(subject, "an absolute path without '..', ':' or control characters", path);
}

Status CheckRelativePath(const std::string& subject, const std::string& path) {
  const bool good =
      HasPlainComponents(path) && path.find(':') == std::string::npos && IsShown(path);
  if (good) return {};
  return Refuse(subject, "a path below the volume, without '..', ':' or control characters", path);
}

Status CheckImage(const std::string& image) {
  const bool plain = std::all_of(image.begin(), image.end(), [](char c) {
    return IsAlphanumeric(c) || std::string_view("-_./:@+").find(c) != std::string_view::npos;
  });
  if (plain && !image.empty() && IsAlphanumeric(image.front()) && IsAlphanumeric(image.back())) {
    return {};
  }
  return Refuse("--image", "an image such as vllm/vllm-openai:v0.31.0", image);
}

Status CheckDigest(const std::string& digest) {
  constexpr size_t kDigits = 64;
  const bool good = digest.starts_with("sha256:") && digest.size() == 7 + kDigits &&
                    digest.find_first_not_of("0123456789abcdef", 7) == std::string::npos;
  if (good) return {};
  return Refuse("--image-digest", "sha256: and 64 lower-case hexadecimal digits", digest);
}

}  // namespace shardplan::kubernetes
