// Feeds bytes to the index parser; what it accepts must hold what the rest relies on.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "checkpoint/index.h"
#include "checkpoint/padded_text.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const shardplan::PaddedText text(std::string_view(reinterpret_cast<const char*>(data), size));
  const auto index = shardplan::ParseIndex("fuzz", text);
  if (!index) {
    Require(index.error().code == shardplan::ErrorCode::kInvalidInput);
    Require(index.error().ToString().find('\n') == std::string::npos);
    return 0;
  }
  Require(!index->entries.empty());
  for (const std::string& file : index->shard_names) {
    Require(shardplan::IsPlainFileName(file) && file.find('/') == std::string::npos);
  }
  std::set<std::string> names;
  for (const shardplan::IndexEntry& entry : index->entries) {
    Require(entry.shard < index->shard_names.size());
    const std::string name =
        shardplan::JoinTensorName(index->patterns.at(entry.pattern), entry.indices);
    Require(names.insert(name).second);
  }
  Require(!index->total_size || *index->total_size >= 0);
  return 0;
}
