// The files of configs/ as the build compiled them in.
#ifndef SHARDPLAN_BASE_EMBEDDED_FILES_H_
#define SHARDPLAN_BASE_EMBEDDED_FILES_H_

#include <span>
#include <string_view>

namespace shardplan::internal {

struct EmbeddedFile {
  std::string_view name;  // relative to configs/, with slashes
  std::string_view text;  // any bytes
};

// Sorted by name. Defined in a source that cmake/EmbedConfigs.cmake writes.
std::span<const EmbeddedFile> EmbeddedFiles();

}  // namespace shardplan::internal

#endif  // SHARDPLAN_BASE_EMBEDDED_FILES_H_
