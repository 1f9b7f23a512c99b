#include "launch/stage_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/index_file.h"
#include "checkpoint/json_output.h"
#include "checkpoint/source.h"
#include "checkpoint/work_list.h"
#include "launch/stage_cut.h"
#include "plan/stage_filter.h"
#include "shardplan/base/file.h"
#include "shardplan/base/sha256.h"
#include "shardplan/base/units.h"
#include "shardplan/launch/shell.h"

namespace shardplan {
namespace {

std::string Json(const std::string& text) {
  std::string out;
  AppendJsonString(IsUtf8(text) ? text : Printable(text, text.size() * 4), &out);
  return out;
}

// Memory that runs out is an error like any other, on every thread.
template <typename F>
auto Guarded(const std::string& subject, F step) -> decltype(step()) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kIo, Printable(subject), "not enough memory for its index");
  }
}

struct IndexSource {
  std::string path;
  std::string name;  // its last component
  Bytes bytes;
  std::string sha256;
  ParsedIndex index;
};

Result<IndexSource> ReadSource(const Model& model, const OpenOptions& options) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Source source, LocateCheckpoint(model.inventory.path));
  IndexSource out;
  out.path = source.index_path;
  out.name = BaseName(source.index_path);
  SHARDPLAN_ASSIGN_OR_RETURN(const PaddedText text, ReadIndexText(out.path, options.max_index));
  out.bytes = Bytes(static_cast<int64_t>(text.view().size()));
  Result<ParsedIndex> index;
  RunJobs(options.threads, 2, [&](size_t job) {
    if (job == 0) {
      out.sha256 = Sha256(text.view());
    } else {
      index = Guarded(out.path, [&] { return ParseIndex(out.path, text); });
    }
  });
  SHARDPLAN_ASSIGN_OR_RETURN(out.index, std::move(index));
  return out;
}

// The tensors of the shards, which know how large they are.
class Headers {
 public:
  static Result<Headers> Read(const Model& model, const OpenOptions& options) {
    Headers out;
    SHARDPLAN_ASSIGN_OR_RETURN(out.inventory_, OpenCheckpoint(model.inventory.path, options));
    for (const TensorRecord& tensor : out.inventory_.tensors) {
      out.entries_.push_back({tensor.indices, tensor.pattern, static_cast<uint32_t>(tensor.shard)});
    }
    out.filter_.emplace(model.table, out.inventory_.patterns, out.entries_,
                        out.inventory_.shards.size());
    return out;
  }

  const Inventory& inventory() const { return inventory_; }
  StageFilter::Kept For(const std::vector<StageRange>& ranges) const {
    return filter_->For(ranges);
  }
  Bytes SizeOf(const StageFilter::Kept& kept) const {
    Bytes sum;
    for (size_t i = 0; i < inventory_.tensors.size(); ++i) {
      const TensorRecord& tensor = inventory_.tensors[i];
      if (kept.entries[i]) sum += Bytes(tensor.end - tensor.begin);
    }
    return sum;
  }

 private:
  Inventory inventory_;
  std::vector<IndexEntry> entries_;
  std::optional<StageFilter> filter_;
};

// What one directory of the bundle holds.
struct StagePart {
  StageCut cut;
  std::vector<StageRange> ranges;
  std::string index;  // its text
  std::string sha256;
  int64_t tensors = 0;
  Bytes total_size;               // of the tensors
  std::vector<ShardInfo> shards;  // that the index names
  Bytes bytes;                    // of these files
};

