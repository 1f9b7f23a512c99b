#include "cli/link_options.h"

#include <optional>
#include <string>

#include "cli/expert_load_file.h"
#include "shardplan/base/file.h"

namespace shardplan::cli {
namespace {

constexpr double kFastest = 1e6;

OptionSet::Reader ReadRate(std::optional<double>* rate) {
  return [rate](const std::string& text) -> Status {
    SHARDPLAN_ASSIGN_OR_RETURN(const double value, ParseDecimal(text));
    if (value <= 0 || value > kFastest) {
      return Fail(ErrorCode::kUsage, Printable(text), "expected a rate above 0, at most 1000000");
    }
    *rate = value;
    return {};
  };
}

}  // namespace

void AddLinkOptions(OptionSet* o, Deployment* d) {
  o->Value("--network-gbps", "GBPS",
           "Network of one node, gigabits a second (assumed: 400 a card on HGX servers)",
           ReadRate(&d->links.network_gbps));
  o->Value("--disk-gb-per-s", "GB", "Reads of a node's disks, GB a second (assumed: 6)",
           ReadRate(&d->links.disk_gb_per_s));
  o->Value("--shared-fs-gb-per-s", "GB",
           "Reads of a shared filesystem, all nodes together (assumed: 10)",
           ReadRate(&d->links.shared_fs_gb_per_s));
  o->Value("--expert-load", "FILE",
           "Loads of experts by layer, JSON or CSV: how even ranks are, before and after EPLB",
           [d](const std::string& text) -> Status {
             SHARDPLAN_ASSIGN_OR_RETURN(d->expert_loads, ReadExpertLoads(text));
             return {};
           });
}

}  // namespace shardplan::cli
