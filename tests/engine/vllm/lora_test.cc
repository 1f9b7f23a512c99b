#include "engine/vllm/lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/tiny_families.h"
#include "support/tiny_models.h"
#include "support/vllm_context.h"

namespace shardplan::vllm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::Build;
using testing_support::VllmContext;

class Lora : public ::testing::Test {
 protected:
  const Context& Make(const nlohmann::json& config, int64_t tp, int64_t loras, int64_t rank,
                      int64_t pp = 1) {
    world_ = std::make_unique<VllmContext>(Build(config));
    Context& c = world_->context;
    c.sizes.tp = tp;
    c.sizes.pp = pp;
    c.settings.enable_lora = true;
    c.settings.max_loras = loras;
    c.settings.max_lora_rank = rank;
    world_->Resolve();
    return c;
  }
  std::unique_ptr<VllmContext> world_;
};

// Llama's shape, 32 wide, 8 heads of 4 on 2 KV heads, MLP of 64, 5 layers, 130 words; projection by
// projection: r × inputs + outputs × r, of what the rank holds.
int64_t TinyDenseLayer(int64_t tp, int64_t r) {
  const int64_t q = r * 32 + 32 / tp * r;
  const int64_t kv = r * 32 + std::max<int64_t>(1, 2 / tp) * 4 * r;
  const int64_t o = r * (32 / tp) + 32 * r;
  const int64_t up = r * 32 + 64 / tp * r;
  const int64_t down = r * (64 / tp) + 32 * r;
  return q + 2 * kv + o + 2 * up + down;
}

TEST_F(Lora, EveryLinearOfTheStage) {
  for (const int64_t tp : {1, 2, 4}) {
    for (const int64_t loras : {1, 3}) {
      const Context& c = Make(testing_support::TinyDense(), tp, loras, 8);
      const std::vector<ExtraBytes> stacks = LoraStacks(c, {0, 5}, 0);
      ASSERT_THAT(stacks, SizeIs(3));  // linears, embedding, head
      EXPECT_EQ(stacks[0].bytes.count(), 5 * TinyDenseLayer(tp, 8) * loras * 2);
      EXPECT_EQ(stacks[1].bytes.count(), (130 + 32) * 8 * loras * 2);
      EXPECT_EQ(stacks[2].bytes.count(), (130 + 32) * 8 * loras * 2 + (tp > 1 ? 192 * 8 : 0));
      EXPECT_EQ(stacks[0].basis, Basis::kDerived);
    }
  }
}

TEST_F(Lora, StagesHoldTheirOwnLayersAndEnds) {
  const Context& c = Make(testing_support::TinyDense(), 1, 1, 16, 2);
  const auto sum = [](const std::vector<ExtraBytes>& stacks) {
    Bytes bytes;
    for (const ExtraBytes& stack : stacks) bytes += stack.bytes;
    return bytes.count();
  };
  const int64_t words = (130 + 32) * 16 * 2;
  EXPECT_EQ(sum(LoraStacks(c, {0, 3}, 0)), 3 * TinyDenseLayer(1, 16) * 2 + words);
  EXPECT_EQ(sum(LoraStacks(c, {3, 2}, 0)), 2 * TinyDenseLayer(1, 16) * 2 + words);
  EXPECT_EQ(sum(LoraStacks(c, {1, 1}, 0)), TinyDenseLayer(1, 16) * 2);
}

// What stood whole on every rank is divided: A of columns, B of rows.
TEST_F(Lora, FullySharded) {
  Make(testing_support::TinyDense(), 2, 1, 8);
  world_->context.settings.fully_sharded_loras = true;
  const int64_t r = 8;
  const int64_t layer = (r / 2 * 32 + 16 * r) + 2 * (r / 2 * 32 + 4 * r) + (r * 16 + 16 * r) +
                        2 * (r / 2 * 32 + 32 * r) + (r * 32 + 16 * r);
  EXPECT_EQ(LoraStacks(world_->context, {0, 5}, 0)[0].bytes.count(), 5 * layer * 2);
}

// 12 experts of 24 on a width of 32, in four layers: gate, up and down each with a pair.
TEST_F(Lora, RoutedExpertsAreAssumed) {
  const Context& c = Make(testing_support::TinyQwen3Moe(), 2, 2, 8);
  const std::vector<ExtraBytes> stacks = LoraStacks(c, {0, 5}, 12);
  ASSERT_THAT(stacks, SizeIs(2));  // Qwen3's classes don't wrap embedding and head
  const int64_t r = 8;
  const int64_t inner = 24 / 2;
  const int64_t expert = 2 * (r * 32 + inner * r) + r * inner + 32 * r;
  EXPECT_EQ(stacks[1].bytes.count(), 5 * 12 * expert * 2 * 2);
  EXPECT_EQ(stacks[1].basis, Basis::kAssumed);
  // The router is a linear like any other.
  const int64_t attention = (r * 32 + 32 * r) + 2 * (r * 32 + 8 * r) + (r * 32 + 32 * r);
  const int64_t router = r * 32 + 12 * r;
  EXPECT_EQ(stacks[0].bytes.count(), 5 * (attention + router) * 2 * 2);
}

TEST_F(Lora, NothingWithoutTheFlag) {
  VllmContext c(Build(testing_support::TinyDense()));
  c.context.settings.max_loras = 4;
  c.Resolve();
  EXPECT_THAT(LoraStacks(c.context, {0, 5}, 0), IsEmpty());
  const std::vector<Finding> findings = CheckLora(c.context);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, Severity::kNote);
}

TEST_F(Lora, WhatVllmRefuses) {
  const auto message = [](const Context& c) {
    const std::vector<Finding> findings = CheckLora(c);
    return findings.empty() ? "" : findings[0].message + "; " + findings[0].fix;
  };
  EXPECT_EQ(message(Make(testing_support::TinyDense(), 2, 1, 16)), "");
  EXPECT_EQ(message(Make(testing_support::TinyDense(), 2, 1, 24)),
            "vLLM takes 1, 8, 16, 32, 64, 128, 256, 320, 512; --max-lora-rank 32");
  EXPECT_EQ(message(Make(testing_support::TinyDense(), 2, 1, 9999)),
            "vLLM takes 1, 8, 16, 32, 64, 128, 256, 320, 512; --max-lora-rank 512");
  Make(testing_support::TinyDense(), 2, 1, 1);
  world_->context.settings.fully_sharded_loras = true;
  EXPECT_EQ(message(world_->context),
            "1 is not divisible by 2; a multiple of the tensor parallel size, or no "
            "--fully-sharded-loras");
  Make(testing_support::TinyDense(), 2, 1, 8);
  world_->context.settings.lora_dtype = "fp8";
  EXPECT_EQ(message(world_->context), "expected auto, float16 or bfloat16; ");
}

}  // namespace
}  // namespace shardplan::vllm
