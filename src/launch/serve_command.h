// The command that serves, in what a person pasted.
#ifndef SHARDPLAN_LAUNCH_SERVE_COMMAND_H_
#define SHARDPLAN_LAUNCH_SERVE_COMMAND_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/shell_words.h"
#include "shardplan/base/result.h"

namespace shardplan {

// The words behind the program that serves, and what was set for it.
struct ServeCommand {
  std::string engine;                                  // "vllm", "sglang"
  std::vector<std::pair<std::string, ShellWord>> env;  // in order; a later one replaces an earlier
  std::vector<ShellWord> words;                        // MODEL and flags
  bool model_first = false;  // a first word without a dash is the model, whatever the parser says
  std::string image;         // "vllm-openai" of vllm/vllm-openai:v0.11.0; empty: no image
  std::string image_tag;     // "v0.11.0"; empty: no image, or no tag
  std::string image_whole;   // "vllm/vllm-openai:v0.11.0"; empty where a shell completes it
  std::string image_digest;  // "sha256:…"
};

// "12.9" of the tag "v0.31.0-cu129"; empty where it names none.
std::string CudaOfTag(const std::string& tag);

// "v0.31.0-cu129" of "registry:5000/vllm/vllm-openai:v0.31.0-cu129@sha256:…"
std::string TagOf(const std::string& image);

// Finds the one command in a script that serves: `vllm serve …`, `python -m
// vllm.entrypoints.openai.api_server …`, the arguments of a vllm-openai image, `python -m
// sglang.launch_server …`, `sglang serve …`. What comes before it may be assignments, export, env,
// `docker run … IMAGE` with its -e NAME=VALUE, and other programs that start it (nohup, numactl …),
// also as `bash -c '…'`; `docker run --entrypoint vllm IMAGE serve …` is read as docker does. `ray
// start` beside it is no program of its own. Fails with kUsage as SplitShell does, and where there
// is no such command or another one beside it.
Result<ServeCommand> FindServeCommand(std::string_view text);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_SERVE_COMMAND_H_
