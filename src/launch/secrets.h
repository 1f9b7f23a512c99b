// Keys and tokens, which belong into no file and into no text that is shown.
#ifndef SHARDPLAN_LAUNCH_SECRETS_H_
#define SHARDPLAN_LAUNCH_SECRETS_H_

#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// Whether a variable holds a key, by its name: "HF_TOKEN", "VLLM_API_KEY".
bool LooksSecret(std::string_view variable);

// Whether a flag does: "--api-key", "--hf_token", and what abbreviates them.
bool IsSecretFlag(std::string_view flag);

// The words of one of our own command lines with REMOVED where a key stood, also within the text
// of --from-command. A text without any stays as it is; one that no shell reads is removed whole
// where it names a key.
std::vector<std::string> WithoutSecrets(const std::vector<std::string>& line);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_SECRETS_H_
