#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_plan.h"
#include "report/sections.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::ExamplePlan;

TEST(CacheSectionTest, BlocksTokensConcurrency) {
  EXPECT_EQ(CacheSection(ExamplePlan(), 100),
            "KV cache\n"
            "  block          768 tokens, 524,288 B in one layer, dtype auto\n"
            "  groups         7 layers, KDA states: 3 blocks a request\n"
            "                 8 layers, sliding window of 128 tokens: 23 blocks a request\n"
            "  a block costs  2,097,152 B on every rank, 4 attention layers a stage\n"
            "  blocks         2,048 (1,536 to 2,560), the least of all ranks\n"
            "  one request    869 blocks for 524,288 tokens\n"
            "  capacity       1,234,955 tokens, as the engine prints it\n"
            "  concurrency    2.36×: 2 full-window requests resident at once\n");
}

// Alike groups share a line; a block of another size than the cache's is told.
TEST(CacheSectionTest, GroupsAndTheirKinds) {
  Plan plan = ExamplePlan();
  const KvGroupPlan window = {"sliding window", 1024, 9, 16, plan.kv->page, 513};
  plan.kv->block_tokens = 16;
  plan.kv->groups = {window, window, {"full attention", 0, 1, 32, plan.kv->page, 1}};
  EXPECT_THAT(
      CacheSection(plan, 100),
      HasSubstr(
          "  groups         2 × 9 layers, sliding window of 1,024 tokens: 513 blocks a request "
          "each\n"
          "                 1 layer, full attention, blocks of 32: 1 block a request\n"));
  plan.kv->groups = {{"latents and indexer keys", 0, 122, 16, plan.kv->page, 512}};
  EXPECT_THAT(CacheSection(plan, 100),
              HasSubstr("  groups         122 caches, latents and indexer keys: 512 blocks a "
                        "request\n"));
  plan.kv->groups = {{"full attention", 0, 80, 16, plan.kv->page, 512}};
  EXPECT_THAT(CacheSection(plan, 100), Not(HasSubstr("groups")));
}

TEST(CacheSectionTest, TellsTheDearerStage) {
  Plan plan = ExamplePlan();
  plan.kv->bytes_per_block = Bytes(11'501'568);
  plan.kv->bytes_per_block_by_stage = {Bytes(10'616'832), Bytes(11'501'568)};
  plan.kv->attention_layers_by_stage = {11, 13};
  plan.kv->num_blocks_low = plan.kv->num_blocks_high = 2048;
  plan.kv->typical_tokens = 100'000;
  plan.kv->typical_concurrency = 12.5;
  plan.sizes.dp = 4;
  const std::string text = CacheSection(plan, 100);
  EXPECT_THAT(text, HasSubstr("  a block costs  stage 0: 10,616,832 B, 11 attention layers\n"
                              "                 stage 1: 11,501,568 B, 13 attention layers (the "
                              "dearest)\n"
                              "  blocks         2,048, the least of all ranks\n"));
  EXPECT_THAT(text, HasSubstr("                 12.50× with requests of 100,000 tokens\n"
                              "                 of one engine; there are 4\n"));
}

TEST(CacheSectionTest, NothingWithoutACache) {
  Plan plan = ExamplePlan();
  plan.kv.reset();
  EXPECT_EQ(CacheSection(plan, 100), "");
}

TEST(ActivationSectionTest, NamesThePhaseAndTheFlag) {
  Plan plan = ExamplePlan();
  plan.activations[1].peak = Range(Bytes(kGiB));
  plan.activations[1].per_token = Bytes();
  plan.activations[1].flag = "";
  EXPECT_EQ(ActivationSection(plan, 100),
            "Activations at their peak\n"
            "  stage 0  1.500 GiB  (1.000 to 2.000 GiB) bound by moe_combine, 398.0 kB a token;\n"
            "                      --max-num-batched-tokens lowers it\n"
            "  stage 1  1.000 GiB  bound by moe_combine\n");
  plan.activations.clear();
  EXPECT_EQ(ActivationSection(plan, 100), "");
}

TEST(WindowSectionTest, InputAndOutputShareIt) {
  Plan plan = ExamplePlan();
  EXPECT_EQ(WindowSection(plan, 100),
            "Window\n"
            "  max_model_len  524,288 tokens, input and output\n"
            "  output         32,768 tokens\n"
            "  input          at most 491,520 tokens\n");
  plan.window = {4096, {}, {}};
  EXPECT_EQ(WindowSection(plan, 100),
            "Window\n"
            "  max_model_len  4,096 tokens, input and output\n");
}

}  // namespace
}  // namespace shardplan
