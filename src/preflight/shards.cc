#include "preflight/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "checkpoint/cross_check.h"
#include "checkpoint/interner.h"
#include "checkpoint/shard_file.h"
#include "checkpoint/source.h"
#include "checkpoint/work_list.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"
#include "shardplan/preflight/directory.h"

namespace shardplan {
namespace {

constexpr size_t kToldOneByOne = 8;

// The reader says so in its hint; an empty file is the shortest of all.
bool IsTruncated(const Error& error) {
  return error.hint.starts_with("the file is truncated") ||
         error.message.find("found an empty one") != std::string::npos;
}

// Each of the first few in its own words, the rest by name.
void TellBroken(const std::string& id, const std::vector<Error>& errors, ShardsSeen* seen) {
  for (size_t i = 0; i < std::min(errors.size(), kToldOneByOne); ++i) {
    const Error& error = errors[i];
    seen->findings.push_back({id, Severity::kError, error.subject, error.message, error.hint});
  }
  if (errors.size() <= kToldOneByOne) return;
  std::vector<std::string> rest;
  for (size_t i = kToldOneByOne; i < errors.size(); ++i) {
    rest.push_back(BaseName(errors[i].subject));
  }
  seen->findings.push_back(
      {id, Severity::kError, "", fmt::format("{} more: {}", rest.size(), NameSome(rest)), ""});
}

// The entries that name a shard among `names`, which are sorted.
ParsedIndex EntriesOf(const ParsedIndex& index, const std::vector<std::string>& names) {
  std::vector<bool> wanted;
  for (const std::string& shard : index.shard_names) {
    wanted.push_back(std::binary_search(names.begin(), names.end(), shard));
  }
  ParsedIndex part;
  part.patterns = index.patterns;
  part.shard_names = index.shard_names;
  for (const IndexEntry& entry : index.entries) {
    if (wanted[entry.shard]) part.entries.push_back(entry);
  }
  return part;
}

void Compare(const std::string& directory, std::vector<ShardFile> shards, const ParsedIndex* index,
             const std::string& index_path, ShardsSeen* seen) {
  Inventory inventory;
  inventory.directory = directory;
  Interner patterns;
  std::vector<std::string> names;
  for (const ShardFile& shard : shards) names.push_back(shard.info.name);
  JoinShards(std::move(shards), &patterns, &inventory);
  seen->shards = static_cast<int64_t>(inventory.shards.size());
  seen->tensors = static_cast<int64_t>(inventory.tensors.size());
  seen->file_bytes = inventory.file_bytes;
  const auto tell = [&](std::string id, const Error& error) {
    seen->findings.push_back(
        {std::move(id), Severity::kError, error.subject, error.message, error.hint});
  };
  if (const Status alone = CrossCheck(inventory, nullptr, index_path, &patterns); !alone) {
    tell("model.duplicate_tensors", alone.error());
  } else if (index != nullptr) {
    const ParsedIndex part = EntriesOf(*index, names);
    const Status together = CrossCheck(inventory, &part, index_path, &patterns);
    if (!together) tell("model.index_contradicts", together.error());
  }
}

}  // namespace

std::string NameRuns(const std::vector<std::string>& all, const std::vector<std::string>& some,
                     size_t limit) {
  std::string out;
  size_t runs = 0, named = 0;
  for (size_t i = 0; i < all.size() && runs < limit; ++i) {
    if (!std::binary_search(some.begin(), some.end(), all[i])) continue;
    size_t last = i;
    while (last + 1 < all.size() && std::binary_search(some.begin(), some.end(), all[last + 1])) {
      ++last;
    }
    if (runs++ > 0) out += ", ";
    out += Printable(all[i]);
    if (last > i) out += (last == i + 1 ? ", " : " to ") + Printable(all[last]);
    named += last - i + 1;
    i = last;
  }
  if (named < some.size()) out += fmt::format(" and {} more", some.size() - named);
  return out;
}

ShardsSeen LookAtShards(const std::string& directory, const std::vector<std::string>& wanted,
                        const ParsedIndex* index, const std::string& index_path,
                        const OpenOptions& options) {
  ShardsSeen seen;
  std::vector<std::string> missing, present;
  bool unreadable = false;
  for (const std::string& name : wanted) {
    const Result<bool> there = IsPresent(JoinPath(directory, name));
    if (!there) {
      unreadable = true;
    } else {
      (*there ? present : missing).push_back(name);
    }
  }
  if (!missing.empty()) {
    seen.findings.push_back(
        {"model.shard_missing", Severity::kError, Printable(directory),
         fmt::format("{} of {} shards {} not there: {}", missing.size(), wanted.size(),
                     missing.size() == 1 ? "is" : "are", NameRuns(wanted, missing)),
         "fetch the missing ones"});
  }
  std::vector<std::optional<Result<ShardFile>>> read(present.size());
  RunJobs(options.threads, present.size(),
          [&](size_t i) { read[i] = ReadShardFile(directory, present[i], options.max_header); });
  std::vector<ShardFile> sound;
  std::vector<Error> truncated, broken;
  for (std::optional<Result<ShardFile>>& shard : read) {
    if (*shard) {
      sound.push_back(**std::move(shard));
      continue;
    }
    const Error& error = shard->error();
    if (error.code == ErrorCode::kIo || error.hint.starts_with("run `git lfs pull`")) {
      unreadable = true;
    } else {
      (IsTruncated(error) ? truncated : broken).push_back(error);
    }
  }
  TellBroken("model.shard_truncated", truncated, &seen);
  TellBroken("model.header_broken", broken, &seen);
  try {
    Compare(directory, std::move(sound), index, index_path, &seen);
  } catch (const SizeOverflow& overflow) {
    seen.findings.push_back({"model.header_broken", Severity::kError, Printable(directory),
                             fmt::format("the sum over its shards: {}", overflow.what()), ""});
  }
  seen.sound = seen.findings.empty() && !unreadable;
  return seen;
}

}  // namespace shardplan
