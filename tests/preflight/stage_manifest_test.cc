#include "preflight/stage_manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/temp_dir.h"

namespace shardplan {
namespace {

using Json = nlohmann::json;

const Json kGood = {{"schema_version", 1},
                    {"kind", "stage_index"},
                    {"stages", {{{"stage", 1}, {"first_layer", 4}, {"layer_count", 2}}}},
                    {"source", {{"sha256", "aa"}}},
                    {"index", {{"name", "i.json"}, {"sha256", "bb"}}},
                    {"files", {{{"name", "b"}, {"bytes", 2}}, {{"name", "a"}, {"bytes", 1}}}}};

class StageManifestTest : public ::testing::Test {
 protected:
  Result<StageManifest> Read(const Json& json) {
    dir_.Write("manifest.json", json.dump());
    return ReadStageManifest(dir_.path());
  }
  // The good one with one field, by its JSON pointer, replaced.
  ErrorCode With(const char* pointer, const Json& value) {
    Json json = kGood;
    json[Json::json_pointer(pointer)] = value;
    const Result<StageManifest> manifest = Read(json);
    EXPECT_FALSE(manifest.has_value()) << pointer;
    return manifest ? ErrorCode::kInternal : manifest.error().code;
  }
  testing_support::TempDir dir_;
};

TEST_F(StageManifestTest, Reads) {
  const Result<StageManifest> manifest = Read(kGood);
  ASSERT_TRUE(manifest.has_value()) << manifest.error().ToString();
  EXPECT_EQ(manifest->stages, std::vector<int64_t>{1});
  EXPECT_EQ(manifest->source_sha256, "aa");
  EXPECT_EQ(manifest->index_sha256, "bb");
  EXPECT_EQ(manifest->index_path, dir_.Path("i.json"));
  ASSERT_EQ(manifest->files.size(), 2U);
  EXPECT_EQ(manifest->files[0], (std::pair<std::string, Bytes>("a", Bytes(1))));
}

TEST_F(StageManifestTest, RefusesEverythingElse) {
  EXPECT_EQ(ReadStageManifest(dir_.path()).error().code, ErrorCode::kIo);
  EXPECT_EQ(With("/schema_version", 2), ErrorCode::kInvalidInput);
  EXPECT_EQ(With("/kind", "plan"), ErrorCode::kInvalidInput);
  EXPECT_EQ(With("/source", nullptr), ErrorCode::kInvalidInput);
  EXPECT_EQ(With("/index/name", "../i.json"), ErrorCode::kInvalidInput);
  EXPECT_EQ(With("/files/0/name", "/etc/passwd"), ErrorCode::kInvalidInput);
  EXPECT_EQ(With("/files/0/name", "a"), ErrorCode::kInvalidInput);  // twice
  EXPECT_EQ(With("/files/0/bytes", -1), ErrorCode::kInvalidInput);
  EXPECT_EQ(With("/files/0/bytes", UINT64_MAX), ErrorCode::kInvalidInput);
  EXPECT_EQ(With("/files/0/bytes", 1.5), ErrorCode::kInvalidInput);
  EXPECT_EQ(With("/files", Json::array()), ErrorCode::kInvalidInput);
  EXPECT_EQ(With("/stages", 1), ErrorCode::kInvalidInput);
  dir_.Write("manifest.json", "[1");
  EXPECT_EQ(ReadStageManifest(dir_.path()).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace shardplan
