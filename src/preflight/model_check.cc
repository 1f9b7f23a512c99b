#include "shardplan/preflight/model_check.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "checkpoint/index_file.h"
#include "checkpoint/source.h"
#include "plan/stage_filter.h"
#include "preflight/shards.h"
#include "preflight/side_files.h"
#include "preflight/stage_manifest.h"
#include "shardplan/base/file.h"
#include "shardplan/base/sha256.h"
#include "shardplan/base/units.h"
#include "shardplan/model/model.h"
#include "shardplan/preflight/directory.h"

namespace shardplan {
namespace {

struct IndexRead {
  std::string path;
  std::string sha256;
  ParsedIndex index;
};

Result<IndexRead> ReadIndexFile(const std::string& path, const OpenOptions& options) {
  IndexRead out;
  out.path = path;
  SHARDPLAN_ASSIGN_OR_RETURN(const PaddedText text, ReadIndexText(path, options.max_index));
  out.sha256 = Sha256(text.view());
  SHARDPLAN_ASSIGN_OR_RETURN(out.index, ParseIndex(path, text));
  return out;
}

Status CheckDirectoryGiven(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    return Fail(ErrorCode::kIo, Printable(path),
                "cannot open: " + std::generic_category().message(errno));
  }
  if (S_ISDIR(info.st_mode)) return {};
  return Fail(ErrorCode::kUsage, Printable(path), "expected a directory, found a file",
              "name the directory that it is in");
}

std::string ScopeOf(const std::vector<int64_t>& stages) {
  return fmt::format("{} {}: ", stages.size() == 1 ? "stage" : "stages", fmt::join(stages, ", "));
}

class Checker {
 public:
  explicit Checker(const ModelCheckRequest& request) : request_(request) {}

  Result<ModelCheck> Run();

 private:
  void Tell(std::string id, const Error& error) {
    Add({std::move(id), Severity::kError, error.subject, error.message, error.hint});
  }
  void Add(Finding finding) { check_.findings.push_back(std::move(finding)); }
  void AddAll(std::vector<Finding> findings) {
    for (Finding& finding : findings) Add(std::move(finding));
  }

  // All shards, or those of some stages of a layout.
  Status CheckWeights();
  // What a manifest says.
  Status CheckStage();
  void ReadOwnIndex();
  Result<std::vector<std::string>> ShardsOfStages();
  void LookAt(const std::vector<std::string>& wanted, const IndexRead* index);
  // Config against headers, or against the index's names alone.
  void CompareWithConfig(bool index_only);

