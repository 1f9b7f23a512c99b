// The catalogue's YAML files. The only user of yaml-cpp in this layer; none of its exceptions
// leave.
#ifndef SHARDPLAN_HARDWARE_CATALOG_YAML_H_
#define SHARDPLAN_HARDWARE_CATALOG_YAML_H_

#include <string>
#include <string_view>

#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/hardware/gpu.h"

namespace shardplan::internal {

// `file` is how errors name the text: "gpus/h20-96.yaml" or a path. The id in the text must be the
// file's name without folder and extension. Fails with kInvalidInput and "file:line: …".
Result<GpuSpec> ParseGpuYaml(std::string_view text, const std::string& file);
Result<NodeSpec> ParseNodeYaml(std::string_view text, const std::string& file);

}  // namespace shardplan::internal

#endif  // SHARDPLAN_HARDWARE_CATALOG_YAML_H_
