// Feeds bytes to the header parser; what it accepts must hold what the rest relies on.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "checkpoint/header.h"
#include "checkpoint/padded_text.h"
#include "shardplan/checkpoint/shape.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kPayload = 64;  // what the corpus is made for
  const shardplan::PaddedText text(std::string_view(reinterpret_cast<const char*>(data), size));
  const auto header = shardplan::ParseHeader("fuzz", text, shardplan::Bytes(kPayload));
  if (!header) {
    Require(header.error().code == shardplan::ErrorCode::kInvalidInput);
    Require(header.error().ToString().find('\n') == std::string::npos);
    return 0;
  }
  int64_t offset = 0;
  std::set<std::string> names;
  for (const shardplan::TensorRecord& tensor : header->tensors) {
    Require(tensor.begin == offset && tensor.end >= offset);
    offset = tensor.end;
    const auto bytes = shardplan::SizeOf(tensor.dtype, header->shapes.at(tensor.shape));
    Require(bytes && bytes->count() == tensor.end - tensor.begin);
    const std::string name =
        shardplan::JoinTensorName(header->patterns.at(tensor.pattern), tensor.indices);
    Require(names.insert(name).second);
    std::string pattern;
    shardplan::NameIndices indices;
    shardplan::SplitTensorName(name, &pattern, &indices);
    Require(pattern == header->patterns[tensor.pattern] && indices == tensor.indices);
  }
  Require(offset == kPayload);
  return 0;
}
