#include "shardplan/checkpoint/standin.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "checkpoint/index.h"
#include "checkpoint/json_output.h"
#include "checkpoint/output_file.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr size_t kMaxHeader = 100'000'000;  // what safetensors reads
constexpr size_t kFlushAt = size_t{1} << 20;

tl::unexpected<Error> PlanFault(std::string_view subject, std::string message) {
  return Fail(ErrorCode::kInvalidInput, Printable(subject), std::move(message));
}

// All names of the checkpoint in one string, for the index and to find a name that comes twice.
class NameList {
 public:
  void Add(std::string_view name, uint32_t shard) {
    entries_.push_back({text_.size(), static_cast<uint32_t>(name.size()), shard});
    text_ += name;
  }
  struct Entry {
    size_t begin;
    uint32_t size;
    uint32_t shard;
  };
  std::string_view NameOf(const Entry& entry) const {
    return std::string_view(text_).substr(entry.begin, entry.size);
  }
  void Sort() {
    std::sort(entries_.begin(), entries_.end(),
              [&](const Entry& a, const Entry& b) { return NameOf(a) < NameOf(b); });
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::string text_;
  std::vector<Entry> entries_;
};

class StandInWriter {
 public:
  explicit StandInWriter(std::string directory) : directory_(std::move(directory)) {}

  Status WriteFile(const StandInFile& file);
  Status WriteShard(const StandInShard& shard);
  // Sorts the names, refuses one that comes twice, and writes the index when it is wanted.
  Status Finish(bool write_index);

  const StandInReport& report() const { return report_; }

 private:
  Status ClaimFileName(std::string_view name);
  Status AppendTensor(const StandInTensor& tensor, int64_t* offset);
  Status WriteIndex();

