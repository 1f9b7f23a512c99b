// The command that starts vLLM on one node.
#ifndef SHARDPLAN_ENGINE_VLLM_ARGUMENTS_H_
#define SHARDPLAN_ENGINE_VLLM_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/argument_list.h"
#include "engine/vllm/context.h"

namespace shardplan::vllm {

// What differs from node to node.
struct NodeFacts {
  int64_t node = 0;
  int64_t nodes = 1;
  int64_t gpus = 8;                 // ranks on this node
  std::vector<int> numa_of_gpu;     // of the node's cards in use
  bool explicit_partition = false;  // the split is not vLLM's own
};

// Every number the plan rests on is spelled out, so that a change of defaults between versions
// cannot change the deployment. Flags and their forms: vllm serve --help (v0.28, v0.31). Addresses
// are placeholders in angle brackets.
NodeCommand MakeCommand(const Context& context, const std::string& model, const NodeFacts& facts);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_ARGUMENTS_H_
