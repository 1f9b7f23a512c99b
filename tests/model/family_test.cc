#include "shardplan/model/family.h"

#include <gtest/gtest.h>

#include "shardplan/base/file.h"
#include "support/example_model.h"
#include "support/published_configs.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::DenseConfig;

TEST(Families, AModelTypeTellsTheClassWhereNothingElseDoes) {
  nlohmann::json config = DenseConfig("Qwen2ForCausalLM", 64, 128, 2, 8, 2, 256);
  const TensorTotals named = Totals(Build(config).table);
  config.erase("architectures");
  config["model_type"] = "qwen2";
  const ModelSpec spec = Build(config);
  EXPECT_EQ(spec.arch.name, "Qwen2ForCausalLM");
  EXPECT_EQ(Totals(spec.table).payload, named.payload);
  ASSERT_FALSE(spec.findings.empty());
  EXPECT_EQ(spec.findings.front().id, "model.architecture_from_type");
  EXPECT_EQ(spec.findings.front().message,
            "names no architecture: planned as Qwen2ForCausalLM, from its model_type");
  config["model_type"] = "nobody";
  EXPECT_EQ(BuildError(config),
            "config.json: architectures: expected the model's class name, found nothing; is this a "
            "model's config.json?");
}

TEST(Families, UnknownArchitecturesSuggest) {
  EXPECT_EQ(BuildError({{"architectures", {"NemotronHForCausalLMs"}}}),
            "config.json: architecture 'NemotronHForCausalLMs' is not known; did you mean "
            "NemotronHForCausalLM?");
  EXPECT_EQ(BuildError({{"architectures", {"Nothing\nLike"}}}),
            "config.json: architecture 'Nothing\\x0aLike' is not known; `shardplan catalog "
            "families` lists the known ones");
  EXPECT_EQ(BuildError({{"hidden_size", 3}}),
            "config.json: architectures: expected the model's class name, found nothing; is this a "
            "model's config.json?");
  EXPECT_EQ(BuildError({{"architectures", 3}}),
            "config.json: architectures: expected a list of strings, found 3");
}

// An engine's name for a draft is nowhere in its file.
TEST(Families, UnknownDraftsAreNamedAsTheirFilesName) {
  Assumptions assumptions;
  for (const auto& [method, name] :
       {std::pair("eagle3", "FooBarForCausalLM"), {"eagle", "FooBarForCausalLMEagle"}}) {
    assumptions.draft_method = method;
    const Result<ModelSpec> spec = BuildModelSpec(nlohmann::json{{"architectures", {name}}}.dump(),
                                                  "config.json", assumptions);
    ASSERT_FALSE(spec.has_value());
    EXPECT_EQ(spec.error().message, std::string("architecture '") + name +
                                        "' is not known as a draft of method " + method);
  }
}

// Sizes that no product of which fits 64 bits end in one line, not in a wrapped number.
TEST(Families, AbsurdSizesAreRefused) {
  nlohmann::json huge =
      DenseConfig("LlamaForCausalLM", 1 << 24, 1 << 24, 4096, 1 << 24, 1 << 24, 1 << 24);
  huge["head_dim"] = 1 << 24;
  EXPECT_EQ(BuildError(huge),
            "config.json: the sizes in this config multiply to more than 64 bits");
}

TEST(Families, CatalogueIsSortedAndComplete) {
  const std::vector<FamilyInfo>& families = Families();
  ASSERT_EQ(families.size(), 37u);
  for (size_t i = 1; i < families.size(); ++i) EXPECT_LT(families[i - 1].id, families[i].id);
  for (const FamilyInfo& family : families) {
    EXPECT_FALSE(family.architectures.empty());
    EXPECT_FALSE(family.description.empty());
  }
}

TEST(Assume, ParsesAndRefuses) {
  Assumptions a;
  EXPECT_TRUE(ParseAssumption("mtp=false", &a));
  EXPECT_TRUE(ParseAssumption("mtp_embed=true", &a));
  EXPECT_TRUE(ParseAssumption("inv_freq=56", &a));
  EXPECT_EQ(a.mtp, false);
  EXPECT_EQ(a.mtp_embed, true);
  EXPECT_EQ(a.inv_freq, 56);
  for (const auto& [text, want] :
       {std::pair("mtp", "--assume mtp: expected mtp=true or mtp=false"),
        std::pair("mtp=no", "--assume mtp=no: expected mtp=true or mtp=false"),
        std::pair("inv_freq=x",
                  "--assume inv_freq=x: expected inv_freq=N, the entries of the "
                  "rotary buffer"),
        std::pair("inv_freq=0",
                  "--assume inv_freq=0: expected inv_freq=N, the entries of the "
                  "rotary buffer"),
        std::pair("x=1",
                  "--assume x=1: expected one of mtp=BOOL, mtp_embed=BOOL, stacked_experts=BOOL, "
                  "inv_freq=N")}) {
    const Status status = ParseAssumption(text, &a);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().ToString(), want);
  }
}

}  // namespace
}  // namespace shardplan
