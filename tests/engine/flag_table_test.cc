#include "engine/flag_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const FlagTable& Table() {
  static const FlagTable table = *FlagTable::Load(ConfigStore::BuiltIn(), "vllm");
  return table;
}

TEST(FlagTableTest, FlagsOfVllm) {
  const FlagRow* row = Table().Find("--moe-backend");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->takes, FlagTakes::kOne);
  EXPECT_EQ(row->since, "0.17.0");
  EXPECT_EQ(row->until, "");
  EXPECT_EQ(Table().Find("-tp"), Table().Find("--tensor-parallel-size"));
  EXPECT_EQ(Table().Find("-cc")->takes, FlagTakes::kJson);
  EXPECT_EQ(Table().Find("--cpu-offload-params")->takes, FlagTakes::kMany);
  EXPECT_EQ(Table().Find("--headless")->takes, FlagTakes::kOn);
  EXPECT_EQ(Table().Find("--enforce-eager")->takes, FlagTakes::kSwitch);
  EXPECT_EQ(Table().Find("--hf-token")->effect, FlagEffect::kSecret);
  EXPECT_EQ(Table().Find("--master-addr")->effect, FlagEffect::kPlace);
  EXPECT_EQ(Table().Find("--limit-mm-per-prompt")->effect, FlagEffect::kVision);
  EXPECT_THAT(Table().Find("--enable-chunked-prefill")->harmless, ElementsAre("true"));
  EXPECT_EQ(Table().Find("--compilation-config.cudagraph_capture_sizes")->option,
            "cudagraph-capture-sizes");
  EXPECT_EQ(Table().Find("--swap-space")->until, "0.17.1");
  EXPECT_FALSE(Table().Find("--ep-size")->exists());
  EXPECT_EQ(Table().Find("--tensor-parallel"), nullptr);
  EXPECT_THAT(Table().Names(), SizeIs(::testing::Gt(280U)));
  EXPECT_THAT(Table().Names(), Not(Contains("--ep-size")));
  EXPECT_THAT(Table().Names(), Not(Contains("--swap-space")));
}

TEST(FlagTableTest, Abbreviations) {
  EXPECT_THAT(Table().Completions("--kv-cache-mem", ""), ElementsAre("--kv-cache-memory-bytes"));
  EXPECT_THAT(Table().Completions("--kv-cache-d", ""), SizeIs(2));
  EXPECT_THAT(Table().Completions("--compilation-config.", ""), SizeIs(0));
}

TEST(FlagTableTest, Variables) {
  EXPECT_EQ(Table().EffectOfVariable("VLLM_FUSED_MOE_CHUNK_SIZE"), FlagEffect::kMemory);
  EXPECT_EQ(Table().EffectOfVariable("VLLM_USE_FLASHINFER_MOE_FP8"), FlagEffect::kMemory);
  EXPECT_EQ(Table().EffectOfVariable("VLLM_LOGGING_LEVEL"), FlagEffect::kNone);
  EXPECT_EQ(Table().EffectOfVariable("VLLM_HOST_IP"), FlagEffect::kNone);
  EXPECT_EQ(Table().EffectOfVariable("PYTORCH_CUDA_ALLOC_CONF"), FlagEffect::kMemory);
  EXPECT_EQ(Table().EffectOfVariable("OMP_NUM_THREADS"), FlagEffect::kNone);
}

TEST(FlagTableTest, Versions) {
  EXPECT_TRUE(IsOlder("0.9.2", "0.10.0"));
  EXPECT_TRUE(IsOlder("0.26.1rc1.dev608", "0.27"));
  EXPECT_FALSE(IsOlder("0.28.0", "0.28.0"));
  EXPECT_FALSE(IsOlder("0.31", "0.30.9"));
  EXPECT_FALSE(IsOlder("", ""));
}

TEST(FlagTableTest, MalformedLinesAreRefused) {
  const testing_support::TempDir dir;
  std::filesystem::create_directories(dir.Path("engines/vllm"));
  const auto load = [&](const std::string& text) {
    std::ofstream(dir.Path("engines/vllm/flags.tsv")) << "heading\n" << text;
    const auto table = FlagTable::Load(*ConfigStore::WithOverrides(dir.path()), "vllm");
    return table ? std::string() : table.error().ToString();
  };
  EXPECT_EQ(load("--x\t\tone\t\t\tnone\t\t\t\n"), "");
  EXPECT_THAT(load("--x\tone\n"),
              HasSubstr("flags.tsv: line 2: expected a name and 6 to 9 columns, found 2"));
  EXPECT_THAT(load("--x\t\ttwo\t\t\tnone\t\t\t\n"),
              HasSubstr("--x: unknown kind of flag or effect"));
}

}  // namespace
}  // namespace shardplan
