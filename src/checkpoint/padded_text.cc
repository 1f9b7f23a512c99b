#include "checkpoint/padded_text.h"

#include <cstring>
#include <utility>

namespace shardplan {

PaddedText::PaddedText(size_t size) : data_(new char[size + kPadding]), size_(size) {
  std::memset(data_.get() + size_, 0, kPadding);
}

PaddedText::PaddedText(std::string_view text) : PaddedText(text.size()) {
  if (!text.empty()) std::memcpy(data_.get(), text.data(), text.size());
}

Result<PaddedText> ReadPadded(const File& file, int64_t offset, int64_t size) {
  PaddedText text(static_cast<size_t>(size));
  SHARDPLAN_RETURN_IF_ERROR(file.ReadExact(offset, text.span()));
  return text;
}

bool IsLfsPointer(std::string_view text) {
  constexpr std::string_view kStart = "version https://git-lfs.github.com/spec/v1";
  return text.substr(0, kStart.size()) == kStart;
}

tl::unexpected<Error> LfsPointerFault(const std::string& path) {
  return Fail(ErrorCode::kInvalidInput, Printable(path),
              "expected the file itself, found a Git LFS pointer: the directory holds LFS "
              "pointers, not weights",
              "run `git lfs pull` in it");
}

}  // namespace shardplan
