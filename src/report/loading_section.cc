// What nodes read before they serve.
#include <fmt/format.h>

#include "report/plan_document.h"
#include "report/sections.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// "2 min 7 s (32 s to 6 min 22 s)"
std::string TimeText(const ReadTime& time) {
  std::string text = FormatSeconds(time.seconds);
  if (time.fastest != time.slowest) {
    text += fmt::format(" ({} to {})", FormatSeconds(time.fastest), FormatSeconds(time.slowest));
  }
  return text;
}

bool IsAlike(const NodeLoading& a, const NodeLoading& b) {
  return a.ranks == b.ranks && a.tensors == b.tensors && a.needed == b.needed &&
         a.needed_files == b.needed_files && a.saved == b.saved && a.shared_files == b.shared_files;
}

std::string NodeText(const NodeLoading& node) {
  std::string text =
      fmt::format("{} of tensors, {} from disk", FormatGiB(node.tensors, 1), TimeText(node.disk));
  if (!node.opened || !node.all_from_disk) return text;
  text += fmt::format("; {} of {} files hold them", node.needed_files, node.opened_files);
  if (node.shared_files > 0) {
    text += fmt::format(", {} read by several ranks (page cache serves all but the first)",
                        node.shared_files);
  }
  if (node.saved.value_or(Bytes()) > Bytes()) {
    text += fmt::format(
        "; without a stage index every rank opens all {} of {}, {}: an index of its stages saves "
        "{}",
        node.opened_files, FormatGiB(*node.opened, 1), FormatSeconds(node.all_from_disk->seconds),
        FormatGiB(*node.saved, 1));
  }
  return text;
}

Document TimeDocument(const ReadTime& time) {
  return {{"seconds", time.seconds},
          {"fastest_seconds", time.fastest},
          {"slowest_seconds", time.slowest}};
}

Document OrNull(const std::optional<Bytes>& bytes) {
  return bytes ? Document(bytes->count()) : Document(nullptr);
}

}  // namespace

std::string LoadingSection(const Plan& plan, size_t width) {
  if (!plan.loading || plan.loading->nodes.empty()) return "";
  const LoadingPlan& loading = *plan.loading;
  const auto basis = [](const LinkRate& rate) {
    return rate.basis == Basis::kAssumed ? fmt::format("{:.4g} GB/s, assumed", rate.gb_per_s)
                                         : fmt::format("{:.4g} GB/s", rate.gb_per_s);
  };
  std::string out = "Loading, at least\n";
  const std::vector<NodeLoading>& nodes = loading.nodes;
  for (size_t i = 0; i < nodes.size();) {
    size_t end = i + 1;
    while (end < nodes.size() && IsAlike(nodes[i], nodes[end])) ++end;
    std::vector<int64_t> numbers;
    for (size_t n = i; n < end; ++n) numbers.push_back(nodes[n].node);
    out += Wrap(fmt::format("{} {}: {}", numbers.size() == 1 ? "node" : "nodes",
                            FormatRuns(numbers), NodeText(nodes[i])),
                width, 2, 4);
    i = end;
  }
  std::string rest = fmt::format("from a shared filesystem ({}), all nodes: {}",
                                 basis(loading.rates.shared_fs), TimeText(loading.shared_fs));
  if (loading.pcie_seconds) {
    rest += fmt::format("; to a card over PCIe: {}", FormatSeconds(*loading.pcie_seconds));
  }
  out += Wrap(rest, width, 2, 4);
  return out + Wrap(fmt::format("disk: {}", basis(loading.rates.disk)) +
                        (loading.staging > Bytes()
                             ? fmt::format("; staging: {}, {}", FormatGiB(loading.staging, 2),
                                           loading.staging_reason)
                             : ""),
                    width, 2, 4);
}

Document LoadingDocument(const LoadingPlan& loading) {
  Document nodes = Document::array();
  for (const NodeLoading& node : loading.nodes) {
    nodes.push_back({{"node", node.node},
                     {"ranks", node.ranks},
                     {"tensor_bytes", node.tensors.count()},
                     {"needed_bytes", OrNull(node.needed)},
                     {"opened_bytes", OrNull(node.opened)},
                     {"needed_files", node.opened ? Document(node.needed_files) : nullptr},
                     {"opened_files", node.opened ? Document(node.opened_files) : nullptr},
                     {"shared_files", node.opened ? Document(node.shared_files) : nullptr},
                     {"saved_bytes", OrNull(node.saved)},
                     {"disk", TimeDocument(node.disk)},
                     {"all_from_disk",
                      node.all_from_disk ? TimeDocument(*node.all_from_disk) : Document(nullptr)}});
  }
  return {
      {"nodes", std::move(nodes)},
      {"shared_fs_bytes", loading.from_shared_fs.count()},
      {"shared_fs", TimeDocument(loading.shared_fs)},
      {"card_bytes", loading.to_card.count()},
      {"pcie_seconds", loading.pcie_seconds ? Document(*loading.pcie_seconds) : Document(nullptr)},
      {"staging",
       {{"bytes", loading.staging.count()},
        {"on_card", loading.staging_on_card},
        {"reason", loading.staging_reason}}},
      {"rates", RatesDocument(loading.rates)}};
}

}  // namespace shardplan
