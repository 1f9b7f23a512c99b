// Tiny checkpoints for tests, written by hand: nothing here uses the code under test, so that a
// fault in the writer cannot hide one in the reader.
#ifndef SHARDPLAN_TESTS_SUPPORT_CHECKPOINT_BUILDER_H_
#define SHARDPLAN_TESTS_SUPPORT_CHECKPOINT_BUILDER_H_

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/temp_dir.h"

namespace shardplan::testing_support {

struct TestTensor {
  std::string name;  // goes into the JSON as it is
  std::string dtype = "BF16";
  std::vector<int64_t> shape = {2, 3};
};

inline int64_t BitsOfName(std::string_view dtype) {
  if (dtype == "F4") return 4;
  if (dtype.starts_with("F6")) return 6;
  if (dtype == "BOOL" || dtype == "U8" || dtype == "I8" || dtype.starts_with("F8")) return 8;
  if (dtype.ends_with("16")) return 16;
  return dtype.ends_with("32") ? 32 : 64;
}

inline int64_t SizeOfTensor(const TestTensor& tensor) {
  const int64_t elements = std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1},
                                           [](int64_t a, int64_t b) { return a * b; });
  return elements * BitsOfName(tensor.dtype) / 8;
}

inline int64_t PayloadOf(const std::vector<TestTensor>& tensors) {
  int64_t payload = 0;
  for (const TestTensor& tensor : tensors) payload += SizeOfTensor(tensor);
  return payload;
}

// The JSON of a header, the tensors one after the other, not padded.
inline std::string HeaderJson(const std::vector<TestTensor>& tensors) {
  std::string text = "{";
  int64_t offset = 0;
  for (const TestTensor& tensor : tensors) {
    if (text.size() > 1) text += ',';
    text += "\"" + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":[)";
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      text += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    }
    const int64_t end = offset + SizeOfTensor(tensor);
    text += R"(],"data_offsets":[)" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  return text + "}";
}

// Eight bytes of length and the header.
inline std::string WithLength(std::string_view header) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>((header.size() >> shift) & 0xff);
  }
  return bytes.append(header);
}

// A safetensors file with this header and a hole of `payload` bytes.
inline void WriteShard(const std::string& path, std::string_view header, int64_t payload) {
  const std::string bytes = WithLength(header);
  WriteText(path, bytes);
  std::filesystem::resize_file(path, bytes.size() + static_cast<uintmax_t>(payload));
}

// A model directory: add shards, then write whatever index and configs the test wants.
//
//   CheckpointBuilder model(directory);
//   model.Shard("a.safetensors", {{"x.weight"}, {"y.weight", "F32", {4}}}).Index().Config();
class CheckpointBuilder {
 public:
  explicit CheckpointBuilder(std::string directory) : directory_(std::move(directory)) {
    std::filesystem::create_directories(directory_);
  }

  const std::string& directory() const { return directory_; }
  std::string Path(std::string_view name) const { return directory_ + "/" + std::string(name); }
  int64_t payload() const { return payload_; }

  // Names are "model-0000N-of-0000M.safetensors".
  static std::string ShardName(int number, int count) {
    char name[64];
    std::snprintf(name, sizeof(name), "model-%05d-of-%05d.safetensors", number, count);
    return name;
  }

  CheckpointBuilder& Shard(const std::string& file, const std::vector<TestTensor>& tensors) {
    WriteShard(Path(file), HeaderJson(tensors), PayloadOf(tensors));
    for (const TestTensor& tensor : tensors) weight_map_.emplace_back(tensor.name, file);
    payload_ += PayloadOf(tensors);
    return *this;
  }

  // Lists a tensor in the index without writing it, or leaves out one that was written.
  CheckpointBuilder& List(const std::string& tensor, const std::string& file) {
    weight_map_.emplace_back(tensor, file);
    return *this;
  }
  CheckpointBuilder& Unlist(const std::string& tensor) {
    std::erase_if(weight_map_, [&](const auto& entry) { return entry.first == tensor; });
    return *this;
  }

  std::string WeightMapJson() const {
    std::string text = "{";
    for (const auto& [tensor, file] : weight_map_) {
      if (text.size() > 1) text += ',';
      text += "\"" + tensor + "\":\"" + file + "\"";
    }
    return text + "}";
  }

  // An index with the true total_size, or with this text in place of its metadata.
  CheckpointBuilder& Index(const std::string& metadata = "") {
    const std::string true_metadata = "{\"total_size\":" + std::to_string(payload_) + "}";
    WriteText(Path("model.safetensors.index.json"),
              "{\"metadata\":" + (metadata.empty() ? true_metadata : metadata) +
                  ",\"weight_map\":" + WeightMapJson() + "}");
    return *this;
  }

  CheckpointBuilder& Config(std::string_view text = "{}") { return File("config.json", text); }

  CheckpointBuilder& File(std::string_view name, std::string_view text) {
    WriteText(Path(name), text);
    return *this;
  }

 private:
  std::string directory_;
  std::vector<std::pair<std::string, std::string>> weight_map_;
  int64_t payload_ = 0;
};

// A model of two shards, an index and a config: layers 0 and 1 with two experts each.
inline CheckpointBuilder TwoShardModel(const std::string& directory) {
  CheckpointBuilder model(directory);
  for (int layer = 0; layer < 2; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    model.Shard(CheckpointBuilder::ShardName(layer + 1, 2),
                {{prefix + "input_layernorm.weight", "F32", {8}},
                 {prefix + "mlp.experts.0.w1.weight", "F4", {4, 8}},
                 {prefix + "mlp.experts.1.w1.weight", "F4", {4, 8}},
                 {prefix + "self_attn.q_proj.weight", "BF16", {16, 8}}});
  }
  model.Index().Config();
  return model;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_CHECKPOINT_BUILDER_H_
