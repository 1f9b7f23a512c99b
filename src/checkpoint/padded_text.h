// Text that simdjson may read a little past.
#ifndef SHARDPLAN_CHECKPOINT_PADDED_TEXT_H_
#define SHARDPLAN_CHECKPOINT_PADDED_TEXT_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "shardplan/base/bytes.h"
#include "shardplan/base/file.h"
#include "shardplan/base/result.h"

namespace shardplan {

// A buffer of bytes with zeroed padding behind it. The bytes are not initialized: a buffer of 60 MB
// is touched once, by the read.
class PaddedText {
 public:
  static constexpr size_t kPadding = 64;

  explicit PaddedText(size_t size);
  explicit PaddedText(std::string_view text);

  std::span<char> span() { return {data_.get(), size_}; }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
};

// `size` bytes of `file` from `offset`.
Result<PaddedText> ReadPadded(const File& file, int64_t offset, int64_t size);

// True for the small text file that Git leaves in place of a file kept in LFS.
bool IsLfsPointer(std::string_view text);

// The error for such a file.
tl::unexpected<Error> LfsPointerFault(const std::string& path);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_PADDED_TEXT_H_
