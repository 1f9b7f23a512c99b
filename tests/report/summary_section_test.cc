#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_plan.h"
#include "report/sections.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::ExamplePlan;

TEST(TitleSectionTest, ModelEngineLayoutCards) {
  Plan plan = ExamplePlan();
  EXPECT_EQ(TitleSection(plan, 100),
            "Tiny MoE (tiny) on vllm@9.9.9 · TP2 × PP2 (5,4) · 2 nodes × 2 Toy 16\n");
  plan.source = "/models/Tiny/config.json";
  plan.sizes = {4, 1, 2, 2, true};
  plan.nodes = 1;
  EXPECT_EQ(TitleSection(plan, 100),
            "Tiny/config.json (tiny) on vllm@9.9.9 · DP2 × TP4, DCP2 with expert parallel · 1 node "
            "× 2 Toy 16\n");
  plan.source = "config.json";
  EXPECT_THAT(TitleSection(plan, 100), StartsWith("config.json (tiny)"));
}

TEST(GlanceSectionTest, PhysicalMemoryAgainstFiles) {
  EXPECT_EQ(
      GlanceSection(ExamplePlan(), 100),
      "Memory at a glance\n"
      "  cards              4 × Toy 16 (16,384 MiB = 16.000 GiB)  64.000 GiB = 0.062 TiB\n"
      "  checkpoint files   30,000,123,456 B                      27.940 GiB\n"
      "  even share a card                                         6.985 GiB\n"
      "  margin a card      before anything runs                   9.015 GiB\n"
      "  The even share is not a rank: ranks hold unequal parts and more than the files' bytes "
      "(see below).\n");
}

// The figures of the published deployment: 16 cards of 97,871 MiB.
TEST(GlanceSectionTest, NamesItsUnits) {
  Plan plan = ExamplePlan();
  const Bytes card(97'871 * kMiB);
  const Bytes files(1'560'936'091'448);
  const Bytes share(CeilDiv(files.count(), 16));
  plan.gpu_name = "NVIDIA H20";
  plan.even_share = {16, card, card * 16, files, share, card - share, true};
  const std::string text = GlanceSection(plan, 100);
  for (const char* figure :
       {"16 × NVIDIA H20 (97,871 MiB = 95.577 GiB)", "1,529.234 GiB", "= 1.493 TiB",
        "1,560,936,091,448 B", "1,453.735 GiB", "90.858 GiB", "4.719 GiB"}) {
    EXPECT_THAT(text, HasSubstr(figure));
  }
}

TEST(GlanceSectionTest, LongNamesOfCardsGiveWayToTheId) {
  Plan plan = ExamplePlan();
  plan.gpu_name = "Toy with a name that would not fit on the line";
  EXPECT_THAT(
      GlanceSection(plan, 100),
      HasSubstr("  cards              4 × toy-16 (16,384 MiB = 16.000 GiB)  64.000 GiB = "));
}

TEST(GlanceSectionTest, WithoutFilesItIsThePayload) {
  Plan plan = ExamplePlan();
  plan.even_share.from_files = false;
  EXPECT_THAT(GlanceSection(plan, 100), HasSubstr("checkpoint payload  30,000,123,456 B"));
  plan.even_share = {};
  EXPECT_EQ(GlanceSection(plan, 100), "");
}

TEST(CheckpointSectionTest, Facts) {
  Plan plan = ExamplePlan();
  EXPECT_EQ(CheckpointSection(plan, 100),
            "Checkpoint\n"
            "  source        /models/Tiny MoE\n"
            "  architecture  TinyForCausalLM, family tiny\n"
            "  tensors       1,234\n"
            "  parameters    15,000,000,000 in 15,100,000,000 stored elements\n"
            "  payload       30,000,000,000 B = 27.940 GiB\n"
            "  shapes        exact: read from the shard headers\n");
  plan.shape_basis = Basis::kDerived;
  EXPECT_THAT(CheckpointSection(plan, 100),
              HasSubstr("shapes        derived: the family's, from config.json alone\n"));
}

}  // namespace
}  // namespace shardplan
