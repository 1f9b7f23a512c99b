#include "shardplan/report/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/example_inspection.h"
#include "report/text.h"

namespace shardplan {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::ExampleInspection;

TEST(InspectionTableTest, TheWholeText) {
  EXPECT_EQ(
      RenderInspectionTable(ExampleInspection()),
      "Checkpoint\n"
      "  source        /models/Tiny MoE\n"
      "  architecture  TinyForCausalLM, family tiny, quantized: fp8\n"
      "  shapes        exact: read from the shard headers\n"
      "  shards        3: model-{00001…00003}-of-00003.safetensors\n"
      "  tensors       1,801\n"
      "  parameters    10,000 in 10,200 stored elements\n"
      "  active        2,500 pass each text token (25.0 %)\n"
      "  payload       10,737,418,240 B = 10.000 GiB\n"
      "  headers       4,096 B = 4.0 KiB\n"
      "  files         10,737,422,336 B = 10.000 GiB\n"
      "\n"
      "Roles\n"
      "                 tensors  parameters       bytes    share\n"
      "  embedding            1       1,000   1.000 GiB   10.0 %  █▊\n"
      "  routed_expert    1,800       9,000   9.000 GiB   90.0 %  ████████████████\n"
      "  = payload        1,801      10,000  10.000 GiB  100.0 %\n"
      "\n"
      "Dtypes in the files\n"
      "                   F8_E4M3       BF16        F32\n"
      "  embedding                 1.000 GiB\n"
      "  routed_expert  8.000 GiB             1.000 GiB\n"
      "  = bytes        8.000 GiB  1.000 GiB  1.000 GiB\n"
      "  elements           9,100      1,000        100\n"
      "  tensors              900          1        900\n"
      "\n"
      "One layer of each kind\n"
      "  layers            count  attention  mlp  tensors      bytes\n"
      "  0, 1, 3, 4, 6, 7      6  kda        moe      200  1.000 GiB  ████████████████\n"
      "  2, 5, 8               3  mla        moe      200  1.000 GiB  ████████████████\n"
      "outside the layers\n"
      "  embedding                                      1  1.000 GiB  ████████████████\n"
      "\n"
      "What each pipeline stage loads from the files\n"
      "  stage  layers  attention       layers'       ends  everywhere      bytes\n"
      "      0  0–4     4 kda, 1 mla  5.000 GiB  1.000 GiB         0 B  6.000 GiB  "
      "████████████████\n"
      "      1  5–8     2 mla, 2 kda  4.000 GiB        0 B         0 B  4.000 GiB  "
      "██████████▋\n"
      "  Ends are the embedding on the first stage, final norm and head on the last. The ranks "
      "of a stage\n"
      "  share its bytes; what a rank holds, padding and replicas included, is `shardplan "
      "plan`.\n"
      "\n"
      "Largest tensors\n"
      "  1.000 GiB         BF16     [100, 10]  embed_tokens.weight\n"
      "      9 MiB  × 600  F8_E4M3  [10, 5]    layers.{L}.experts.{E}.{w1,w3}.weight\n"
      "\n"
      "Findings\n"
      "  warning checkpoint.no_index: dir: no index\n"
      "    fix: fetch it\n"
      "\n"
      "sound: 1,801 tensors in 3 shards, no hole and no overlap, all that the config implies; "
      "1 warning\n");
}

TEST(InspectionTableTest, VerboseListsTheShards) {
  const std::string text = RenderInspectionTable(ExampleInspection(), true);
  EXPECT_THAT(text, HasSubstr("\nShards\n  tensors    payload   header  name\n"
                              "      600  3.000 GiB  1.0 KiB  model-00001-of-00003.safetensors\n"));
}

TEST(InspectionTableTest, FromAConfigAlone) {
  Inspection i = ExampleInspection();
  i.basis = Basis::kDerived;
  i.file_bytes.reset();
  i.header_bytes.reset();
  i.shards.clear();
  i.stages.resize(1);
  i.findings.clear();
  const std::string text = RenderInspectionTable(i);
  EXPECT_THAT(text, HasSubstr("derived: the family's, from config.json alone"));
  for (const char* absent : {"files ", "headers ", "shards ", "stage", "Findings"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("\n  ") + absent))) << absent;
  }
  EXPECT_THAT(text, EndsWith("\nderived: 1,801 tensors that the config implies; no headers to hold "
                             "against\n"));
}

TEST(InspectionTableTest, OneDTypeIsALine) {
  Inspection i = ExampleInspection();
  i.by_dtype = {{DType::kBF16, i.totals}};
  EXPECT_THAT(RenderInspectionTable(i), HasSubstr("\nDtypes\n  all BF16: 10.000 GiB\n"));
}

// However odd the model is: many kinds of layers, dtypes and stages, names from hell.
TEST(InspectionTableTest, StaysShortAndNarrow) {
  Inspection i = ExampleInspection();
  i.layers.clear();
  for (int64_t layer = 0; layer < 5000; ++layer) {
    i.layers.push_back({layer,
                        layer % 2 == 0 ? "sliding" : "chunked",
                        "dense",
                        {123'456, 1, 1, Bytes(layer % 100 == 7 ? layer : kGiB)}});
  }
  i.by_dtype.clear();
  for (int d = 0; d <= static_cast<int>(DType::kU64); ++d) {
    i.by_dtype.push_back({static_cast<DType>(d), i.totals});
  }
  i.stages.clear();
  for (int64_t stage = 0; stage < 20; ++stage) i.stages.push_back({{stage * 250, 250}, {}, {}, {}});
  i.largest[0].names = {"a\x1b[2J." + std::string(500, 'x')};
  i.source = "a\nb";
  const std::string text = RenderInspectionTable(i);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("… 36 more kinds\n"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 150);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100U) << line;
}

}  // namespace
}  // namespace shardplan
