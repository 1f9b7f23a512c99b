#include "checkpoint/shard_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr int64_t kLengthField = 8;  // a little-endian count of header bytes opens the file

uint64_t DecodeLength(std::span<const char> bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthField; ++i) {
    length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return length;
}

std::string CountText(uint64_t count) {
  return count <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
             ? FormatCount(static_cast<int64_t>(count))
             : std::to_string(count);
}

Result<ShardFile> Read(const std::string& path, const std::string& name, Bytes max_header) {
  SHARDPLAN_ASSIGN_OR_RETURN(const File file, File::Open(path));
  const auto fault = [&](std::string message, std::string hint) {
    return Fail(ErrorCode::kInvalidInput, Printable(path), std::move(message), std::move(hint));
  };
  const int64_t file_bytes = file.size().count();
  if (file_bytes == 0) {
    return fault("expected a safetensors file, found an empty one", "fetch it again");
  }
  char start[64] = {};  // enough to know a Git LFS pointer
  const std::span<char> there =
      std::span(start).first(static_cast<size_t>(std::min<int64_t>(file_bytes, sizeof(start))));
  SHARDPLAN_RETURN_IF_ERROR(file.ReadExact(0, there));
  if (IsLfsPointer({there.data(), there.size()})) return LfsPointerFault(path);
  if (file_bytes < kLengthField) {
    return fault(
        fmt::format("expected the 8 bytes of a header length, the file has {}", file_bytes),
        "the file is truncated; fetch it again");
  }
  const uint64_t length = DecodeLength(there);
  if (length > static_cast<uint64_t>(max_header.count())) {
    return fault(fmt::format("expected a header of at most {} bytes, the file claims {}",
                             FormatCount(max_header.count()), CountText(length)),
                 "it is not a safetensors file, or a corrupt one; fetch it again");
  }
  const auto text_bytes = static_cast<int64_t>(length);
  if (text_bytes > file_bytes - kLengthField) {
    return fault(fmt::format("expected a header of {} bytes, the file ends after {} of them",
                             FormatCount(text_bytes), FormatCount(file_bytes - kLengthField)),
                 "the file is truncated; fetch it again");
  }
  const Bytes header_bytes(kLengthField + text_bytes);
  SHARDPLAN_ASSIGN_OR_RETURN(const PaddedText text, ReadPadded(file, kLengthField, text_bytes));
  SHARDPLAN_ASSIGN_OR_RETURN(ParsedHeader header,
                             ParseHeader(path, text, file.size() - header_bytes));
  ShardFile shard;
  shard.info.name = name;
  shard.info.file_bytes = file.size();
  shard.info.header_bytes = header_bytes;
  shard.info.payload_bytes = file.size() - header_bytes;
  shard.info.tensors = static_cast<int64_t>(header.tensors.size());
  shard.header = std::move(header);
  return shard;
}

}  // namespace

Result<ShardFile> ReadShardFile(const std::string& directory, const std::string& name,
                                Bytes max_header) {
  const std::string path = JoinPath(directory, name);
  try {
    return Read(path, name, max_header);
  } catch (const SizeOverflow& overflow) {
    return Fail(ErrorCode::kInvalidInput, Printable(path), overflow.what());
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kIo, Printable(path), "not enough memory to read the header");
  }
}

}  // namespace shardplan
