#include "model/match.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/contents_builder.h"
#include "model/matcher.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// The first tensor of a candidate that no record names: for messages, so a slow search will do.
std::string FirstMissing(const ModuleRow& row, const StoredTensor& tensor,
                         const Inventory& inventory, const std::vector<TensorRecord>& records) {
  std::vector<std::string> present;
  for (const TensorRecord& record : records) present.push_back(inventory.NameOf(record));
  std::sort(present.begin(), present.end());
  std::string missing;
  const std::vector<int64_t> layers =
      row.layers.empty() ? std::vector<int64_t>{-1} : row.layers.layers();
  for (const int64_t layer : layers) {
    ForEachTensor(row, layer, [&](const std::string& name, const StoredTensor& stored) {
      if (!missing.empty() || stored.suffix != tensor.suffix) return;
      if (!std::binary_search(present.begin(), present.end(), name)) missing = name;
    });
    if (!missing.empty()) break;
  }
  return missing;
}

// Every required tensor was seen as often as the table has it; optional rows all or not at all.
Status CheckComplete(Matcher& matcher, const Inventory& inventory,
                     const std::vector<TensorRecord>& records, const std::string& config,
                     std::vector<bool>* row_present) {
  int64_t missing = 0;
  const RowCandidate* first = nullptr;
  for (const RowCandidate& candidate : matcher.candidates()) {
    if (candidate.seen == candidate.expected) continue;
    const ModuleRow& row = matcher.RowOf(candidate);
    if (row.optional && candidate.seen == 0) {
      (*row_present)[candidate.row] = false;
      continue;
    }
    missing += candidate.expected - candidate.seen;
    if (!first) first = &candidate;
  }
  if (!first) return {};
  const std::string name =
      FirstMissing(matcher.RowOf(*first), matcher.TensorOf(*first), inventory, records);
  return Fail(
      ErrorCode::kInvalidInput, Printable(inventory.path),
      fmt::format("{} implies {} that the checkpoint does not have, first '{}'", config,
                  missing == 1 ? "a tensor" : fmt::format("{} tensors", FormatCount(missing)),
                  Printable(name)),
      "config and weights are of different models, or the download is incomplete");
}

// What checkpoints store and engines compute themselves, or fold into scales of their own: rotary
// frequencies, and the calibrated scales of an FP8 cache.
bool IsLeftover(std::string_view pattern) {
  return pattern.ends_with("rotary_emb.inv_freq") || pattern.ends_with(".k_scale") ||
         pattern.ends_with(".v_scale") || pattern.ends_with(".q_scale") ||
         pattern.ends_with(".kv_scale");
}

struct Unknown {
  int64_t tensors = 0;
  Bytes bytes;
  std::string first;
};

void Count(Unknown* unknown, const TensorRecord& record, const Inventory& inventory) {
  if (unknown->tensors++ == 0) unknown->first = inventory.NameOf(record);
  unknown->bytes += Bytes(record.end - record.begin);
}

void ReportOddities(const Matcher& matcher, const Unknown& unknown, const Unknown& leftover,
                    std::vector<Finding>* findings) {
  if (unknown.tensors > 0) {
    findings->push_back(
        {"model.unknown_tensors", Severity::kWarning, Printable(unknown.first),
         fmt::format("{} ({}) {} not part of this architecture; counted in the files and loaded on "
                     "no card",
                     unknown.tensors == 1 ? "1 tensor" : FormatCount(unknown.tensors) + " tensors",
                     FormatAuto(unknown.bytes), unknown.tensors == 1 ? "is" : "are"),
         "check that config.json belongs to these weights"});
  }
  if (leftover.tensors > 0) {
    findings->push_back({"model.leftover_tensors", Severity::kNote, Printable(leftover.first),
                         fmt::format("{} stored rotary buffers ({}) are loaded by no engine",
                                     FormatCount(leftover.tensors), FormatAuto(leftover.bytes)),
                         ""});
  }
  int64_t other = 0;
  const RowCandidate* first = nullptr;
  for (const RowCandidate& candidate : matcher.candidates()) {
    if (candidate.other_dtype > 0 && !first) first = &candidate;
    other += candidate.other_dtype;
  }
  if (first) {
    findings->push_back(
        {"model.dtype_differs", Severity::kNote, matcher.RowOf(*first).name,
         fmt::format("{} tensors are stored in another dtype than the config implies; the file's "
                     "counts for the file, the engine creates its own on the card",
                     FormatCount(other)),
         ""});
  }
}

Contents Summarize(const Matcher& matcher, ContentsBuilder* builder) {
  for (const RowCandidate& candidate : matcher.candidates()) {
    for (size_t dtype = 0; dtype < candidate.by_dtype.size(); ++dtype) {
      builder->AddGroup(matcher.RowOf(candidate), matcher.TensorOf(candidate),
                        static_cast<DType>(dtype), candidate.by_dtype[dtype]);
    }
  }
  Contents contents = builder->Take();
  contents.basis = Basis::kExact;
  return contents;
}

}  // namespace

