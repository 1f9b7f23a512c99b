// The names that families give their tensors against published indexes: how many there are, and the
// SHA-256 of the sorted list, a name a line.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/published_configs.h"
#include "support/sha256.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::DecoderNumbers;
using testing_support::DenseConfig;
using testing_support::ExampleConfig;
using testing_support::PrunedQwen35;
using testing_support::Sha256Hex;

std::vector<std::string> Names(const TensorTable& table) {
  std::vector<std::string> names;
  for (const ModuleRow& row : table.rows) {
    const std::vector<int64_t> layers =
        row.layers.empty() ? std::vector<int64_t>{-1} : row.layers.layers();
    for (const int64_t layer : layers) {
      ForEachTensor(row, layer,
                    [&](const std::string& name, const StoredTensor&) { names.push_back(name); });
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Index {
  const char* name;
  nlohmann::json config;
  Assumptions assumptions;
  size_t tensors;
  const char* sha256;
};

TEST(PublishedNames, EqualTheIndexes) {
  const Index indexes[] = {
      {"Qwen-72B",
       DecoderNumbers("QWenLMHeadModel", 8192, 49152, 80, 64, 64, 128, 152064, 8192),
       {},
       643,
       "4fd315e665b0bec6a401aa101c54a4f0a1b9a54ceb50612bd76e57fd6f92825d"},
      {"Qwen3.5-25B-REAP-A3B",
       PrunedQwen35(180),
       {},
       22213,
       "37add9e99ad613981324cfcf8a17772a93d70e19c379344b2bfddc9b9ba434fd"},
      {"Qwen3.5-18B-REAP-A3B",
       PrunedQwen35(128),
       {},
       15973,
       "f8de12f7747d2830f609e6da4a7022819cff0eecd387c8aafd9fdaf1c32a9584"},
      {"Qwen2.5-14B (Sakura)",
       DenseConfig("Qwen2ForCausalLM", 5120, 13824, 48, 40, 8, 152064),
       {},
       579,
       "b9ddd48d9028f96454d484126fafd895400cc5466b22a5ad6326a44529c8dd4b"},
      {"Llama-3.1-70B (Reflection)",
       ExampleConfig("dense-70b"),
       {},
       723,
       "3c427ab17d2884c8790b90f982636946a35a24606f996221aac4a70ffad9f775"},
      {"Mixtral-8x22B (WizardLM-2)",
       ExampleConfig("alpindale__WizardLM-2-8x22B"),
       {},
       1739,
       "0bc52a712239eec2d7b40804c2f69a58a15c89e4a68c1e1e2ee7ef2a2b4bd236"},
  };
  for (const Index& index : indexes) {
    SCOPED_TRACE(index.name);
    const std::vector<std::string> names = Names(Build(index.config, index.assumptions).table);
    EXPECT_EQ(names.size(), index.tensors);
    std::string text;
    for (const std::string& name : names) text += name + "\n";
    EXPECT_EQ(Sha256Hex(text), index.sha256) << names.front() << " … " << names.back();
  }
}

}  // namespace
}  // namespace shardplan
