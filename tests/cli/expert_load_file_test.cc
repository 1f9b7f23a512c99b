#include "cli/expert_load_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace shardplan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ExpertLoads ParseLoadFile(std::string_view text) {
  Result<ExpertLoads> loads = ParseExpertLoads("f", text);
  EXPECT_TRUE(loads.has_value()) << (loads ? "" : loads.error().ToString());
  return loads ? std::move(*loads) : ExpertLoads();
}

std::string LoadFileError(std::string_view text) {
  const Result<ExpertLoads> loads = ParseExpertLoads("f", text);
  EXPECT_FALSE(loads.has_value()) << text;
  return loads ? "" : loads.error().ToString();
}

TEST(ExpertLoadFileTest, JsonInOrder) {
  for (const char* text : {"[[1, 2.5], [3e2]]", "{\"layers\": [[1,2.5],[300]]}",
                           "\xEF\xBB\xBF [[1,2.5],\n[300]] \n"}) {
    const ExpertLoads loads = ParseLoadFile(text);
    ASSERT_EQ(loads.layers.size(), 2u) << text;
    EXPECT_THAT(loads.layers[0].loads, ElementsAre(1, 2.5));
    EXPECT_THAT(loads.layers[1].loads, ElementsAre(300));
    EXPECT_FALSE(loads.layers[0].layer.has_value());
  }
}

TEST(ExpertLoadFileTest, JsonByLayer) {
  for (const char* text : {R"({"3": [1, 2], "10": []})", R"({"layers": {"3": [1,2], "10": []}})"}) {
    const ExpertLoads loads = ParseLoadFile(text);
    ASSERT_EQ(loads.layers.size(), 2u);
    EXPECT_EQ(loads.layers[0].layer, 3);
    EXPECT_EQ(loads.layers[1].layer, 10);
    EXPECT_TRUE(loads.layers[1].loads.empty());
  }
}

TEST(ExpertLoadFileTest, Tables) {
  const ExpertLoads loads =
      ParseLoadFile("# of Tuesday\n\nlayer,expert,load\r\n3,0,12\r\n3,2,1.5\n4,1,7\n");
  ASSERT_EQ(loads.layers.size(), 2u);
  EXPECT_EQ(loads.layers[0].layer, 3);
  EXPECT_THAT(loads.layers[0].loads, ElementsAre(12, 0, 1.5));
  EXPECT_THAT(loads.layers[1].loads, ElementsAre(0, 7));
  const ExpertLoads tabs = ParseLoadFile("load\texpert\tlayer\n5\t1\t2\n");
  EXPECT_EQ(tabs.layers[0].layer, 2);
  EXPECT_THAT(tabs.layers[0].loads, ElementsAre(0, 5));
  const ExpertLoads rows = ParseLoadFile("1,2,3\n4,5,6\n");
  ASSERT_EQ(rows.layers.size(), 2u);
  EXPECT_FALSE(rows.layers[0].layer.has_value());
  EXPECT_THAT(rows.layers[1].loads, ElementsAre(4, 5, 6));
}

TEST(ExpertLoadFileTest, RefusesWhatIsNoLoad) {
  EXPECT_THAT(LoadFileError(""), HasSubstr("expected loads of at least one layer"));
  EXPECT_THAT(LoadFileError("[]"), HasSubstr("expected loads of at least one layer"));
  EXPECT_THAT(LoadFileError("[[1, -2]]"),
              HasSubstr("line 1: expected a load from 0 to 1e15, found -2"));
  EXPECT_THAT(LoadFileError("[[1,\n nan]]"), HasSubstr("line 2"));
  EXPECT_THAT(LoadFileError("[[1e999]]"), HasSubstr("found 1e999"));
  EXPECT_THAT(LoadFileError("[[1e16]]"), HasSubstr("found 1e16"));
  EXPECT_THAT(LoadFileError("[[\"1\"]]"), HasSubstr("expected a load"));
  EXPECT_THAT(LoadFileError("[[1,]]"), HasSubstr("found nothing"));
  EXPECT_THAT(LoadFileError("[[1] [2]]"), HasSubstr("expected a comma or ]"));
  EXPECT_THAT(LoadFileError("[[1]] x"), HasSubstr("expected the end"));
  EXPECT_THAT(LoadFileError("[[1]"), HasSubstr("expected a comma or ]"));
  EXPECT_THAT(LoadFileError("[[[1]]]"), HasSubstr("expected a load"));
  EXPECT_THAT(LoadFileError(std::string(100'000, '[')), HasSubstr("expected"));
  EXPECT_THAT(LoadFileError("{\"a\": [1]}"), HasSubstr("expected the number of a layer, found a"));
  EXPECT_THAT(LoadFileError("{\"-1\": [1]}"), HasSubstr("expected the number of a layer"));
  EXPECT_THAT(LoadFileError("{\"layers\": [[1]], \"1\": [1]}"), HasSubstr("nothing beside layers"));
  EXPECT_THAT(LoadFileError("{\"layers\": {\"layers\": [[1]]}}"), HasSubstr("number of a layer"));
  EXPECT_THAT(LoadFileError("{\"1"), HasSubstr("without its closing quote"));
  EXPECT_THAT(LoadFileError("{\"1\" [1]}"), HasSubstr("colon"));
}

TEST(ExpertLoadFileTest, RefusesWhatIsNoTable) {
  EXPECT_THAT(LoadFileError("layer,load\n"), HasSubstr("expert is missing"));
  EXPECT_THAT(LoadFileError("layer,expert,load\n1,2\n"),
              HasSubstr("line 2: expected 3 columns, found 2"));
  EXPECT_THAT(LoadFileError("layer,expert,load\n1,2,x\n"), HasSubstr("line 2: expected a load"));
  EXPECT_THAT(LoadFileError("layer,expert,load\n-1,2,3\n"),
              HasSubstr("expected numbers of a layer"));
  EXPECT_THAT(LoadFileError("layer,expert,load\n1,99999999999999999999,3\n"),
              HasSubstr("expected numbers of a layer and an expert below 100,000"));
  EXPECT_THAT(LoadFileError("layer,expert,load\n1,2,3\n1,2,4\n"),
              HasSubstr("line 3: expert 2 of layer 1 stands twice"));
  EXPECT_THAT(LoadFileError("1,2\n3,\n"), HasSubstr("line 2: expected a load"));
  EXPECT_THAT(LoadFileError(std::string("\x7f\x45LF\0\0", 6)), HasSubstr("is missing"));
  std::string many = "layer,expert,load\n";
  for (int layer = 0; layer < 150; ++layer) many += std::to_string(layer) + ",99999,1\n";
  EXPECT_THAT(LoadFileError(many), HasSubstr("too many experts"));
}

TEST(ExpertLoadFileTest, FilesThatAreNotThereAreAnIoError) {
  const testing_support::TempDir dir;
  const auto loads = ReadExpertLoads(dir.Path("none.json"));
  ASSERT_FALSE(loads.has_value());
  EXPECT_EQ(loads.error().code, ErrorCode::kIo);
  testing_support::WriteText(dir.Path("a b.json"), "[[1]]");
  const auto read = ReadExpertLoads(dir.Path("a b.json"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ((*read)->file, dir.Path("a b.json"));
}

}  // namespace
}  // namespace shardplan::cli
