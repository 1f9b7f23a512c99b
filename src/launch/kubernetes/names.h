// What Kubernetes takes as names, labels and paths.
#ifndef SHARDPLAN_LAUNCH_KUBERNETES_NAMES_H_
#define SHARDPLAN_LAUNCH_KUBERNETES_NAMES_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "shardplan/base/result.h"

namespace shardplan::kubernetes {

// The longest name of a deployment: a LeaderWorkerSet's workers are called NAME-0-63, and their
// StatefulSet puts NAME-0 and a hash of ten characters into a label of at most 63.
constexpr size_t kLongestName = 50;

// A label of RFC 1123: lower-case letters, digits and "-", which neither begins nor ends it.
bool IsDnsLabel(std::string_view text, size_t longest = 63);

// Labels of RFC 1123 joined by dots, at most 253 characters.
bool IsDnsSubdomain(std::string_view text);

// "Kimi-K3" → "kimi-k3": what is no letter or digit becomes "-"; "model" where nothing is left.
std::string MakeDnsLabel(std::string_view text, size_t longest = kLongestName);

// The key of a label, or the name of a resource: "nvidia.com/gpu", "role".
bool IsQualifiedName(std::string_view text);

// At most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends; may be empty.
bool IsLabelValue(std::string_view text);

// A key of a Secret: 1 to 253 letters, digits, "-", "_" and ".".
bool IsSecretKey(std::string_view text);

// A path that a pod can mount: absolute, no "." or ".." in it, not the root, no ":" (the API
// refuses it) and nothing that a terminal must not see. `subject` names the option. Fails with
// kUsage.
Status CheckMountPath(const std::string& subject, const std::string& path);

// The same of a path below a volume: not absolute.
Status CheckRelativePath(const std::string& subject, const std::string& path);

// An image's reference: printable, no spaces, and something before the tag. Fails with kUsage.
Status CheckImage(const std::string& image);

// "sha256:" and 64 hexadecimal digits. Fails with kUsage.
Status CheckDigest(const std::string& digest);

}  // namespace shardplan::kubernetes

#endif  // SHARDPLAN_LAUNCH_KUBERNETES_NAMES_H_
