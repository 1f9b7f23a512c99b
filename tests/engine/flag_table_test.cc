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

const FlagTable& Sglang() {
  static const FlagTable table = *FlagTable::Load(ConfigStore::BuiltIn(), "sglang");
  return table;
}

TEST(FlagTableTest, FlagsOfSglang) {
  EXPECT_EQ(Sglang().dialect().name, "SGLang");
  EXPECT_EQ(Sglang().Find("--tensor-parallel-size"), Sglang().Find("--tp-size"));
  EXPECT_EQ(Sglang().Find("--ep"), Sglang().Find("--ep-size"));
  EXPECT_EQ(Sglang().Find("--cuda-graph-bs-decode")->takes, FlagTakes::kMany);
  EXPECT_EQ(Sglang().Find("--enable-dp-attention")->takes, FlagTakes::kOn);
  EXPECT_EQ(Sglang().Find("--dcp-replicate-q-proj")->takes, FlagTakes::kSwitch);
  EXPECT_EQ(Sglang().Find("--node-rank")->effect, FlagEffect::kPlace);
  EXPECT_EQ(Sglang().Find("--admin-api-key")->effect, FlagEffect::kSecret);
  EXPECT_EQ(Sglang().Find("--limit-mm-data-per-request")->effect, FlagEffect::kVision);
  EXPECT_EQ(Sglang().Find("--enable-lora")->option, "-");
  EXPECT_EQ(Sglang().Find("--enable-ep-moe")->until, "0.5.1");
  EXPECT_EQ(Sglang().Find("--cuda-graph-max-bs")->note, "--cuda-graph-max-bs-decode");
  EXPECT_EQ(Sglang().Find("--gated-launch-port")->since, "0.5.20");
  EXPECT_THAT(Sglang().Find("--lora-backend")->harmless, ElementsAre("csgmv"));
  EXPECT_THAT(Sglang().Names(), SizeIs(::testing::Gt(530U)));
  EXPECT_EQ(Sglang().EffectOfVariable("SGLANG_SYMM_MEM_PREALLOC_GB_SIZE"), FlagEffect::kSetting);
  EXPECT_EQ(Sglang().EffectOfVariable("SGLANG_HOST_IP"), FlagEffect::kNone);
  EXPECT_EQ(Sglang().EffectOfVariable("SGLANG_USE_AITER"), FlagEffect::kMemory);
  EXPECT_EQ(Sglang().EffectOfVariable("NCCL_CUMEM_ENABLE"), FlagEffect::kMemory);
  EXPECT_EQ(Sglang().EffectOfVariable("VLLM_FUSED_MOE_CHUNK_SIZE"), FlagEffect::kNone);
}

// A name that SGLang's parser takes for an abbreviation is not refused.
TEST(FlagTableTest, WhatIsNoFlagAbbreviatesNone) {
  for (const auto& [name, row] : Sglang().rows()) {
    if (row.exists()) continue;
    EXPECT_THAT(Sglang().Completions(name, ""), Not(SizeIs(1))) << name;
  }
}

TEST(FlagTableTest, NamesAreThoseOfOneFlag) {
  for (const FlagTable* const table : {&Table(), &Sglang()}) {
    for (const auto& [name, row] : table->rows()) {
      EXPECT_EQ(table->Find(name), &row) << name;
      for (const std::string& alias : row.aliases) EXPECT_EQ(table->Find(alias), &row) << alias;
    }
  }
}

TEST(FlagTableTest, WhichVersionsHaveAFlag) {
  const FlagRow& removed = *Sglang().Find("--enable-ep-moe");
  EXPECT_TRUE(HasFlag("0.5.1", removed));
  EXPECT_FALSE(HasFlag("0.5.2", removed));
  EXPECT_FALSE(HasFlag("", removed));
  const FlagRow& later = *Sglang().Find("--dcp-size");
  EXPECT_FALSE(HasFlag("0.5.14", later));
  EXPECT_TRUE(HasFlag("0.5.15", later));
  EXPECT_TRUE(HasFlag("", later));
  EXPECT_FALSE(HasFlag("0.5.15", *Sglang().Find("--max-model-len")));
}

TEST(FlagTableTest, OtherEnginesHaveNone) {
  const auto table = FlagTable::Load(ConfigStore::BuiltIn(), "tgi");
  ASSERT_FALSE(table.has_value());
  EXPECT_EQ(table.error().ToString(), "--engine tgi: its flags are not known here");
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
