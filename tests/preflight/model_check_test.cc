#include "shardplan/preflight/model_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "launch/stage_index.h"
#include "support/plan_world.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"
#include "support/tiny_families.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::ReadText;
using testing_support::TempDir;
using testing_support::WriteText;
using testing_support::WriteTiny;

// Six layers, one shard each, then embedding and head (7), projector (8) and tower (9).
class ModelCheckTest : public ::testing::Test {
 protected:
  ModelCheckTest() {
    request_.directory = dir_.Path("m");
    WriteTiny(testing_support::TinyKimiK3(), dir_.Path("m"));
    WriteText(dir_.Path("m/tokenizer.json"), "{}");
    WriteText(dir_.Path("m/tokenizer_config.json"), "{}");
  }

  ModelCheck Check() const {
    Result<ModelCheck> check = CheckModelDirectory(request_);
    EXPECT_TRUE(check.has_value()) << (check ? "" : check.error().ToString());
    return check ? *std::move(check) : ModelCheck();
  }
  // What is no note.
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    for (const Finding& finding : Check().findings) {
      if (finding.severity != Severity::kNote) ids.push_back(finding.id);
    }
    return ids;
  }
  std::string MessageOf(const std::string& id) const {
    for (const Finding& finding : Check().findings) {
      if (finding.id == id) return finding.message;
    }
    return "no " + id;
  }
  ErrorCode Refusal() const {
    const Result<ModelCheck> check = CheckModelDirectory(request_);
    EXPECT_FALSE(check.has_value());
    return check ? ErrorCode::kInternal : check.error().code;
  }
  std::string Shard(int number) const {
    return dir_.Path(fmt::format("m/model-{:05}-of-000009.safetensors", number));
  }
  std::string Index() const { return dir_.Path("m/model.safetensors.index.json"); }

  // Replaces what stands in a file.
  static void Edit(const std::string& path, const std::string& from, const std::string& to) {
    std::string text = ReadText(path);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    WriteText(path, text.replace(at, from.size(), to));
  }

  // Writes the index of stage 1 of 4 + 2 layers and returns its directory.
  std::string CutStage() {
    const Result<Model> model = LoadModel(dir_.Path("m"));
    Deployment d;
    d.gpu = "h20-96";
    d.sizes.pp = 2;
    d.gpus_per_node = 1;
    d.partition = std::vector<int64_t>{4, 2};
    d.settings.max_num_seqs = 1;
    const Plan plan = testing_support::Evaluate(*model, d);
    const Result<Bundle> bundle = MakeStageIndex({plan, *model, LaunchSite()});
    EXPECT_TRUE(bundle.has_value()) << (bundle ? "" : bundle.error().ToString());
    EXPECT_TRUE(WriteBundle(*bundle, dir_.Path("cut")).has_value());
    return dir_.Path("cut/stage-1");
  }

  TempDir dir_;
  ModelCheckRequest request_;
};

TEST_F(ModelCheckTest, AWholeDirectoryIsClean) {
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_THAT(Check().summary, HasSubstr("9 shards, "));
}

TEST_F(ModelCheckTest, MissingShardsAreNamed) {
  for (const int number : {2, 4, 5, 6}) fs::remove(Shard(number));
  EXPECT_THAT(Ids(), ElementsAre("model.shard_missing"));
  EXPECT_EQ(MessageOf("model.shard_missing"),
            "4 of 9 shards are not there: model-00002-of-000009.safetensors, "
            "model-00004-of-000009.safetensors to model-00006-of-000009.safetensors");
}

TEST_F(ModelCheckTest, AnIndexWhoseShardsAreNotThere) {
  for (int number = 1; number <= 9; ++number) fs::remove(Shard(number));
  EXPECT_THAT(Ids(), ElementsAre("model.shard_missing"));
}

TEST_F(ModelCheckTest, DamagedShards) {
  fs::resize_file(Shard(3), fs::file_size(Shard(3)) - 1);
  WriteText(Shard(4), "\x01");
  WriteText(Shard(5), "0123456789abcdef");
  EXPECT_THAT(Ids(),
              ElementsAre("model.header_broken", "model.shard_truncated", "model.shard_truncated"));
}

TEST_F(ModelCheckTest, TheIndexItself) {
  WriteText(Index(), "{\"weight_map\": {\"a\": \"../x\"}}");
  EXPECT_THAT(Ids(), ElementsAre("model.index_broken"));
  EXPECT_THAT(MessageOf("model.index_broken"), HasSubstr("plain name of a file"));
}

TEST_F(ModelCheckTest, IndexAgainstHeaders) {
  Edit(Index(), "model-00001-of", "model-00002-of");
  EXPECT_THAT(Ids(), ElementsAre("model.index_contradicts"));
}

TEST_F(ModelCheckTest, TotalSizeAndShardsThatNobodyNames) {
  Edit(Index(), "\"total_size\": ", "\"total_size\": 1");
  fs::copy_file(Shard(1), dir_.Path("m/consolidated.safetensors"));
  EXPECT_THAT(Ids(), ElementsAre("checkpoint.extra_shard", "checkpoint.total_size"));
}

