#include "report/inspection_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/example_inspection.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing_support::ExampleInspection;

TEST(LayerSectionTest, AlternatingKindsStayShort) {
  Inspection i = ExampleInspection();
  i.layers.clear();
  for (int64_t layer = 0; layer < 93; ++layer) {
    i.layers.push_back({layer, layer % 4 == 3 ? "mla" : "kda", "moe", {1, 1, 1, Bytes(kMiB)}});
  }
  i.outside.clear();
  EXPECT_EQ(LayerSection(i, 100),
            "One layer of each kind\n"
            "  layers                             count  attention  mlp  tensors  bytes\n"
            "  0–2, 4–6, 8–10, 12–14, 16–18 … 92     70  kda        moe        1  1 MiB  "
            "████████████████\n"
            "  3, 7, 11, 15, 19, 23, 27, 31 … 91     23  mla        moe        1  1 MiB  "
            "████████████████\n");
}

TEST(LayerSectionTest, NothingWithoutLayers) {
  Inspection i = ExampleInspection();
  i.layers.clear();
  EXPECT_EQ(LayerSection(i, 100), "");
}

TEST(StageSectionTest, OneStageIsNothingToTell) {
  Inspection i = ExampleInspection();
  EXPECT_THAT(StageSection(i, 100), HasSubstr("\n      1  5–8     2 mla, 2 kda  4.000 GiB "));
  i.stages.resize(1);
  EXPECT_EQ(StageSection(i, 100), "");
}

TEST(LargestSectionTest, NamesAreFoldedAtTheirSeparators) {
  Inspection i = ExampleInspection();
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"a.q_proj.weight", "a.k_proj.weight"}, "a.{q,k}_proj.weight"},
      {{"a.gate_proj.weight", "a.up_proj.weight"}, "a.{gate,up}_proj.weight"},
      {{"a.w1", "a.w2"}, "a.{w1,w2}"},
      {{"norm", "other"}, "{norm,other}"},
      {{"a.b.b.w", "a.b.w"}, "a.b.{b.w,w}"},
      {{"x.weight", "weight"}, "{x.weight,weight}"},
  };
  for (const auto& [names, folded] : cases) {
    i.largest[0].names = names;
    EXPECT_THAT(LargestSection(i, 100), HasSubstr(std::string("  ") + folded + "\n"));
  }
}

TEST(LargestSectionTest, ALongNameStandsBelowItsNumbers) {
  Inspection i = ExampleInspection();
  i.largest.resize(1);
  i.largest[0].names = {std::string(80, 'x')};
  EXPECT_EQ(LargestSection(i, 100), "Largest tensors\n  1.000 GiB    BF16  [100, 10]\n      " +
                                        std::string(80, 'x') + "\n");
}

TEST(BarOfTest, SharesOfTheLargest) {
  EXPECT_EQ(BarOf(Bytes(8), Bytes(16)), "████████");
  EXPECT_EQ(BarOf(Bytes(), Bytes(16)), "");
  EXPECT_EQ(BarOf(Bytes(), Bytes()), "");
}

}  // namespace
}  // namespace shardplan
