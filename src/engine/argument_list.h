// The words of a launch command, as they are put together.
#ifndef SHARDPLAN_ENGINE_ARGUMENT_LIST_H_
#define SHARDPLAN_ENGINE_ARGUMENT_LIST_H_

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace shardplan {

// What starts an engine on one node.
struct NodeCommand {
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> argv;
};

class ArgumentList {
 public:
  void Flag(std::string name) { argv_.push_back(std::move(name)); }
  template <typename T>
  void Flag(std::string name, const T& value) {
    argv_.push_back(std::move(name));
    argv_.push_back(fmt::format("{}", value));
  }
  template <typename T>
  void FlagList(std::string name, const std::vector<T>& values) {
    argv_.push_back(std::move(name));
    for (const T& value : values) argv_.push_back(fmt::format("{}", value));
  }

  // Flags of a command that was read and that mean nothing here, each followed by its values. The
  // plan's own, which are there already, are what counts.
  void Extras(const std::vector<std::string>& words);

  std::vector<std::string> Take() { return std::move(argv_); }

 private:
  std::vector<std::string> argv_;
};

// What to serve, as a word that no parser takes for a flag.
std::string ServedModel(const std::string& model);

}  // namespace shardplan

#endif  // SHARDPLAN_ENGINE_ARGUMENT_LIST_H_
