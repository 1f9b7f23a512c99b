// Help texts that fit 100 columns.
#ifndef SHARDPLAN_CLI_HELP_H_
#define SHARDPLAN_CLI_HELP_H_

#include <CLI/App.hpp>
#include <CLI/FormatterFwd.hpp>
#include <string>

namespace shardplan::cli {

// Purpose and examples first (both in the description), then usage, words, options by group and
// commands.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_HELP_H_