  const ModelCheckRequest& request_;
  ModelCheck check_;
  Source source_;
  std::optional<IndexRead> index_;  // the directory's own, where it could be read
  ShardsSeen seen_;
  std::string scope_;  // "stage 0: "
};

void Checker::ReadOwnIndex() {
  if (source_.index_path.empty()) return;
  Result<IndexRead> index = ReadIndexFile(source_.index_path, request_.open);
  if (index) {
    index_ = *std::move(index);
  } else if (!index.error().hint.starts_with("run `git lfs pull`")) {
    Tell("model.index_broken", index.error());
  }
}

Result<std::vector<std::string>> Checker::ShardsOfStages() {
  if (!index_) {
    return Fail(ErrorCode::kUnsupported, Printable(request_.directory),
                "expected an index that says which shards a stage needs, found none",
                "copy the model's model.safetensors.index.json there");
  }
  OpenOptions names_only = request_.open;
  names_only.index_only = true;
  SHARDPLAN_ASSIGN_OR_RETURN(const Model model,
                             LoadModel(request_.directory, request_.assumptions, names_only));
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<StageRange> all,
                             StagesFor(request_.layout, model.arch.layers()));
  std::vector<StageRange> ranges;
  for (const int64_t stage : request_.stages) {
    if (stage >= static_cast<int64_t>(all.size())) {
      return Fail(ErrorCode::kUsage, fmt::format("--stage {}", stage),
                  fmt::format("expected a stage from 0 to {}", all.size() - 1),
                  "--pp or --pp-partition say how many there are");
    }
    ranges.push_back(all[static_cast<size_t>(stage)]);
  }
  const ParsedIndex& index = index_->index;
  const StageFilter filter(model.table, index.patterns, index.entries, index.shard_names.size());
  const StageFilter::Kept kept = filter.For(ranges);
  std::vector<std::string> names;
  for (size_t i = 0; i < kept.shards.size(); ++i) {
    if (kept.shards[i]) names.push_back(index.shard_names[i]);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void Checker::LookAt(const std::vector<std::string>& wanted, const IndexRead* index) {
  seen_ = LookAtShards(request_.directory, wanted, index != nullptr ? &index->index : nullptr,
                       index != nullptr ? index->path : "", request_.open);
  AddAll(std::move(seen_.findings));
}

Status Checker::CheckWeights() {
  ReadOwnIndex();
  std::vector<std::string> wanted = source_.shards;
  if (!request_.stages.empty()) {
    // An index that cannot be read and a config that is not there are told.
    const bool told = !index_ && !source_.index_path.empty();
    if (told || source_.config_path.empty()) return {};
    Result<std::vector<std::string>> names = ShardsOfStages();
    if (!names && names.error().code == ErrorCode::kInvalidInput) {
      Tell("model.config_contradicts", names.error());
      return {};
    }
    SHARDPLAN_ASSIGN_OR_RETURN(wanted, std::move(names));
    scope_ = ScopeOf(request_.stages);
  } else if (index_) {
    wanted = index_->index.shard_names;
    std::sort(wanted.begin(), wanted.end());
  }
  LookAt(wanted, index_ ? &*index_ : nullptr);
  if (!request_.stages.empty()) return {};  // the names were compared to find the shards
  const bool readable = source_.index_path.empty() || index_.has_value();
  if (seen_.sound && readable) {
    CompareWithConfig(/*index_only=*/false);
  } else if (index_) {
    CompareWithConfig(/*index_only=*/true);
  }
  return {};
}

void Checker::CompareWithConfig(bool index_only) {
  if (source_.config_path.empty()) return;  // told
  OpenOptions open = request_.open;
  open.index_only = index_only;
  const Result<Model> model = LoadModel(request_.directory, request_.assumptions, open);
  if (!model && model.error().code == ErrorCode::kUnsupported) {
    Add({"model.not_modelled", Severity::kNote, model.error().subject,
         "its tensors were not compared with the config: " + model.error().message, ""});
    return;
  }
  if (!model) {
    Tell("model.config_contradicts", model.error());
    return;
  }
  const Result<Inspection> inspection = Inspect(*model);
  for (const Finding& finding : inspection ? inspection->findings : model->findings) {
    // True of every look at names alone.
    if (index_only && finding.id == "model.shapes_derived") continue;
    Add(finding);
  }
}

Status Checker::CheckStage() {
  SHARDPLAN_ASSIGN_OR_RETURN(const StageManifest manifest, ReadStageManifest(request_.stage_index));
  scope_ = ScopeOf(manifest.stages);
  ReadOwnIndex();
  Result<IndexRead> own = ReadIndexFile(manifest.index_path, request_.open);
  if (!own) {
    Tell("model.stage_index_broken", own.error());
  } else if (own->sha256 != manifest.index_sha256) {
    Add({"model.stage_index_broken", Severity::kError, Printable(manifest.index_path),
         fmt::format("expected SHA-256 {} as its manifest says, found {}",
                     Printable(manifest.index_sha256), own->sha256),
         "write it again with shardplan launch stage-index"});
  }
  // The stage's index may already lie over the model's own.
  if (index_ && index_->sha256 != manifest.source_sha256 &&
      index_->sha256 != manifest.index_sha256) {
    Add({"model.index_changed", Severity::kWarning, Printable(index_->path),
         "it is not the index that the stage's was cut from",
         "are these the weights that were meant? Otherwise cut it again"});
  }
  std::vector<std::string> wanted;
  for (const auto& [name, bytes] : manifest.files) {
    wanted.push_back(name);
    const Result<File> file = File::Open(JoinPath(request_.directory, name));
    if (!file || file->size() == bytes) continue;
    Add({"model.file_size", Severity::kError, Printable(file->path()),
         fmt::format("expected {} as the manifest says, found {}", FormatBytes(bytes),
                     FormatBytes(file->size())),
         "fetch it again"});
  }
  LookAt(wanted, own ? &*own : nullptr);
  return {};
}

Result<ModelCheck> Checker::Run() {
  SHARDPLAN_RETURN_IF_ERROR(CheckDirectoryGiven(request_.directory));
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                             ListDirectory(request_.directory));
  SHARDPLAN_ASSIGN_OR_RETURN(std::vector<Finding> entries, DirectoryFindings(request_.directory));
  AddAll(std::move(entries));
  AddAll(SideFileFindings(request_.directory, names));
  Result<Source> source = LocateCheckpoint(request_.directory);
  if (!source) {
    Tell("model.no_weights", source.error());
  } else if (source->kind == SourceKind::kConfig) {
    Add({"model.no_weights", Severity::kError, Printable(request_.directory),
         "expected .safetensors files, found none and no index", "fetch the model's weights"});
  } else {
    source_ = *std::move(source);
    SHARDPLAN_RETURN_IF_ERROR(request_.stage_index.empty() ? CheckWeights() : CheckStage());
  }
  check_.summary = scope_ + fmt::format("{} {}, {} tensors, {}", FormatCount(seen_.shards),
                                        seen_.shards == 1 ? "shard" : "shards",
                                        FormatCount(seen_.tensors), FormatGiB(seen_.file_bytes));
  SortFindings(check_.findings);
  return std::move(check_);
}

}  // namespace

Result<ModelCheck> CheckModelDirectory(const ModelCheckRequest& request) {
  try {
    return Checker(request).Run();
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kIo, Printable(request.directory), "not enough memory to check it");
  }
}

}  // namespace shardplan
