// The parts of which the scripts of a deployment are made: node-N.sh is short and reads common.sh.
#ifndef SHARDPLAN_LAUNCH_BASH_SCRIPT_H_
#define SHARDPLAN_LAUNCH_BASH_SCRIPT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launch/common_part.h"
#include "launch/node_launch.h"

namespace shardplan {

// A word in an array: one with a comma is quoted as well, so that nobody takes it for two.
std::string BashElement(const std::string& word);

// A word of a node's command: quoted, with a variable of the place in double quotes.
std::string BashWord(const PreparedLaunch& launch, const std::string& word);

// The words of groups, a group a line, each line behind `indent` spaces.
std::string BashWords(const PreparedLaunch& launch, const std::vector<ArgumentGroup>& groups,
                      int indent);

// The last line of an array of arguments: what the script of a node adds, where any adds something.
std::string OwnArguments(const Factored<ArgumentGroup>& arguments);

// "export NAME=VALUE", a line each.
std::string BashExports(const std::vector<std::pair<std::string, std::string>>& env);

// The beginning of common.sh: `fail`, `--dry-run`, `show` and `need`.
std::string CommonHead(const std::string& purpose, const PreparedLaunch& launch);

struct SiteSectionOptions {
  bool from_interface = false;      // a node's address is its interface's, where nobody says it
  bool master_before_port = false;  // besides what the commands have
};
// The variables of the place: what is known of all nodes is set, what is not is asked for, what the
// engine reads is exported.
std::string SiteSection(const PreparedLaunch& launch, const SiteSectionOptions& options = {});

// Node 0's address in front of a port: where it may be an IPv6 address, SiteSection sets a variable
// of its own.
std::string MasterBeforePort(const PreparedLaunch& launch);

// `check`: what must be there before anything starts. `programs` are looked for on PATH, each with
// what to do where it is missing.
std::string CheckFunction(const PreparedLaunch& launch,
                          const std::vector<std::pair<std::string, std::string>>& programs,
                          const std::vector<std::string>& more_lines = {});

// The names that a dry run shows in front of a command: the plan's and the place's.
std::string ShownNames(const PreparedLaunch& launch);

// The beginning of the script of one node: what it is, its own variables, and common.sh.
std::string NodeHead(const PreparedLaunch& launch, size_t node,
                     const std::vector<std::pair<std::string, std::string>>& env);

// "Node 0 of 2, ranks 0 to 7, stage 0"
std::string DescribeNode(const PreparedLaunch& launch, size_t node);

// The environment of each node, for FactorEnvironment.
std::vector<std::vector<std::pair<std::string, std::string>>> Environments(
    const PreparedLaunch& launch);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_BASH_SCRIPT_H_
