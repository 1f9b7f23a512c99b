#include "checkpoint/cross_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "checkpoint/name_table.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr std::string_view kMixed =
    "index and shards are not of one checkpoint; fetch both again from one revision";

// The first of several like faults, and how many there are.
struct Tally {
  uint32_t first = NameTable::kNone;
  int64_t count = 0;

  void Add(uint32_t position) {
    if (count++ == 0) first = position;
  }
  std::string ToString() const {
    return count == 1 ? "1 tensor" : fmt::format("{} tensors", FormatCount(count));
  }
};

class CrossChecker {
 public:
  CrossChecker(const Inventory& inventory, Interner* patterns)
      : inventory_(inventory),
        tensors_(inventory.tensors),
        patterns_(patterns),
        table_(inventory.tensors.size()) {}

  Status EnterAll();
  Status CheckIndex(const ParsedIndex& index, const std::string& index_path);

 private:
  Status CheckNoneUnlisted(const ParsedIndex& index, const std::vector<uint32_t>& pattern_ids);

  template <typename Record>
  std::string NameOf(const Record& record, uint32_t pattern) const {
    return Printable(JoinTensorName((*patterns_)[pattern], record.indices));
  }
  const std::string& ShardName(const TensorRecord& record) const {
    return inventory_.shards[static_cast<size_t>(record.shard)].name;
  }

  const Inventory& inventory_;
  const std::span<const TensorRecord> tensors_;
  Interner* patterns_;
  NameTable table_;
};

Status CrossChecker::EnterAll() {
  Tally twice;
  uint32_t earlier = 0;
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    const uint32_t other = table_.Insert(tensors_, i);
    if (other == NameTable::kNone) continue;
    if (twice.count == 0) earlier = other;
    twice.Add(i);
  }
  if (twice.count == 0) return {};
  const TensorRecord& tensor = tensors_[twice.first];
  return Fail(ErrorCode::kInvalidInput, Printable(inventory_.directory),
              fmt::format("tensor {}: expected in one shard, found in {} and in {} ({} like this)",
                          NameOf(tensor, tensor.pattern), Printable(ShardName(tensors_[earlier])),
                          Printable(ShardName(tensor)), twice.ToString()),
              "keep one set of weights in the directory");
}

Status CrossChecker::CheckIndex(const ParsedIndex& index, const std::string& index_path) {
  std::vector<uint32_t> pattern_ids;
  for (const std::string& pattern : index.patterns) {
    pattern_ids.push_back(patterns_->Intern(pattern));
  }
  // Every shard that the index names is in the inventory, which is sorted by name.
  std::vector<int32_t> shard_ids;
  for (const std::string& name : index.shard_names) {
    const auto at = std::lower_bound(
        inventory_.shards.begin(), inventory_.shards.end(), name,
        [](const ShardInfo& shard, const std::string& wanted) { return shard.name < wanted; });
    shard_ids.push_back(static_cast<int32_t>(at - inventory_.shards.begin()));
  }
  Tally missing;
  Tally misplaced;
  const std::span<const IndexEntry> entries = index.entries;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (const size_t ahead = i + NameTable::kAhead; ahead < entries.size()) {
      table_.Prefetch(pattern_ids[entries[ahead].pattern], entries[ahead].indices);
    }
    const IndexEntry& entry = entries[i];
    const uint32_t at = table_.Find(tensors_, pattern_ids[entry.pattern], entry.indices);
    if (at == NameTable::kNone) {
      missing.Add(i);
    } else if (tensors_[at].shard != shard_ids[entry.shard]) {
      misplaced.Add(i);
    }
  }
  const auto fault = [&](uint32_t first, std::string_view found, const Tally& tally) {
    const IndexEntry& entry = entries[first];
    return Fail(ErrorCode::kInvalidInput, Printable(index_path),
                fmt::format("tensor {}: expected in {}, {} ({} like this)",
                            NameOf(entry, pattern_ids[entry.pattern]),
                            Printable(index.shard_names[entry.shard]), found, tally.ToString()),
                std::string(kMixed));
  };
  if (missing.count > 0) return fault(missing.first, "found in no shard", missing);
  if (misplaced.count > 0) {
    const IndexEntry& entry = entries[misplaced.first];
    const uint32_t at = table_.Find(tensors_, pattern_ids[entry.pattern], entry.indices);
    return fault(misplaced.first, fmt::format("found in {}", Printable(ShardName(tensors_[at]))),
                 misplaced);
  }
  // The names on either side differ among themselves, and all of the index's were found: equal
  // counts leave none unlisted.
  if (entries.size() == tensors_.size()) return {};
  return CheckNoneUnlisted(index, pattern_ids);
}

