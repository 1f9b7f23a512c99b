#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"
#include "shardplan/checkpoint/standin.h"

namespace shardplan {
namespace {

constexpr Bytes kMaxText = Bytes(16 * kMiB);
constexpr std::array<std::string_view, 3> kTexts = {"config.json", "hf_quant_config.json",
                                                    "generation_config.json"};

StandInShard ShardOf(const Inventory& inventory, size_t number) {
  StandInShard shard;
  shard.file_name = inventory.shards[number].name;
  // Tensors are grouped by shard, in payload order within it.
  const auto [first, last] = std::equal_range(
      inventory.tensors.begin(), inventory.tensors.end(),
      TensorRecord{.shard = static_cast<int32_t>(number)},
      [](const TensorRecord& a, const TensorRecord& b) { return a.shard < b.shard; });
  shard.tensors.reserve(static_cast<size_t>(last - first));
  for (auto it = first; it != last; ++it) {
    shard.tensors.push_back({inventory.NameOf(*it), it->dtype, inventory.shapes[it->shape]});
  }
  return shard;
}

}  // namespace

Result<StandInPlan> PlanStandInFrom(const Inventory& inventory) {
  if (!inventory.has_headers) {
    return Fail(ErrorCode::kInvalidInput, Printable(inventory.path),
                "expected a checkpoint with its shards' headers, found none",
                "fetch the shards, or make the stand-in from the config");
  }
  StandInPlan plan;
  for (const std::string_view name : kTexts) {
    const std::string path = JoinPath(inventory.directory, name);
    if (!Exists(path)) continue;
    SHARDPLAN_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, kMaxText));
    plan.files.push_back({std::string(name), std::move(text)});
  }
  plan.shard_count = inventory.shards.size();
  plan.always_index = inventory.has_index;
  plan.shard = [copy = std::make_shared<const Inventory>(inventory)](
                   size_t number) -> Result<StandInShard> { return ShardOf(*copy, number); };
  return plan;
}

}  // namespace shardplan
