#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"
#include "shardplan/hardware/cluster.h"
#include "support/temp_dir.h"

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using testing_support::TempDir;

const Catalog& BuiltIn() {
  static const Catalog catalog = [] {
    Result<Catalog> loaded = Catalog::Load(ConfigStore::BuiltIn());
    if (!loaded) ADD_FAILURE() << loaded.error().ToString();
    return loaded ? *std::move(loaded) : Catalog();
  }();
  return catalog;
}

std::string FindError(std::string_view id) {
  const Result<GpuSpec> gpu = BuiltIn().FindGpu(id);
  if (gpu) return "found " + gpu->id;
  EXPECT_EQ(gpu.error().code, ErrorCode::kUsage);
  return gpu.error().ToString();
}

TEST(CatalogTest, HasEveryCardOfTheInterface) {
  std::vector<std::string> ids;
  for (const GpuSpec& gpu : BuiltIn().gpus()) ids.push_back(gpu.id);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_THAT(ids, UnorderedElementsAre("h20-96", "h20-141", "h100-80-sxm", "h100-80-pcie",
                                        "h200-141", "h200nvl-141", "gh200-96", "a100-40", "a100-80",
                                        "b200-180", "b300-288", "gb200", "gb300", "l4-24",
                                        "l40s-48", "a10-24", "rtx3090-24", "rtx4090-24",
                                        "rtx5090-32", "rtxa5000-24", "rtxa6000-48", "rtxpro5000-72",
                                        "rtxpro6000-96", "mi300x-192", "mi325x-256", "mi355x-288"));
}

TEST(CatalogTest, EveryCardKeepsItsPromises) {
  for (const GpuSpec& gpu : BuiltIn().gpus()) {
    SCOPED_TRACE(gpu.id);
    for (const SourcedBytes& size : {gpu.device_total, gpu.cuda_visible, gpu.context}) {
      EXPECT_GT(size.bytes.low, Bytes());
      EXPECT_LE(size.bytes.low, size.bytes.central);
      EXPECT_LE(size.bytes.central, size.bytes.high);
      EXPECT_NE(size.basis, Basis::kExact) << "a card's capacity is never arithmetic on headers";
      EXPECT_THAT(size.source, testing::MatchesRegex(".+ \\([0-9]+-[0-9]+-[0-9]+\\)"));
    }
    EXPECT_LE(gpu.cuda_visible.bytes.high, gpu.device_total.bytes.low);
    // The driver never takes more than 3 %: a slip of a unit or a digit would show here.
    EXPECT_GT(gpu.cuda_visible.bytes.low * 100, gpu.device_total.bytes.high * 95);
    EXPECT_LT(gpu.context.bytes.high * 10, gpu.cuda_visible.bytes.low);
    EXPECT_FALSE(gpu.specification_source.empty());
    EXPECT_GT(gpu.multiprocessors, 0);
    EXPECT_GT(gpu.memory_gb_per_s, 0);
    EXPECT_GT(gpu.pcie_gb_per_s, 0);
    EXPECT_EQ(gpu.capability > 0, gpu.vendor == "nvidia");
    // Product names count in GB or GiB as they please; they still are near the total.
    EXPECT_GT(InGiB(gpu.device_total.bytes.central).value(), gpu.nominal_gb * 0.9);
    EXPECT_LT(InGiB(gpu.device_total.bytes.central).value(), gpu.nominal_gb * 1.03);
    EXPECT_THAT(gpu.id, HasSubstr(gpu.id.starts_with("gb")
                                      ? "gb"
                                      : "-" + std::to_string(static_cast<int>(gpu.nominal_gb))));
  }
}

