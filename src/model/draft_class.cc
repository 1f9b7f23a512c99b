#include "model/draft_class.h"

namespace shardplan {

std::string DraftClass(std::string_view method, std::string_view architecture,
                       std::string_view model_type) {
  std::string name(architecture);
  if (method == "medusa") return "MedusaModel";
  if (name.empty()) return name;
  if (method == "eagle") {
    constexpr std::string_view kSuffix = "Eagle";
    if (name.starts_with(kSuffix)) return name;
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    return "Eagle" + name;
  }
  if (method == "eagle3" && !name.starts_with("Eagle3") && !name.ends_with("Eagle3")) {
    return "Eagle3" + name;
  }
  if (method == "dspark" && name == "DSparkDraftModel" && model_type == "qwen3") {
    return "Qwen3DSparkModel";
  }
  return name;
}

}  // namespace shardplan
