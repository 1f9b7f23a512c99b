// shardplan check: is what is there what the deployment needs?
#include "cli/command.h"

namespace shardplan::cli {

CLI::App* AddCheckGroup(CLI::App* parent) {
  return AddSubcommand(parent, "check",
                       "Check what a deployment starts from: a model directory, a command\n\n"
                       "Examples:\n"
                       "  shardplan check model /models/Kimi-K3\n"
                       "  shardplan check command 'vllm serve moonshotai/Kimi-K3 -tp 8'");
}

}  // namespace shardplan::cli