TEST(CatalogTest, TheReadingsOfAnH200AreExact) {
  const Result<GpuSpec> gpu = BuiltIn().FindGpu("h200-141");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->device_total.bytes.central, Bytes(143'771 * kMiB));
  EXPECT_EQ(gpu->cuda_visible.bytes.central, Bytes(150'109'880'320));
  EXPECT_EQ(gpu->cuda_visible.basis, Basis::kMeasured);
  EXPECT_EQ(gpu->context.bytes.central, Bytes(651'034'624));
  EXPECT_EQ(gpu->context.basis, Basis::kMeasured);
  EXPECT_EQ(gpu->capability, 90);
  EXPECT_EQ(gpu->multiprocessors, 132);
  EXPECT_EQ(gpu->device_total.source, "nvidia-smi of two H200s, driver 580.159 (2026-11-29)");
}

TEST(CatalogTest, AnH20IsDerivedWithARange) {
  const Result<GpuSpec> gpu = BuiltIn().FindGpu("h20-96");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(FormatMiB(gpu->device_total.bytes.central), "97,871 MiB");
  EXPECT_EQ(FormatMiB(gpu->cuda_visible.bytes.central), "97,356 MiB");
  EXPECT_EQ(FormatGiB(gpu->cuda_visible.bytes.low, 2), "94.97 GiB");
  EXPECT_EQ(FormatGiB(gpu->cuda_visible.bytes.high, 2), "95.22 GiB");
  EXPECT_EQ(gpu->cuda_visible.basis, Basis::kDerived);
  EXPECT_EQ(gpu->context.basis, Basis::kAssumed);
  EXPECT_EQ(gpu->multiprocessors, 78);
  EXPECT_EQ(gpu->cards_per_node, 8);
  EXPECT_EQ(BuiltIn().FindGpu("gb200")->cards_per_node, 4);
}

TEST(FindGpuTest, TakesIdsNamesAndAliasesOfOneMeaning) {
  EXPECT_EQ(BuiltIn().FindGpu("h20-96")->id, "h20-96");
  EXPECT_EQ(BuiltIn().FindGpu("H20-96")->id, "h20-96");
  EXPECT_EQ(BuiltIn().FindGpu("h200")->id, "h200-141");
  EXPECT_EQ(BuiltIn().FindGpu("b200")->id, "b200-180");
  EXPECT_EQ(BuiltIn().FindGpu("gh200")->id, "gh200-96");
  EXPECT_EQ(BuiltIn().FindGpu("4090")->id, "rtx4090-24");
  EXPECT_EQ(BuiltIn().FindGpu("NVIDIA H20")->id, "h20-96");
  EXPECT_EQ(BuiltIn().FindGpu("nvidia h100 pcie")->id, "h100-80-pcie");
}

TEST(FindGpuTest, AnAmbiguousAliasListsItsMeanings) {
  EXPECT_EQ(FindError("h20"),
            "h20: names more than one card; say which: h20-141 (NVIDIA H20-3e) or h20-96 (NVIDIA "
            "H20)");
  EXPECT_EQ(FindError("H100"),
            "H100: names more than one card; say which: h100-80-pcie (NVIDIA H100 PCIe) or "
            "h100-80-sxm (NVIDIA H100 80GB HBM3)");
  EXPECT_THAT(FindError("a100"), HasSubstr("a100-40 (NVIDIA A100-SXM4-40GB) or a100-80"));
}

TEST(FindGpuTest, AnUnknownCardGetsSuggestions) {
  EXPECT_EQ(FindError("h20-69"),
            "h20-69: no such card in the catalogue; did you mean h20-96 or h20-141?");
  EXPECT_THAT(FindError("h200-140"), HasSubstr("did you mean h200-141"));
  EXPECT_EQ(FindError("tpu-v7"),
            "tpu-v7: no such card in the catalogue; shardplan catalog gpus lists them");
  EXPECT_EQ(FindError(""),
            "gpu: expected a card, found an empty name; shardplan catalog gpus lists them");
  EXPECT_EQ(FindError("\x1b[2J"),
            "\\x1b[2J: no such card in the catalogue; shardplan catalog gpus lists them");
}

TEST(NodeForTest, PresetsBySize) {
  EXPECT_THAT(BuiltIn().NodeFor(8).numa_of_gpu, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_EQ(BuiltIn().NodeFor(8).id, "hgx-8");
  EXPECT_THAT(BuiltIn().NodeFor(4).numa_of_gpu, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(BuiltIn().NodeFor(4).id, "tray-4");
  EXPECT_EQ(BuiltIn().NodeFor(1).id, "single-1");
}

TEST(NodeForTest, OtherSizesAreFlat) {
  const NodeSpec node = BuiltIn().NodeFor(3);
  EXPECT_EQ(node.id, "flat-3");
  EXPECT_THAT(node.numa_of_gpu, ElementsAre(0, 0, 0));
  EXPECT_EQ(node.basis, Basis::kAssumed);
  EXPECT_EQ(node.source, "no preset for 3 cards a node: every card on NUMA node 0");
  EXPECT_TRUE(BuiltIn().NodeFor(0).numa_of_gpu.empty());
  EXPECT_TRUE(BuiltIn().NodeFor(-1).numa_of_gpu.empty());
}

TEST(CatalogTest, ADirectoryAddsAndOverrides) {
  const TempDir dir;
  std::string text(*ConfigStore::BuiltIn().Get("gpus/h20-96.yaml"));
  text.replace(text.find("97871 MiB"), 9, "98000 MiB");
  dir.Write("gpus/h20-96.yaml", text);
  dir.Write("nodes/zz-8.yaml",
            "id: zz-8\nnuma_of_gpu: [0, 1, 0, 1, 0, 1, 0, 1]\nbasis: measured\n"
            "source: nvidia-smi topo -m\ndate: 2026-11-29\n");
  const Result<ConfigStore> store = ConfigStore::WithOverrides(dir.path());
  ASSERT_TRUE(store);
  const Result<Catalog> catalog = Catalog::Load(*store);
  ASSERT_TRUE(catalog) << catalog.error().ToString();
  EXPECT_EQ(catalog->gpus().size(), BuiltIn().gpus().size());
  EXPECT_EQ(catalog->FindGpu("h20-96")->device_total.bytes.central, Bytes(98'000 * kMiB));
  EXPECT_EQ(catalog->NodeFor(8).id, "zz-8") << "one's own preset goes before the built-in one";
  EXPECT_EQ(catalog->nodes().size(), BuiltIn().nodes().size() + 1);
}

TEST(CatalogTest, AnErrorNamesTheFileOnDisk) {
  const TempDir dir;
  const std::string path = dir.Write("gpus/mine.yaml", "id: mine\nnmae: x\n");
  const Result<Catalog> catalog = Catalog::Load(*ConfigStore::WithOverrides(dir.path()));
  ASSERT_FALSE(catalog);
  EXPECT_EQ(catalog.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(catalog.error().ToString(), path + ":2: unknown key nmae; did you mean name?");
}

TEST(CatalogTest, LoadForReadsOneCardOrTheWholeCatalogue) {
  const ConfigStore store = ConfigStore::BuiltIn();
  const Result<Catalog> one = Catalog::LoadFor(store, "h20-96");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->gpus().size(), 1U);
  EXPECT_EQ(one->FindGpu("h20-96")->cuda_visible.bytes.central, Bytes(97'356 * kMiB));
  EXPECT_EQ(one->NodeFor(8).id, "hgx-8");
  for (const std::string_view other : {"h20", "nonsense", "", "../nodes/hgx-8"}) {
    EXPECT_EQ(Catalog::LoadFor(store, other)->gpus().size(), BuiltIn().gpus().size()) << other;
  }
}

}  // namespace
}  // namespace shardplan