Status CrossChecker::CheckNoneUnlisted(const ParsedIndex& index,
                                       const std::vector<uint32_t>& pattern_ids) {
  std::vector<bool> listed(tensors_.size());
  for (const IndexEntry& entry : index.entries) {
    listed[table_.Find(tensors_, pattern_ids[entry.pattern], entry.indices)] = true;
  }
  Tally unlisted;
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    if (!listed[i]) unlisted.Add(i);
  }
  if (unlisted.count == 0) return {};
  const TensorRecord& tensor = tensors_[unlisted.first];
  return Fail(ErrorCode::kInvalidInput,
              Printable(JoinPath(inventory_.directory, ShardName(tensor))),
              fmt::format("tensor {}: expected in the index, which does not list it ({} like this)",
                          NameOf(tensor, tensor.pattern), unlisted.ToString()),
              std::string(kMixed));
}

}  // namespace

void JoinShards(std::vector<ShardFile> shards, Interner* patterns, Inventory* inventory) {
  size_t tensors = 0;
  for (const ShardFile& shard : shards) tensors += shard.header.tensors.size();
  inventory->tensors.reserve(tensors);
  Interner shapes;
  for (ShardFile& shard : shards) {
    std::vector<uint32_t> pattern_ids;
    for (const std::string& pattern : shard.header.patterns) {
      pattern_ids.push_back(patterns->Intern(pattern));
    }
    std::vector<uint32_t> shape_ids;
    for (Shape& shape : shard.header.shapes) {
      const size_t known = shapes.size();
      shape_ids.push_back(shapes.Intern({reinterpret_cast<const char*>(shape.dims.data()),
                                         shape.dims.size() * sizeof(shape.dims[0])}));
      if (shapes.size() != known) inventory->shapes.push_back(std::move(shape));
    }
    const auto number = static_cast<int32_t>(inventory->shards.size());
    for (TensorRecord record : shard.header.tensors) {
      record.pattern = pattern_ids[record.pattern];
      record.shape = shape_ids[record.shape];
      record.shard = number;
      inventory->tensors.push_back(record);
    }
    inventory->payload_bytes += shard.info.payload_bytes;
    inventory->file_bytes += shard.info.file_bytes;
    inventory->header_bytes += shard.info.header_bytes;
    inventory->shards.push_back(std::move(shard.info));
    shard.header = ParsedHeader();  // its records are copied; do not hold both
  }
}

Status CrossCheck(const Inventory& inventory, const ParsedIndex* index,
                  const std::string& index_path, Interner* patterns) {
  CrossChecker checker(inventory, patterns);
  SHARDPLAN_RETURN_IF_ERROR(checker.EnterAll());
  if (index == nullptr) return {};
  return checker.CheckIndex(*index, index_path);
}

void CheckTotalSize(const ParsedIndex& index, const std::string& index_path, Inventory* inventory) {
  Finding finding;
  finding.id = "checkpoint.total_size";
  finding.subject = Printable(index_path);
  const std::string sum = FormatBytes(inventory->payload_bytes);
  if (!index.bad_total_size.empty()) {
    finding.severity = Severity::kWarning;
    finding.message =
        fmt::format("metadata.total_size is not a whole number but {}; the shards hold {}",
                    index.bad_total_size, sum);
  } else if (!index.total_size) {
    finding.severity = Severity::kNote;
    finding.message = fmt::format("metadata.total_size is missing; the shards hold {}", sum);
  } else if (*index.total_size != inventory->payload_bytes.count()) {
    finding.severity = Severity::kWarning;
    finding.message = fmt::format("metadata.total_size says {}, the shards hold {}",
                                  FormatBytes(Bytes(*index.total_size)), sum);
  } else {
    return;
  }
  finding.fix = "nothing to do: the headers are what counts";
  inventory->findings.push_back(std::move(finding));
}

}  // namespace shardplan
