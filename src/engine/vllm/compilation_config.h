// vLLM's --compilation-config: JSON within a flag.
#ifndef SHARDPLAN_ENGINE_VLLM_COMPILATION_CONFIG_H_
#define SHARDPLAN_ENGINE_VLLM_COMPILATION_CONFIG_H_

#include <optional>
#include <string>

#include "shardplan/base/result.h"
#include "shardplan/engine/settings.h"

namespace shardplan::vllm {

// Reads the keys that change memory ("mode", "cudagraph_mode", "cudagraph_capture_sizes",
// "max_cudagraph_capture_size", "pass_config.enable_sp") into `settings`; the others are kept by
// name in `compilation_keys_ignored`. Fails with kUsage for what is no such object.
Status ReadCompilationConfig(const std::string& json, EngineSettings* settings);

// The flag's value that says the same; nothing where no key is set. Sizes have flags of their own.
std::optional<std::string> CompilationConfigOf(const EngineSettings& settings);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_COMPILATION_CONFIG_H_
