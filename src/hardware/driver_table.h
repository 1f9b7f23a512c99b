// Which driver an engine's release wants (configs/drivers.yaml).
#ifndef SHARDPLAN_HARDWARE_DRIVER_TABLE_H_
#define SHARDPLAN_HARDWARE_DRIVER_TABLE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/config_store.h"
#include "shardplan/base/result.h"

namespace shardplan {

// −1, 0 or 1 for "570.86" against "575.51.03": by numbers between dots; what follows the numbers
// (rc1, +cu129) is left out.
int CompareDotted(std::string_view a, std::string_view b);

class DriverTable {
 public:
  struct Toolkit {
    std::string cuda;    // "12.9"
    std::string driver;  // that it came with
    std::string oldest;  // that runs programs of its major version
    std::string source;
  };
  struct Image {
    std::string engine;
    std::string since;  // of the engine
    std::string cuda;
    std::string source;
  };

  static Result<DriverTable> Load(const ConfigStore& store);
  // `file` is how errors name the text.
  static Result<DriverTable> Parse(std::string_view text, const std::string& file);

  // What the release's own image was built with; nothing for releases before the first that is
  // known.
  const Image* ImageOf(std::string_view engine, std::string_view version) const;
  const Toolkit* ToolkitOf(std::string_view cuda) const;

 private:
  std::vector<Toolkit> toolkits_;
  std::vector<Image> images_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_HARDWARE_DRIVER_TABLE_H_
