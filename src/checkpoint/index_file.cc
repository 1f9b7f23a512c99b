#include "checkpoint/index_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "checkpoint/json_output.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {

Result<PaddedText> ReadIndexText(const std::string& path, Bytes limit) {
  SHARDPLAN_ASSIGN_OR_RETURN(const File file, File::Open(path));
  if (file.size() > limit) {
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                fmt::format("expected an index of at most {}, the file has {}", FormatBytes(limit),
                            FormatBytes(file.size())));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(PaddedText text, ReadPadded(file, 0, file.size().count()));
  if (IsLfsPointer(text.view())) return LfsPointerFault(path);
  return text;
}

std::string RenderIndex(const ParsedIndex& index, const std::vector<bool>& keep, Bytes total_size) {
  constexpr size_t kTypicalEntry = 128;
  const auto kept = static_cast<size_t>(std::count(keep.begin(), keep.end(), true));
  std::string out;
  out.reserve(kept * kTypicalEntry);
  out += "{\n  \"metadata\": {\n    \"total_size\": ";
  AppendInteger(total_size.count(), &out);
  out += "\n  },\n  \"weight_map\": {";
  bool first = true;
  for (size_t i = 0; i < index.entries.size(); ++i) {
    if (!keep[i]) continue;
    const IndexEntry& entry = index.entries[i];
    out += first ? "\n    " : ",\n    ";
    first = false;
    AppendJsonString(JoinTensorName(index.patterns[entry.pattern], entry.indices), &out);
    out += ": ";
    AppendJsonString(index.shard_names[entry.shard], &out);
  }
  out += "\n  }\n}\n";
  return out;
}

}  // namespace shardplan
