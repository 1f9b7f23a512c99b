#include "cli/variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <sstream>

namespace shardplan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// The command's line: its options, and what they set.
class VariantsTest : public ::testing::Test {
 protected:
  VariantsTest() { AddDeploymentOptions(&set_, &base_); }

  // Words separated by spaces.
  void Line(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.insert(words.begin(), word);
    app_.parse(std::move(words));
  }

  Result<std::vector<VariantOptions>> Make(const std::vector<std::string>& vary) {
    std::vector<Axis> axes;
    for (const std::string& text : vary) {
      SHARDPLAN_ASSIGN_OR_RETURN(Axis axis, ParseAxis(text));
      axes.push_back(std::move(axis));
    }
    return MakeVariants(base_, set_, axes);
  }

  std::string ErrorOf(const std::vector<std::string>& vary) {
    const auto variants = Make(vary);
    return variants ? "made" : variants.error().ToString();
  }

  CLI::App app_;
  OptionSet set_{&app_};
  DeploymentOptions base_;
};

TEST_F(VariantsTest, Commas) {
  const auto axis = ParseAxis("tp=8,16");
  ASSERT_TRUE(axis.has_value());
  EXPECT_EQ(axis->option, "tp");
  EXPECT_THAT(axis->values, ElementsAre("8", "16"));
}

TEST_F(VariantsTest, SemicolonsLeaveCommasToTheValues) {
  EXPECT_THAT(ParseAxis("pp-partition=48,45;47,46")->values, ElementsAre("48,45", "47,46"));
  EXPECT_THAT(ParseAxis("pp-partition=48,45;")->values, ElementsAre("48,45"));
  EXPECT_THAT(ParseAxis("tp=8;16")->values, ElementsAre("8", "16"));
  EXPECT_THAT(ParseAxis("pp-partition=93")->values, ElementsAre("93"));
}

TEST_F(VariantsTest, ValuesMayHoldAnEqualsSign) {
  EXPECT_THAT(ParseAxis("assume=mtp=true,mtp=false")->values, ElementsAre("mtp=true", "mtp=false"));
}

TEST_F(VariantsTest, WrongAxes) {
  const std::pair<const char*, const char*> cases[] = {
      {"tp", "--vary tp: expected OPTION=A,B,…; such as tensor-parallel-size=8,16"},
      {"=8", "--vary =8: expected OPTION=A,B,…; such as tensor-parallel-size=8,16"},
      {"tensor-paralel-size=8,16",
       "--vary tensor-paralel-size: unknown option; did you mean tensor-parallel-size?"},
      {"colour=never",
       "--vary colour: unknown option; every option of `shardplan plan` about the deployment can "
       "vary"},
      {"tp=", "--vary tp=: expected a value, found nothing"},
      {"tp=8,,16", "--vary tp=8,,16: expected a value, found nothing"},
      {"tp=8,16,8", "--vary tp=8,16,8: expected different values, found 8 twice"},
      {"pp-partition=48,45",
       "--vary pp-partition=48,45: its values hold commas themselves: separate them by "
       "semicolons; --vary 'pp-partition=48,45;…'"},
  };
  for (const auto& [text, message] : cases) {
    const Result<Axis> axis = ParseAxis(text);
    ASSERT_FALSE(axis.has_value()) << text;
    EXPECT_EQ(axis.error().code, ErrorCode::kUsage);
    EXPECT_EQ(axis.error().ToString(), message);
  }
}

TEST_F(VariantsTest, EveryCombinationOnTopOfTheLine) {
  Line("m --gpu h20-96 --pp 2 --max-num-seqs 4");
  const auto variants = Make({"tp=8,16", "kv-cache-dtype=auto,fp8"});
  ASSERT_TRUE(variants.has_value()) << variants.error().ToString();
  ASSERT_EQ(variants->size(), 4u);
  EXPECT_THAT((*variants)[1].options, ElementsAre(Pair("tp", "8"), Pair("kv-cache-dtype", "fp8")));
  EXPECT_THAT((*variants)[2].options,
              ElementsAre(Pair("tp", "16"), Pair("kv-cache-dtype", "auto")));
  for (const VariantOptions& variant : *variants) {
    EXPECT_EQ(variant.what.model, "m");
    EXPECT_EQ(variant.what.deployment.gpu, "h20-96");
    EXPECT_EQ(variant.what.deployment.sizes.pp, 2);
    EXPECT_EQ(variant.what.deployment.settings.max_num_seqs, 4);
  }
  EXPECT_EQ((*variants)[1].what.deployment.sizes.tp, 8);
  EXPECT_EQ((*variants)[1].what.deployment.settings.kv_cache_dtype, "fp8");
  EXPECT_EQ((*variants)[2].what.deployment.sizes.tp, 16);
  EXPECT_EQ((*variants)[2].what.deployment.settings.kv_cache_dtype, "auto");
}