std::string Manifest(const StagePart& part, const IndexSource& source) {
  std::string out = "{\n  \"schema_version\": 1,\n  \"kind\": \"stage_index\",\n";
  out += fmt::format("  \"nodes\": [{}],\n  \"stages\": [", NumbersText(part.cut.nodes));
  for (size_t i = 0; i < part.ranges.size(); ++i) {
    out += fmt::format("{}{{\"stage\": {}, \"first_layer\": {}, \"layer_count\": {}}}",
                       i > 0 ? ", " : "", part.cut.stages[i], part.ranges[i].first,
                       part.ranges[i].count);
  }
  out += fmt::format(
      "],\n  \"source\": {{\n    \"path\": {},\n    \"bytes\": {},\n    \"sha256\": \"{}\",\n"
      "    \"tensors\": {},\n    \"files\": {}\n  }},\n",
      Json(source.path), source.bytes.count(), source.sha256, source.index.entries.size(),
      source.index.shard_names.size());
  out += fmt::format(
      "  \"index\": {{\n    \"name\": {},\n    \"bytes\": {},\n    \"sha256\": \"{}\"\n  }},\n",
      Json(source.name), part.index.size(), part.sha256);
  out += fmt::format("  \"tensors\": {},\n  \"total_size\": {},\n  \"bytes\": {},\n  \"files\": [",
                     part.tensors, part.total_size.count(), part.bytes.count());
  for (size_t i = 0; i < part.shards.size(); ++i) {
    out += fmt::format("{}\n    {{\"name\": {}, \"bytes\": {}}}", i > 0 ? "," : "",
                       Json(part.shards[i].name), part.shards[i].file_bytes.count());
  }
  return out + "\n  ]\n}\n";
}

// What mounts a stage's index over the model's, read-only. Colons separate the parts of -v.
std::string MountLine(const std::string& from, const std::string& onto) {
  if (onto.find(':') == std::string::npos) {
    return "-v \"$PWD\"/" + ShellQuote(from) + ":" + ShellQuote(onto) + ":ro";
  }
  return "--mount type=bind,readonly,source=\"$PWD\"/" + ShellQuote(from) +
         ",target=" + ShellQuote(onto);
}

std::string Guide(const std::vector<StagePart>& parts, const IndexSource& source,
                  const LaunchInput& input) {
  const std::string& given = input.site.model_path;
  std::string directory = given.empty() ? input.model.inventory.directory : given;
  if (!directory.starts_with('/')) directory = "<MODEL_PATH>";  // a container wants it absolute
  std::string out = fmt::format(
      "# Files of each pipeline stage\n\nCut from `{}`: {}, {} tensors in {} files, SHA-256 "
      "`{}`.\n\n",
      Printable(source.path), FormatBytes(source.bytes),
      FormatCount(static_cast<int64_t>(source.index.entries.size())),
      source.index.shard_names.size(), source.sha256);
  out += MarkdownRow({"directory", "nodes", "layers", "tensors", "files", "bytes"});
  out += MarkdownRow({"---", "---", "---", "---:", "---:", "---:"});
  for (const StagePart& part : parts) {
    out +=
        MarkdownRow({part.cut.Name(), NumbersText(part.cut.nodes), LayersText(part.ranges),
                     FormatCount(part.tensors),
                     FormatCount(static_cast<int64_t>(part.shards.size())), SizeText(part.bytes)});
  }
  out +=
      "\nEvery stage keeps what is outside the layer stack: embedding, head, norms, towers and "
      "drafts.\n`manifest.json` of a directory lists its files. The weights and the model's own "
      "index stay as they\nare; the stage's index is mounted over the latter, read-only, from "
      "here:\n";
  for (const StagePart& part : parts) {
    out += fmt::format("\n    docker run … {}\n", MountLine(part.cut.Name() + "/" + source.name,
                                                            JoinPath(directory, source.name)));
  }
  out += "\nOn a node, before it starts:\n";
  for (const StagePart& part : parts) {
    out += fmt::format("\n    shardplan check model {} --stage-index {}\n", ShellQuote(directory),
                       part.cut.Name());
  }
  return out;
}

