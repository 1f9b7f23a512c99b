#include "shardplan/checkpoint/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "checkpoint/cross_check.h"
#include "checkpoint/index.h"
#include "checkpoint/index_file.h"
#include "checkpoint/interner.h"
#include "checkpoint/padded_text.h"
#include "checkpoint/shard_file.h"
#include "checkpoint/source.h"
#include "checkpoint/work_list.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

Result<ParsedIndex> ReadIndex(const std::string& path, Bytes limit) {
  try {
    SHARDPLAN_ASSIGN_OR_RETURN(const PaddedText text, ReadIndexText(path, limit));
    return ParseIndex(path, text);
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kIo, Printable(path), "not enough memory to read the index");
  }
}

// What was read, before anything is compared. Shards are those of Source::shards.
struct Files {
  std::optional<Result<ParsedIndex>> index;
  std::vector<std::optional<Result<ShardFile>>> shards;
};

// Index and shards are read side by side: the index alone is half of the work. So every shard in
// the directory is read, before it is known whether the index names it.
Files ReadAll(const Source& source, const OpenOptions& options) {
  Files files;
  files.shards.resize(source.shards.size());
  const size_t first_shard = source.index_path.empty() ? 0 : 1;
  RunJobs(options.threads, first_shard + source.shards.size(), [&](size_t job) {
    if (job < first_shard) {
      files.index = ReadIndex(source.index_path, options.max_index);
    } else {
      const size_t shard = job - first_shard;
      files.shards[shard] =
          ReadShardFile(source.directory, source.shards[shard], options.max_header);
    }
  });
  return files;
}

// The shards that the index names, sorted by name; empty when none of them is there.
Result<std::vector<std::string>> PresentShards(const Source& source, const ParsedIndex& index) {
  std::vector<std::string> names = index.shard_names;
  std::sort(names.begin(), names.end());
  std::vector<std::string> present;
  std::string missing;
  for (const std::string& name : names) {
    SHARDPLAN_ASSIGN_OR_RETURN(const bool there, IsPresent(JoinPath(source.directory, name)));
    if (there) {
      present.push_back(name);
    } else if (missing.empty()) {
      missing = name;
    }
  }
  if (present.empty() || missing.empty()) return present;
  return Fail(ErrorCode::kInvalidInput, Printable(source.index_path),
              fmt::format("expected {} shards, {} of them missing: {}{}", names.size(),
                          names.size() - present.size(), Printable(missing),
                          names.size() - present.size() > 1 ? " …" : ""),
              "fetch the missing ones");
}

// Moves the wanted shards out of what was read, reading those that were not in the directory's
// list: an index may name files without the usual ending.
Result<std::vector<ShardFile>> TakeShards(const Source& source, const OpenOptions& options,
                                          const std::vector<std::string>& wanted, Files* files) {
  std::vector<ShardFile> taken;
  taken.reserve(wanted.size());
  for (const std::string& name : wanted) {
    const auto at = std::lower_bound(source.shards.begin(), source.shards.end(), name);
    if (at != source.shards.end() && *at == name) {
      auto& read = files->shards[static_cast<size_t>(at - source.shards.begin())];
      SHARDPLAN_ASSIGN_OR_RETURN(ShardFile shard, *std::move(read));
      taken.push_back(std::move(shard));
    } else {
      SHARDPLAN_ASSIGN_OR_RETURN(ShardFile shard,
                                 ReadShardFile(source.directory, name, options.max_header));
      taken.push_back(std::move(shard));
    }
  }
  return taken;
}

void NoteExtraShards(const Source& source, const ParsedIndex& index, Inventory* inventory) {
  const std::set<std::string> named(index.shard_names.begin(), index.shard_names.end());
  std::string first;
  size_t count = 0;
  for (const std::string& name : source.shards) {
    if (named.count(name) != 0) continue;
    if (count++ == 0) first = name;
  }
  if (count == 0) return;
  inventory->findings.push_back(
      {"checkpoint.extra_shard", Severity::kWarning, Printable(JoinPath(source.directory, first)),
       count == 1 ? "the index does not name this file; it is left out"
                  : fmt::format("the index does not name this file and {} more; they are left out",
                                count - 1),
       "an engine that loads *.safetensors may read it all the same: move it away, or mend the "
       "index"});
}