// Whatever is an option of the deployment can vary, options that are added later included.
TEST_F(VariantsTest, EveryOptionCanVary) {
  for (const OptionSet::Known& option : set_.known()) {
    const Result<Axis> axis = ParseAxis(option.names.back() + "=true");
    EXPECT_TRUE(axis.has_value()) << option.names.back();
  }
}

TEST_F(VariantsTest, NothingVaries) {
  Line("m --tp 4");
  const auto variants = Make({});
  ASSERT_TRUE(variants.has_value());
  ASSERT_EQ(variants->size(), 1u);
  EXPECT_TRUE((*variants)[0].options.empty());
  EXPECT_EQ((*variants)[0].what.deployment.sizes.tp, 4);
}

TEST_F(VariantsTest, ListsAndRepeatedOptionsBeginAnew) {
  const auto variants =
      Make({"cpu-offload-params=w13_weight;w13_weight,w2_weight", "pp-partition=48,45;47,46"});
  ASSERT_TRUE(variants.has_value()) << variants.error().ToString();
  ASSERT_EQ(variants->size(), 4u);
  EXPECT_THAT((*variants)[0].what.deployment.settings.cpu_offload_params,
              ElementsAre("w13_weight"));
  EXPECT_THAT((*variants)[3].what.deployment.settings.cpu_offload_params,
              ElementsAre("w13_weight", "w2_weight"));
  EXPECT_THAT(*(*variants)[3].what.deployment.partition, ElementsAre(47, 46));
}

TEST_F(VariantsTest, FlagsTakeTrueAndFalse) {
  const auto variants = Make({"enforce-eager=true,false", "enable-prefix-caching=true,false"});
  ASSERT_TRUE(variants.has_value()) << variants.error().ToString();
  ASSERT_EQ(variants->size(), 4u);
  EXPECT_TRUE((*variants)[1].what.deployment.settings.enforce_eager);
  EXPECT_FALSE((*variants)[2].what.deployment.settings.enforce_eager);
  // False is what --no-enable-prefix-caching sets, not the engine's default.
  EXPECT_EQ((*variants)[0].what.deployment.settings.enable_prefix_caching, true);
  EXPECT_EQ((*variants)[1].what.deployment.settings.enable_prefix_caching, false);
  EXPECT_EQ(ErrorOf({"enforce-eager=maybe"}), "--vary enforce-eager=maybe: expected true or false");
}

TEST_F(VariantsTest, ValuesAreReadAsTheOptionReadsThem) {
  EXPECT_EQ(ErrorOf({"tp=8,x"}), "--vary tp=x: expected a whole number, at least 1");
  EXPECT_EQ(ErrorOf({"engine=vllm,tgi"}),
            "--vary engine=tgi: expected vllm or sglang, with @VERSION or without");
}

TEST_F(VariantsTest, AnOptionIsGivenOrVaries) {
  Line("m --tensor-parallel-size 8 --no-enable-prefix-caching");
  EXPECT_EQ(ErrorOf({"tp=8,16"}), "--vary tp: --tp is given as well; leave one of them out");
  EXPECT_EQ(ErrorOf({"enable-prefix-caching=true,false"}),
            "--vary enable-prefix-caching: --no-enable-prefix-caching is given as well; leave one "
            "of them out");
  EXPECT_EQ(ErrorOf({"pp=1,2", "pipeline-parallel-size=4,8"}),
            "--vary pipeline-parallel-size: expected once, found twice; list all its values "
            "together");
}

TEST_F(VariantsTest, AtMostSixteen) {
  EXPECT_EQ(Make({"tp=1,2,3,4", "pp=1,2,3,4"})->size(), 16u);
  EXPECT_EQ(ErrorOf({"tp=1,2,3", "pp=1,2,3", "dp=1,2"}),
            "variants: expected at most 16, found 18 (3 × 3 × 2); give fewer values at a time");
  std::string many = "block-size=1";
  for (int i = 2; i <= 17; ++i) many += "," + std::to_string(i);
  EXPECT_EQ(ErrorOf({many}),
            "variants: expected at most 16, found 17; give fewer values at a time");
}

}  // namespace
}  // namespace shardplan::cli