TEST_F(ModelCheckTest, ConfigOfAnotherModel) {
  Edit(dir_.Path("m/config.json"), "\"vocab_size\":", "\"vocab_size\":1");
  EXPECT_THAT(Ids(), ElementsAre("model.config_contradicts"));
  fs::remove(Shard(9));  // names alone know nothing of shapes
  EXPECT_THAT(Ids(), ElementsAre("model.shard_missing"));
  WriteText(dir_.Path("m/config.json"), "{");
  EXPECT_THAT(Ids(), ElementsAre("model.config_contradicts", "model.shard_missing"));
  fs::remove(dir_.Path("m/config.json"));
  EXPECT_THAT(Ids(), ElementsAre("model.config_missing", "model.shard_missing"));
}

TEST_F(ModelCheckTest, AFamilyThatNobodyKnows) {
  Edit(dir_.Path("m/config.json"), "ForConditionalGeneration", "ForNobody");
  fs::remove(Shard(9));
  EXPECT_THAT(Ids(), ElementsAre("model.shard_missing"));
  EXPECT_NE(MessageOf("model.not_modelled"), "no model.not_modelled");
  request_.layout.stages = 2;
  request_.stages = {0};
  EXPECT_EQ(Refusal(), ErrorCode::kUnsupported);
}

TEST_F(ModelCheckTest, PointersInPlaceOfWeights) {
  for (int number = 1; number <= 9; ++number) {
    WriteText(Shard(number), "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  }
  EXPECT_THAT(Ids(), ElementsAre("model.lfs_pointer"));
}

TEST_F(ModelCheckTest, AHubCacheIsFollowed) {
  fs::create_directories(dir_.Path("c/blobs"));
  fs::create_directories(dir_.Path("c/snapshots/abc"));
  int blob = 0;
  for (const auto& entry : fs::directory_iterator(dir_.Path("m"))) {
    const std::string name = "blob" + std::to_string(blob++);
    fs::rename(entry.path(), dir_.Path("c/blobs/" + name));
    fs::create_symlink("../../blobs/" + name,
                       dir_.Path("c/snapshots/abc/") + entry.path().filename().string());
  }
  request_.directory = dir_.Path("c/snapshots/abc");
  EXPECT_THAT(Ids(), IsEmpty());
  fs::remove(dir_.Path("c/blobs/blob0"));
  EXPECT_THAT(Ids(), testing::Contains("model.dangling_link"));
}

TEST_F(ModelCheckTest, NoWeightsAtAll) {
  request_.directory = dir_.MakeDir("e");
  EXPECT_THAT(Ids(),
              ElementsAre("model.config_missing", "model.no_weights", "model.tokenizer_missing"));
  dir_.Write("e/config.json", "{}");
  EXPECT_THAT(Ids(), ElementsAre("model.no_weights", "model.tokenizer_missing"));
}

TEST_F(ModelCheckTest, OneFileWithoutAnIndex) {
  WriteTiny(testing_support::TinyDense(), dir_.Path("d"));
  fs::remove(dir_.Path("d/model.safetensors.index.json"));
  request_.directory = dir_.Path("d");
  EXPECT_THAT(Ids(), ElementsAre("model.tokenizer_missing"));
}

TEST_F(ModelCheckTest, ANodeWithItsStageAlone) {
  request_.layout.partition = std::vector<int64_t>{4, 2};
  request_.stages = {1};
  for (int number = 1; number <= 4; ++number) fs::remove(Shard(number));
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_THAT(Check().summary, HasSubstr("stage 1: 5 shards, "));
  request_.stages = {0};
  EXPECT_THAT(Ids(), ElementsAre("model.shard_missing"));
  EXPECT_THAT(MessageOf("model.shard_missing"),
              HasSubstr("4 of 7 shards are not there: model-00001-of-000009.safetensors to "
                        "model-00004-of-000009.safetensors"));
  request_.stages = {0, 1};
  EXPECT_THAT(MessageOf("model.shard_missing"), HasSubstr("4 of 9 shards"));
  request_.stages = {2};
  EXPECT_EQ(Refusal(), ErrorCode::kUsage);
}

TEST_F(ModelCheckTest, AStageWithItsIndex) {
  request_.stage_index = CutStage();
  for (int number = 1; number <= 4; ++number) fs::remove(Shard(number));
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_THAT(Check().summary, HasSubstr("stage 1: 5 shards, "));
  // Mounted over the model's own, too.
  fs::copy_file(request_.stage_index + "/model.safetensors.index.json", Index(),
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(Ids(), IsEmpty());

  fs::remove(Shard(7));
  EXPECT_THAT(Ids(), ElementsAre("model.shard_missing"));
  fs::resize_file(Shard(6), fs::file_size(Shard(6)) + 8);
  EXPECT_THAT(Ids(), ElementsAre("model.file_size", "model.header_broken", "model.shard_missing"));
}

TEST_F(ModelCheckTest, AStageIndexOfOtherWeights) {
  request_.stage_index = CutStage();
  WriteText(Index(), ReadText(Index()) + "\n");
  EXPECT_THAT(Ids(), ElementsAre("model.index_changed"));
  const std::string cut = request_.stage_index + "/model.safetensors.index.json";
  WriteText(cut, ReadText(cut) + "\n");
  EXPECT_THAT(Ids(), ElementsAre("model.stage_index_broken", "model.index_changed"));
  request_.stage_index = dir_.Path("cut");
  EXPECT_EQ(Refusal(), ErrorCode::kIo);
}

TEST_F(ModelCheckTest, WhatIsNoDirectory) {
  request_.directory = dir_.Path("gone");
  EXPECT_EQ(Refusal(), ErrorCode::kIo);
  request_.directory = Index();
  EXPECT_EQ(Refusal(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace shardplan
