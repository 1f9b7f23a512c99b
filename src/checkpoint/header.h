// The header of one safetensors file, as text in memory.
#ifndef SHARDPLAN_CHECKPOINT_HEADER_H_
#define SHARDPLAN_CHECKPOINT_HEADER_H_

#include <string>
#include <vector>

#include "checkpoint/padded_text.h"
#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/checkpoint/shape.h"

namespace shardplan {

struct ParsedHeader {
  std::vector<std::string> patterns;
  std::vector<Shape> shapes;
  // In payload order; pattern and shape count into the lists above, shard is zero.
  std::vector<TensorRecord> tensors;
};

// Parses and checks the JSON part of a header. `path` is for the errors; `payload` is what the file
// holds after the header, which the tensors must cover exactly. Fails with kInvalidInput.
Result<ParsedHeader> ParseHeader(const std::string& path, const PaddedText& text, Bytes payload);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_HEADER_H_
