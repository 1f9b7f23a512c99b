#include "cli/draft_place.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace shardplan::cli {
namespace {

// The place that a draft gets, "as given" where it stays, or the error.
std::string Place(const std::string& draft, const std::string& given,
                  const std::string& engine = "vllm") {
  Deployment deployment;
  deployment.engine = engine;
  if (engine == "sglang") {
    deployment.sglang.speculative_algorithm = "EAGLE";
    deployment.sglang.speculative_draft_model_path = draft;
  } else if (!draft.empty()) {
    deployment.settings.speculation.emplace();
    deployment.settings.speculation->model = draft;
  }
  if (const Status status = PlaceDraft(given, &deployment); !status) {
    const Error& e = status.error();
    return e.subject + ": " + e.message + (e.hint.empty() ? "" : "; " + e.hint);
  }
  return deployment.settings.served_draft.value_or("as given");
}

TEST(DraftPlaceTest, AnAbsoluteDirectoryStaysAndAFileIsItsDirectory) {
  const testing_support::TempDir dir;
  dir.Write("config.json", "{}");
  for (const char* engine : {"vllm", "sglang"}) {
    EXPECT_EQ(Place(dir.path(), "", engine), "as given");
    EXPECT_EQ(Place(dir.path() + "/config.json", "", engine), dir.path());
    EXPECT_EQ(Place(dir.path() + "/config.json", "/models/draft", engine), "/models/draft");
    EXPECT_EQ(Place(dir.path(), "org/Draft-1.5_b", engine), "org/Draft-1.5_b");
  }
}

TEST(DraftPlaceTest, APathFromHereIsNothingThatNodesFind) {
  const testing_support::TempDir dir;
  dir.MakeDir("draft");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  EXPECT_EQ(Place("draft", ""),
            "draft draft: expected where the nodes find it, found a path from this directory; "
            "--draft-path DIR, absolute, or the ORG/NAME that the engine downloads");
  EXPECT_EQ(Place("draft", "/models/draft"), "/models/draft");
  std::filesystem::current_path(before);
}

TEST(DraftPlaceTest, NamesStay) {
  EXPECT_EQ(Place("org/draft", "", "sglang"), "as given");
  EXPECT_EQ(Place("", ""), "as given");
}

TEST(DraftPlaceTest, PlacesThatAreNone) {
  for (const char* given : {"./draft", "draft", "../x/y", "a/b/c", "org/", "-x/y", "o rg/x"}) {
    EXPECT_EQ(Place("/x", given),
              "--draft-path " + std::string(given) +
                  ": expected an absolute directory of the nodes, or a repository as ORG/NAME");
  }
  EXPECT_EQ(Place("", "/x"),
            "--draft-path /x: expected a draft that this is the place of, found none; name its "
            "config as \"model\" of --speculative-config too");
  EXPECT_EQ(Place("", "/x", "sglang"),
            "--draft-path /x: expected a draft that this is the place of, found none; name it with "
            "--speculative-draft-model-path too");
}

}  // namespace
}  // namespace shardplan::cli
