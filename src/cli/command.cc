#include "cli/command.h"

#include <CLI/App.hpp>

namespace shardplan::cli {

CLI::App* AddSubcommand(CLI::App* parent, const std::string& name, const std::string& description,
                        const std::string& footer) {
  CLI::App* const app = parent->add_subcommand(name, description);
  if (!footer.empty()) app->footer(footer);
  return app;
}

}  // namespace shardplan::cli