Status CheckCuttable(const LaunchInput& input, const std::vector<StageCut>& cuts) {
  const Model& model = input.model;
  const std::string subject = Printable(model.source);
  const auto refuse = [&](std::string message, std::string hint) {
    return Fail(ErrorCode::kUnsupported, subject, std::move(message), std::move(hint));
  };
  if (input.plan.sizes.pp < 2) {
    return Fail(ErrorCode::kUsage, "--pp 1",
                "expected two pipeline stages or more, found one, which needs every file",
                "nothing has to be cut");
  }
  if (model.shard_use.empty()) {
    return refuse(
        "expected a checkpoint with all its shards, whose headers say which tensor is "
        "where, found none",
        "give the model's directory; sparse files of `shardplan standin` will do");
  }
  if (model.guesses) {
    return refuse("no family covers this architecture: which stage needs a tensor would be a guess",
                  "keep all files on every node");
  }
  if (model.inventory.shards.size() < 2) {
    return refuse("expected several shards, found one, of which every stage needs a part",
                  "keep it on every node");
  }
  if (!model.inventory.has_index) {
    return refuse(
        "expected a model.safetensors.index.json, found none: an engine then reads every "
        ".safetensors file that is there",
        "copy to each node what `shardplan launch files` lists");
  }
  const bool all_everywhere = std::all_of(cuts.begin(), cuts.end(), [&](const StageCut& cut) {
    return static_cast<int64_t>(cut.stages.size()) == input.plan.sizes.pp;
  });
  if (all_everywhere) {
    return refuse("every node runs every stage and needs every file", "nothing has to be cut");
  }
  return {};
}

Result<StagePart> MakePart(const StageCut& cut, const LaunchInput& input, const Headers& headers,
                           const StageFilter& filter, const IndexSource& source) {
  StagePart part;
  part.cut = cut;
  part.ranges = RangesOf(cut, input.plan);
  const StageFilter::Kept stored = headers.For(part.ranges);
  const StageFilter::Kept listed = filter.For(part.ranges);
  std::vector<std::string> names;
  for (size_t shard = 0; shard < stored.shards.size(); ++shard) {
    if (!stored.shards[shard]) continue;
    const ShardInfo& info = headers.inventory().shards[shard];
    names.push_back(info.name);
    part.shards.push_back(info);
    part.bytes += info.file_bytes;
  }
  // The plan, the headers and the index have to agree on what a node holds.
  const std::vector<FilesPlan>& files = input.plan.files;
  const auto planned = std::find_if(files.begin(), files.end(), [&](const FilesPlan& plan) {
    return plan.node == cut.nodes.front();
  });
  if (stored.count != listed.count || planned == files.end() || planned->shards != names) {
    return Fail(ErrorCode::kInvalidInput, Printable(source.path),
                fmt::format("expected the same files and tensors of {} from headers, index and "
                            "plan, found {} and {} tensors",
                            cut.Name(), stored.count, listed.count),
                "the directory changed while it was read; try again");
  }
  part.tensors = listed.count;
  part.total_size = headers.SizeOf(stored);
  part.index = RenderIndex(source.index, listed.entries, part.total_size);
  part.sha256 = Sha256(part.index);
  return part;
}

Result<Bundle> Make(const LaunchInput& input, const OpenOptions& options) {
  const std::vector<StageCut> cuts = CutsOf(input.plan);
  SHARDPLAN_RETURN_IF_ERROR(CheckCuttable(input, cuts));
  SHARDPLAN_ASSIGN_OR_RETURN(const IndexSource source, ReadSource(input.model, options));
  SHARDPLAN_ASSIGN_OR_RETURN(const Headers headers, Headers::Read(input.model, options));
  const StageFilter filter(input.model.table, source.index.patterns, source.index.entries,
                           source.index.shard_names.size());
  Bundle bundle;
  std::vector<StagePart> parts;
  std::vector<Result<StagePart>> made(cuts.size());
  RunJobs(options.threads, cuts.size(), [&](size_t i) {
    made[i] =
        Guarded(source.path, [&] { return MakePart(cuts[i], input, headers, filter, source); });
  });
  for (Result<StagePart>& result : made) {
    SHARDPLAN_ASSIGN_OR_RETURN(StagePart part, std::move(result));
    const StageCut& cut = part.cut;
    bundle.files.push_back({cut.Name() + "/manifest.json", Manifest(part, source), false});
    bundle.files.push_back({cut.Name() + "/" + source.name, std::move(part.index), false});
    parts.push_back(std::move(part));
  }
  bundle.files.push_back({"FILES.md", Guide(parts, source, input), false});
  return bundle;
}

}  // namespace

Result<Bundle> MakeStageIndex(const LaunchInput& input, const OpenOptions& options) {
  return Guarded(input.model.source, [&] { return Make(input, options); });
}

}  // namespace shardplan