  std::string directory_;
  std::set<std::string, std::less<>> file_names_;
  std::vector<std::string> shard_names_;
  NameList names_;
  std::string header_;
  StandInReport report_;
};

Status StandInWriter::ClaimFileName(std::string_view name) {
  if (!IsPlainFileName(name)) {
    return PlanFault(name, "expected a plain file name without slashes");
  }
  if (!file_names_.emplace(name).second) return PlanFault(name, "expected once, found twice");
  return {};
}

Status StandInWriter::WriteFile(const StandInFile& file) {
  SHARDPLAN_RETURN_IF_ERROR(ClaimFileName(file.name));
  SHARDPLAN_ASSIGN_OR_RETURN(OutputFile out, OutputFile::Create(JoinPath(directory_, file.name)));
  SHARDPLAN_RETURN_IF_ERROR(out.Write(file.text));
  return out.Close();
}

Status StandInWriter::AppendTensor(const StandInTensor& tensor, int64_t* offset) {
  if (!IsUtf8(tensor.name)) return PlanFault(tensor.name, "expected a tensor name in UTF-8");
  if (tensor.name == "__metadata__") {
    return PlanFault(tensor.name, "expected a tensor name, found the key kept for metadata");
  }
  for (const int64_t dim : tensor.shape.dims) {
    if (dim < 0) {
      return PlanFault(tensor.name, fmt::format("expected dimensions from 0, found shape {}",
                                                Printable(tensor.shape.ToString())));
    }
  }
  std::optional<Bytes> size;
  int64_t end = 0;
  try {
    size = SizeOf(tensor.dtype, tensor.shape);
    if (size) end = (Bytes(*offset) + *size).count();
  } catch (const SizeOverflow&) {
    return PlanFault(tensor.name,
                     fmt::format("shape {} of {} does not fit in 64 bits",
                                 Printable(tensor.shape.ToString()), NameOf(tensor.dtype)));
  }
  if (!size) {
    return PlanFault(tensor.name,
                     fmt::format("expected whole bytes, found shape {} of {}",
                                 Printable(tensor.shape.ToString()), NameOf(tensor.dtype)));
  }
  AppendJsonString(tensor.name, &header_);
  header_.append(R"(:{"dtype":")").append(NameOf(tensor.dtype)).append(R"(","shape":[)");
  for (size_t i = 0; i < tensor.shape.dims.size(); ++i) {
    if (i > 0) header_ += ',';
    AppendInteger(tensor.shape.dims[i], &header_);
  }
  header_ += R"(],"data_offsets":[)";
  AppendInteger(*offset, &header_);
  header_ += ',';
  AppendInteger(end, &header_);
  header_ += "]}";
  *offset = end;
  return {};
}

Status StandInWriter::WriteShard(const StandInShard& shard) {
  SHARDPLAN_RETURN_IF_ERROR(ClaimFileName(shard.file_name));
  if (!IsUtf8(shard.file_name)) {
    return PlanFault(shard.file_name, "expected a file name in UTF-8");
  }
  header_ = "{";
  int64_t payload = 0;
  for (const StandInTensor& tensor : shard.tensors) {
    if (header_.size() > 1) header_ += ',';
    SHARDPLAN_RETURN_IF_ERROR(AppendTensor(tensor, &payload));
    names_.Add(tensor.name, static_cast<uint32_t>(shard_names_.size()));
  }
  header_ += '}';
  while (header_.size() % 8 != 0) header_ += ' ';
  if (header_.size() > kMaxHeader) {
    return PlanFault(
        shard.file_name,
        fmt::format("expected a header of at most {}, found {}: put fewer tensors into "
                    "one shard",
                    FormatBytes(Bytes(kMaxHeader)),
                    FormatBytes(Bytes(static_cast<int64_t>(header_.size())))));
  }
  std::string length;
  for (int shift = 0; shift < 64; shift += 8) {
    length += static_cast<char>((header_.size() >> shift) & 0xff);
  }
  const Bytes file_bytes =
      Bytes(static_cast<int64_t>(length.size() + header_.size())) + Bytes(payload);
  SHARDPLAN_ASSIGN_OR_RETURN(OutputFile out,
                             OutputFile::Create(JoinPath(directory_, shard.file_name)));
  SHARDPLAN_RETURN_IF_ERROR(out.Write(length));
  SHARDPLAN_RETURN_IF_ERROR(out.Write(header_));
  SHARDPLAN_RETURN_IF_ERROR(out.Extend(file_bytes));
  SHARDPLAN_RETURN_IF_ERROR(out.Close());
  shard_names_.push_back(shard.file_name);
  ++report_.shards;
  report_.tensors += static_cast<int64_t>(shard.tensors.size());
  report_.payload_bytes += Bytes(payload);
  report_.file_bytes += file_bytes;
  return {};
}

Status StandInWriter::WriteIndex() {
  SHARDPLAN_RETURN_IF_ERROR(ClaimFileName(kIndexName));
  SHARDPLAN_ASSIGN_OR_RETURN(OutputFile out, OutputFile::Create(JoinPath(directory_, kIndexName)));
  std::vector<std::string> quoted;  // a shard's name is escaped once, not per tensor
  for (const std::string& name : shard_names_) AppendJsonString(name, &quoted.emplace_back());
  std::string text = "{\n  \"metadata\": {\n    \"total_size\": ";
  AppendInteger(report_.payload_bytes.count(), &text);
  text += "\n  },\n  \"weight_map\": {";
  bool first = true;
  for (const NameList::Entry& entry : names_.entries()) {
    text += first ? "\n    " : ",\n    ";
    first = false;
    AppendJsonString(names_.NameOf(entry), &text);
    text.append(": ").append(quoted[entry.shard]);
    if (text.size() >= kFlushAt) {
      SHARDPLAN_RETURN_IF_ERROR(out.Write(text));
      text.clear();
    }
  }
  text += first ? "}\n}\n" : "\n  }\n}\n";
  SHARDPLAN_RETURN_IF_ERROR(out.Write(text));
  return out.Close();
}

Status StandInWriter::Finish(bool write_index) {
  names_.Sort();
  const auto& entries = names_.entries();
  for (size_t i = 1; i < entries.size(); ++i) {
    const std::string_view name = names_.NameOf(entries[i]);
    if (name != names_.NameOf(entries[i - 1])) continue;
    return PlanFault(name, fmt::format("expected the tensor once, found it in {} and {}",
                                       Printable(shard_names_[entries[i - 1].shard]),
                                       Printable(shard_names_[entries[i].shard])));
  }
  return write_index ? WriteIndex() : Status();
}

Result<StandInReport> Write(const StandInPlan& plan, const std::string& directory) {
  SHARDPLAN_ASSIGN_OR_RETURN(StagedDirectory staged, StagedDirectory::Create(directory));
  StandInWriter writer(staged.path());
  for (const StandInFile& file : plan.files) SHARDPLAN_RETURN_IF_ERROR(writer.WriteFile(file));
  for (size_t i = 0; i < plan.shard_count; ++i) {
    SHARDPLAN_ASSIGN_OR_RETURN(const StandInShard shard, plan.shard(i));
    SHARDPLAN_RETURN_IF_ERROR(writer.WriteShard(shard));
  }
  SHARDPLAN_RETURN_IF_ERROR(writer.Finish(plan.shard_count > 1 || plan.always_index));
  SHARDPLAN_RETURN_IF_ERROR(staged.Publish());
  return writer.report();
}

}  // namespace

Result<StandInReport> WriteStandIn(const StandInPlan& plan, const std::string& directory) {
  try {
    return Write(plan, directory);
  } catch (const SizeOverflow& overflow) {
    return Fail(ErrorCode::kInvalidInput, Printable(directory),
                fmt::format("the sum over the shards: {}", overflow.what()));
  }
}

}  // namespace shardplan