// An index whose shards are not downloaded still says what the model consists of.
void TakeIndexNames(ParsedIndex index, Inventory* inventory) {
  inventory->patterns = std::move(index.patterns);
  inventory->index_names.reserve(index.entries.size());
  for (const IndexEntry& entry : index.entries) {
    TensorRecord record;
    record.indices = entry.indices;
    record.pattern = entry.pattern;
    inventory->index_names.push_back(record);
  }
}

void NoteAbsentHeaders(const ParsedIndex& index, Inventory* inventory) {
  inventory->findings.push_back(
      {"checkpoint.headers_absent", Severity::kNote, Printable(inventory->directory),
       fmt::format("none of the {} shards that the index names is here; sizes come from the config",
                   index.shard_names.size()),
       "fetch the shards for exact sizes; their headers are enough"});
}

Status ReadInto(const Source& source, const OpenOptions& options, Inventory* inventory) {
  if (options.index_only && !source.index_path.empty()) {
    SHARDPLAN_ASSIGN_OR_RETURN(ParsedIndex index, ReadIndex(source.index_path, options.max_index));
    inventory->has_index = true;
    inventory->index_total_size = index.total_size;
    TakeIndexNames(std::move(index), inventory);
    return {};
  }
  Files files = ReadAll(source, options);
  ParsedIndex index;
  std::vector<std::string> wanted = source.shards;
  if (files.index) {
    SHARDPLAN_ASSIGN_OR_RETURN(index, *std::move(files.index));
    inventory->has_index = true;
    inventory->index_total_size = index.total_size;
    SHARDPLAN_ASSIGN_OR_RETURN(wanted, PresentShards(source, index));
    NoteExtraShards(source, index, inventory);
    if (wanted.empty()) {
      NoteAbsentHeaders(index, inventory);
      TakeIndexNames(std::move(index), inventory);
      return {};
    }
  } else if (wanted.size() > 1) {
    inventory->findings.push_back(
        {"checkpoint.no_index", Severity::kNote, Printable(source.directory),
         fmt::format("{} .safetensors files and no index; all of them are taken as one model",
                     wanted.size()),
         "fetch model.safetensors.index.json to have them checked against it"});
  }
  Interner patterns;
  {
    SHARDPLAN_ASSIGN_OR_RETURN(std::vector<ShardFile> shards,
                               TakeShards(source, options, wanted, &files));
    JoinShards(std::move(shards), &patterns, inventory);
  }
  SHARDPLAN_RETURN_IF_ERROR(
      CrossCheck(*inventory, files.index ? &index : nullptr, source.index_path, &patterns));
  if (files.index) CheckTotalSize(index, source.index_path, inventory);
  inventory->patterns = patterns.Take();
  inventory->has_headers = true;
  return {};
}

}  // namespace

std::string Inventory::NameOf(const TensorRecord& record) const {
  return JoinTensorName(patterns[record.pattern], record.indices);
}

Result<Inventory> OpenCheckpoint(const std::string& path, const OpenOptions& options) {
  try {
    SHARDPLAN_ASSIGN_OR_RETURN(const Source source, LocateCheckpoint(path));
    Inventory inventory;
    inventory.kind = source.kind;
    inventory.path = path;
    inventory.directory = source.directory;
    inventory.config_path = source.config_path;
    inventory.quant_config_path = source.quant_config_path;
    if (source.kind != SourceKind::kConfig) {
      SHARDPLAN_RETURN_IF_ERROR(ReadInto(source, options, &inventory));
    }
    SortFindings(inventory.findings);
    return inventory;
  } catch (const SizeOverflow& overflow) {
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                fmt::format("the sum over its files: {}", overflow.what()));
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kIo, Printable(path), "not enough memory to hold its tensors");
  }
}

}  // namespace shardplan