Result<MatchReport> MatchHeaders(const TensorTable& table, const Inventory& inventory,
                                 const std::string& config, bool allow_part) {
  Matcher matcher(table);
  MatchReport report;
  report.row_present.assign(table.rows.size(), true);
  report.shard_use.resize(inventory.shards.size());
  std::vector<std::vector<bool>> shard_layers(inventory.shards.size());
  std::vector<const std::vector<size_t>*> ids;
  for (const std::string& pattern : inventory.patterns) ids.push_back(&matcher.ForPattern(pattern));
  std::vector<int64_t> elements;
  for (const Shape& shape : inventory.shapes) elements.push_back(shape.Elements());

  ContentsBuilder contents(table);
  Unknown unknown, leftover;
  for (const TensorRecord& record : inventory.tensors) {
    report.totals.tensors += 1;
    report.totals.elements = internal::CheckedAdd(report.totals.elements, elements[record.shape]);
    report.totals.payload += Bytes(record.end - record.begin);
    ShardUse& use = report.shard_use[static_cast<size_t>(record.shard)];
    RowCandidate* candidate = matcher.Find(*ids[record.pattern], record.indices);
    if (!candidate) {
      const bool is_leftover = IsLeftover(inventory.patterns[record.pattern]);
      Count(is_leftover ? &leftover : &unknown, record, inventory);
      contents.AddUnexplained(inventory.patterns[record.pattern], record.dtype,
                              inventory.shapes[record.shape], is_leftover);
      report.totals.parameters += elements[record.shape];
      use.outside_stack = true;  // what nobody can place stays with every stage
      continue;
    }
    const StoredTensor& tensor = matcher.TensorOf(*candidate);
    const Shape& shape = inventory.shapes[record.shape];
    if (shape != tensor.shape) {
      return Fail(ErrorCode::kInvalidInput, Printable(inventory.NameOf(record)),
                  fmt::format("{} implies shape {}, the header says {}", config,
                              tensor.shape.ToString(), shape.ToString()),
                  "config and weights are of different models");
    }
    candidate->seen += 1;
    candidate->by_dtype[static_cast<size_t>(record.dtype)] += 1;
    if (record.dtype != tensor.dtype) candidate->other_dtype += 1;
    report.totals.parameters += tensor.parameters;

    const ModuleRow& row = matcher.RowOf(*candidate);
    const int64_t layer = matcher.LayerOf(*candidate, record.indices);
    contents.AddToLayer(
        row, layer,
        {1, tensor.parameters, elements[record.shape], Bytes(record.end - record.begin)});
    if (row.placement == Placement::kLayers) {
      std::vector<bool>& layers = shard_layers[static_cast<size_t>(record.shard)];
      if (layers.size() <= static_cast<size_t>(layer))
        layers.resize(static_cast<size_t>(layer) + 1);
      layers[static_cast<size_t>(layer)] = true;
      continue;
    }
    use.first_stage |= row.placement == Placement::kFirstStage;
    use.last_stage |= row.placement == Placement::kLastStage;
    use.every_stage |= row.placement == Placement::kEveryStage && !row.is_tower();
    use.tower |= row.placement == Placement::kEveryStage && row.is_tower();
    use.draft |= row.role == Role::kDraft;
    use.outside_stack |= row.role != Role::kLeftover;
  }
  const Status complete =
      CheckComplete(matcher, inventory, inventory.tensors, config, &report.row_present);
  if (!complete) {
    if (!allow_part) return tl::unexpected(complete.error());
    report.complete = false;
  }
  for (size_t s = 0; s < shard_layers.size(); ++s) {
    for (size_t layer = 0; layer < shard_layers[s].size(); ++layer) {
      if (shard_layers[s][layer]) {
        report.shard_use[s].layers.push_back(static_cast<int64_t>(layer));
      }
    }
  }
  ReportOddities(matcher, unknown, leftover, &report.findings);
  report.contents = Summarize(matcher, &contents);
  report.contents.complete = report.complete;
  return report;
}

Result<std::vector<bool>> MatchIndex(const TensorTable& table, const Inventory& inventory,
                                     const std::string& config) {
  Matcher matcher(table);
  std::vector<bool> row_present(table.rows.size(), true);
  for (const TensorRecord& record : inventory.index_names) {
    const std::string& pattern = inventory.patterns[record.pattern];
    RowCandidate* candidate = matcher.Find(matcher.ForPattern(pattern), record.indices);
    if (candidate) {
      candidate->seen += 1;
    } else if (!IsLeftover(pattern)) {
      return Fail(ErrorCode::kInvalidInput, Printable(inventory.NameOf(record)),
                  fmt::format("listed in the index, but {} implies no such tensor", config),
                  "config and index are of different models");
    }
  }
  SHARDPLAN_RETURN_IF_ERROR(
      CheckComplete(matcher, inventory, inventory.index_names, config, &row_present));
  return row_present;
}

}  // namespace shardplan
