#include "shardplan/hardware/cluster_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Cards of one name are told apart by totals that differ by tens of per cent.
bool HasTotal(const GpuSpec& gpu, Bytes total) {
  const Bytes own = gpu.device_total.bytes.central;
  const Bytes difference = own > total ? own - total : total - own;
  return difference.count() <= own.count() / 50;
}

// What a name of several cards means, by the total that was read.
const GpuSpec* FindByTotal(const Catalog& catalog, const CardSpec& card) {
  if (!card.device_total) return nullptr;
  const std::string lower = Lower(card.gpu);
  const GpuSpec* found = nullptr;
  for (const GpuSpec& gpu : catalog.gpus()) {
    const bool called =
        Lower(gpu.name) == lower ||
        std::find(gpu.aliases.begin(), gpu.aliases.end(), lower) != gpu.aliases.end();
    if (!called || !HasTotal(gpu, card.device_total->bytes.central)) continue;
    if (found != nullptr) return nullptr;
    found = &gpu;
  }
  return found;
}

Result<GpuSpec> BaseOf(const Catalog& catalog, const CardSpec& card) {
  if (card.described) return *card.described;
  if (const GpuSpec* const gpu = FindByTotal(catalog, card)) return *gpu;
  Result<GpuSpec> gpu = catalog.FindGpu(card.gpu);
  if (gpu) return gpu;
  const Error& error = gpu.error();
  return Fail(ErrorCode::kInvalidInput, card.where,
              fmt::format("{}: {}", error.subject, error.message), error.hint);
}

// What CUDA sees of a total that was told without it: the catalogue's difference below.
SourcedBytes VisibleOf(const GpuSpec& gpu, const SourcedBytes& total) {
  const Bytes reserve = gpu.device_total.bytes.central - gpu.cuda_visible.bytes.central;
  const Bytes low = gpu.cuda_visible.bytes.central - gpu.cuda_visible.bytes.low;
  const Bytes high = gpu.cuda_visible.bytes.high - gpu.cuda_visible.bytes.central;
  const Bytes central = total.bytes.central - reserve;
  return {Range(central - low, central, std::min(central + high, total.bytes.low)),
          Softer(Basis::kDerived, gpu.cuda_visible.basis),
          fmt::format("{} less the {} that the driver reserves on a {}", total.source,
                      FormatMiB(reserve), gpu.id)};
}

// By the driver's name, which aliases have without its maker.
bool IsCalled(const GpuSpec& gpu, const std::string& lower) {
  constexpr std::string_view kMaker = "nvidia ";
  const std::string alias = lower.starts_with(kMaker) ? lower.substr(kMaker.size()) : lower;
  return gpu.id == alias || Lower(gpu.name) == lower ||
         std::find(gpu.aliases.begin(), gpu.aliases.end(), alias) != gpu.aliases.end();
}

// A card that was written beside what nvidia-smi showed of another one. A name that the catalogue
// does not know says nothing; a total may be less by the ECC bits of GDDR memory, 6 %.
Status CheckRead(const Catalog& catalog, const CardSpec& card, const GpuSpec& gpu) {
  if (card.read_name.empty()) return {};
  const std::string lower = Lower(card.read_name);
  const bool other = !card.described && !IsCalled(gpu, lower) &&
                     std::any_of(catalog.gpus().begin(), catalog.gpus().end(),
                                 [&](const GpuSpec& known) { return IsCalled(known, lower); });
  const Bytes own = gpu.device_total.bytes.central;
  const Bytes difference = own > card.read_total ? own - card.read_total : card.read_total - own;
  const bool size = card.read_total > Bytes() && difference.count() > own.count() / 10;
  if (!other && !size) return {};
  return Fail(ErrorCode::kInvalidInput, card.where,
              fmt::format("expected the card of the facts, {} with {}, found {} with {}",
                          Printable(card.read_name, 60), FormatMiB(card.read_total),
                          Printable(card.gpu, 60), FormatMiB(own)),
              "leave gpus out, or name the card that is there");
}

}  // namespace

std::string_view ToString(NicProtocol protocol) {
  switch (protocol) {
    case NicProtocol::kEthernet:
      return "ethernet";
    case NicProtocol::kRoce:
      return "roce";
    case NicProtocol::kInfiniband:
      return "infiniband";
  }
  return "ethernet";
}

std::optional<Bytes> NodeKind::Memory() const {
  if (memory) return memory->bytes.central;
  Bytes sum;
  for (const NumaSpec& node : numa) {
    if (!node.memory) return std::nullopt;
    sum += node.memory->bytes.central;
  }
  return numa.empty() ? std::nullopt : std::optional<Bytes>(sum);
}

const NumaSpec* NodeKind::FindNuma(int node) const {
  const auto at =
      std::find_if(numa.begin(), numa.end(), [&](const NumaSpec& n) { return n.node == node; });
  return at == numa.end() ? nullptr : &*at;
}

std::optional<std::vector<int>> NodeKind::NumaOfCards() const {
  std::vector<int> out;
  for (const CardSpec& card : cards) {
    if (!card.numa_node) return std::nullopt;
    out.push_back(*card.numa_node);
  }
  return out;
}

int64_t ClusterSpec::nodes() const {
  int64_t sum = 0;
  for (const NodeKind& kind : kinds) sum += kind.count;
  return sum;
}

const NodeKind& ClusterSpec::KindOf(int64_t node) const {
  for (const NodeKind& kind : kinds) {
    if (node < kind.count) return kind;
    node -= kind.count;
  }
  return kinds.back();
}

std::string ClusterSpec::NameOf(int64_t node) const {
  int64_t at = node;
  for (const NodeKind& kind : kinds) {
    if (at < kind.count) {
      if (kind.hosts.empty()) break;
      return Printable(kind.hosts[static_cast<size_t>(at)], 64);
    }
    at -= kind.count;
  }
  return fmt::format("node {}", node);
}

Result<GpuSpec> ResolveCard(const Catalog& catalog, const CardSpec& card) {
  SHARDPLAN_ASSIGN_OR_RETURN(GpuSpec gpu, BaseOf(catalog, card));
  SHARDPLAN_RETURN_IF_ERROR(CheckRead(catalog, card, gpu));
  if (card.device_total) {
    if (!card.cuda_visible) gpu.cuda_visible = VisibleOf(gpu, *card.device_total);
    gpu.device_total = *card.device_total;
  }
  if (card.cuda_visible) gpu.cuda_visible = *card.cuda_visible;
  const Range& visible = gpu.cuda_visible.bytes;
  if (visible.high > gpu.device_total.bytes.low || visible.low <= gpu.context.bytes.high) {
    return Fail(ErrorCode::kInvalidInput, card.where,
                fmt::format("expected cuda_visible between a context ({}) and device_total ({}), "
                            "found {}",
                            FormatMiB(gpu.context.bytes.high),
                            FormatMiB(gpu.device_total.bytes.low), FormatMiB(visible.central)));
  }
  if (card.nvlink_group && *card.nvlink_group < 0) {
    gpu.nvlink_gb_per_s = 0;
    gpu.nvlink_domain = 0;
  }
  return gpu;
}

}  // namespace shardplan
