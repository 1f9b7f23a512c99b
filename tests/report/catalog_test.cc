#include "shardplan/report/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

using Json = nlohmann::ordered_json;

GpuSpec Toy() {
  GpuSpec gpu;
  gpu.id = "toy-16";
  gpu.name = "Toy 16";
  gpu.aliases = {"toy"};
  gpu.vendor = "nvidia";
  gpu.nominal_gb = 16;
  gpu.device_total = {Range(Bytes(16 * kGiB)), Basis::kMeasured, "a reading"};
  gpu.cuda_visible = {Range(Bytes(15 * kGiB)), Basis::kDerived, "less the reserve"};
  gpu.context = {Range(Bytes(1), Bytes(2), Bytes(3)), Basis::kAssumed, "a guess"};
  gpu.capability = 90;
  return gpu;
}

TEST(CatalogTest, Gpus) {
  EXPECT_EQ(RenderGpus({Toy()}, Format::kTable),
            "id            card   CUDA sees  which is  name (and other ids)\n"
            "toy-16  16,384 MiB  15.000 GiB  derived   Toy 16 (toy)\n");
  const Json d = Json::parse(RenderGpus({Toy()}, Format::kJson));
  EXPECT_EQ(d["schema_version"], 1);
  const Json& gpu = d["gpus"][0];
  EXPECT_EQ(gpu["id"], "toy-16");
  EXPECT_EQ(gpu["device_total"]["bytes"], 16 * kGiB);
  EXPECT_EQ(gpu["context"]["high_bytes"], 3);
  EXPECT_EQ(gpu["context"]["source"], "a guess");
}

TEST(CatalogTest, Nodes) {
  const NodeSpec node = {"hgx-8", {0, 0, 0, 0, 1, 1, 1, 1}, Basis::kAssumed, "usual wiring"};
  const NodeSpec single = {"single-1", {0}, Basis::kAssumed, "one card"};
  EXPECT_EQ(RenderNodes({node, single}, Format::kTable),
            "id        GPUs  known by  NUMA nodes\n"
            "hgx-8        8  assumed   GPU 0–3 on NUMA 0, 4–7 on NUMA 1\n"
            "single-1     1  assumed   GPU 0 on NUMA 0\n");
  const Json d = Json::parse(RenderNodes({node}, Format::kJson));
  EXPECT_EQ(d["nodes"][0]["gpus"], 8);
  EXPECT_EQ(d["nodes"][0]["numa_of_gpu"], Json({0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(CatalogTest, Engines) {
  const std::vector<EngineListing> engines = {{"vllm", "0.28.0", false, 20, 5, 0},
                                              {"vllm", "0.31.0", true, 18, 6, 1}};
  EXPECT_EQ(RenderEngines(engines, Format::kTable),
            "engine       rules from source  from logs  assumed\n"
            "vllm@0.28.0                 20          5        0\n"
            "vllm@0.31.0                 18          6        1  the default: plain vllm\n");
  EXPECT_EQ(RenderEngines(engines, Format::kYaml),
            "schema_version: 1\n"
            "engines:\n"
            "  - name: \"vllm\"\n"
            "    version: \"0.28.0\"\n"
            "    newest: false\n"
            "    rules:\n"
            "      source: 20\n"
            "      log: 5\n"
            "      assumed: 0\n"
            "  - name: \"vllm\"\n"
            "    version: \"0.31.0\"\n"
            "    newest: true\n"
            "    rules:\n"
            "      source: 18\n"
            "      log: 6\n"
            "      assumed: 1\n");
}

TEST(CatalogTest, Families) {
  const std::vector<FamilyInfo> families = {{"tiny", {"TinyForCausalLM", "TinyLM"}, "small ones"}};
  EXPECT_EQ(RenderFamilies(families, Format::kTable),
            "family  description and config.json \"architectures\"\n"
            "tiny    small ones\n"
            "          TinyForCausalLM\n"
            "          TinyLM\n");
  const Json d = Json::parse(RenderFamilies(families, Format::kJson));
  EXPECT_EQ(d["families"][0]["architectures"], Json({"TinyForCausalLM", "TinyLM"}));
}

}  // namespace
}  // namespace shardplan
