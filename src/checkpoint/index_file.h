// A model.safetensors.index.json on disk: its text, and another one with fewer entries.
#ifndef SHARDPLAN_CHECKPOINT_INDEX_FILE_H_
#define SHARDPLAN_CHECKPOINT_INDEX_FILE_H_

#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "checkpoint/padded_text.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"

namespace shardplan {

// Fails with kIo, and with kInvalidInput for a file above the limit or a Git LFS pointer. May throw
// std::bad_alloc.
Result<PaddedText> ReadIndexText(const std::string& path, Bytes limit);

// The entries that `keep` marks, in their order, as Hugging Face writes an index; `total_size` is
// what their tensors take.
std::string RenderIndex(const ParsedIndex& index, const std::vector<bool>& keep, Bytes total_size);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_INDEX_FILE_H_
