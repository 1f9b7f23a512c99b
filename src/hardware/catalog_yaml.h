// The catalogue's YAML files.
#ifndef SHARDPLAN_HARDWARE_CATALOG_YAML_H_
#define SHARDPLAN_HARDWARE_CATALOG_YAML_H_

#include <string>
#include <string_view>

#include "hardware/yaml_mapping.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/hardware/gpu.h"

namespace shardplan::internal {

// `file` is how errors name the text: "gpus/h20-96.yaml" or a path. The id in the text must be the
// file's name without folder and extension. Fails with kInvalidInput and "file:line: …".
Result<GpuSpec> ParseGpuYaml(std::string_view text, const std::string& file);
Result<NodeSpec> ParseNodeYaml(std::string_view text, const std::string& file);

// The same mapping where it stands inside another file; the id must be `stem`, or any where that is
// empty.
Result<GpuSpec> ReadGpu(const Place& place, const YAML::Node& node, const std::string& stem);

}  // namespace shardplan::internal

#endif  // SHARDPLAN_HARDWARE_CATALOG_YAML_H_
