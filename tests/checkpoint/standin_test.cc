#include "shardplan/checkpoint/standin.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/checkpoint/inventory.h"
#include "support/checkpoint_builder.h"

namespace shardplan {
namespace {

using testing_support::CheckpointBuilder;
using testing_support::ReadText;
using testing_support::TempDir;
using testing_support::TwoShardModel;

StandInPlan PlanOf(std::vector<StandInShard> shards, std::vector<StandInFile> files = {}) {
  StandInPlan plan;
  plan.files = std::move(files);
  plan.shard_count = shards.size();
  plan.shard = [shards = std::move(shards)](size_t number) -> Result<StandInShard> {
    return shards[number];
  };
  return plan;
}

// The error of a plan with one shard of this one tensor.
std::string StandinRefusal(const StandInTensor& tensor) {
  const TempDir dir;
  const auto report = WriteStandIn(PlanOf({{"s.safetensors", {tensor}}}), dir.Path("out"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  return report ? "no error" : report.error().ToString();
}

TEST(StandInTest, WritesExactlyThis) {
  const TempDir dir;
  const std::string out = dir.Path("my model");
  const auto report = WriteStandIn(
      PlanOf({{"model-00001-of-00002.safetensors",
               {{"b.weight", DType::kBF16, Shape({2, 3})}, {"a \"q\" é", DType::kF4, Shape({4})}}},
              {"model-00002-of-00002.safetensors", {{"s", DType::kF32, Shape()}}}},
             {{"config.json", "{ }\n"}}),
      out);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->shards, 2);
  EXPECT_EQ(report->tensors, 3);
  EXPECT_EQ(report->payload_bytes, Bytes(18));
  const std::string first = R"({"b.weight":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
                            R"("a \"q\" é":{"dtype":"F4","shape":[4],"data_offsets":[12,14]}})";
  ASSERT_EQ(first.size() % 8, 0u);
  EXPECT_EQ(ReadText(out + "/model-00001-of-00002.safetensors"),
            testing_support::WithLength(first) + std::string(14, '\0'));
  const std::string second = R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )";
  ASSERT_EQ(second.size() % 8, 0u);
  EXPECT_EQ(ReadText(out + "/model-00002-of-00002.safetensors"),
            testing_support::WithLength(second) + std::string(4, '\0'));
  EXPECT_EQ(report->file_bytes,
            Bytes(static_cast<int64_t>(8 + first.size() + 14 + 8 + second.size() + 4)));
  EXPECT_EQ(ReadText(out + "/config.json"), "{ }\n");
  EXPECT_EQ(ReadText(out + "/model.safetensors.index.json"), R"({
  "metadata": {
    "total_size": 18
  },
  "weight_map": {
    "a \"q\" é": "model-00001-of-00002.safetensors",
    "b.weight": "model-00001-of-00002.safetensors",
    "s": "model-00002-of-00002.safetensors"
  }
}
)");
  EXPECT_TRUE(OpenCheckpoint(out));
}

TEST(StandInTest, AnIndexForOneShardOnlyWhenAsked) {
  const TempDir dir;
  StandInPlan plan = PlanOf({{"model.safetensors", {}}});
  ASSERT_TRUE(WriteStandIn(plan, dir.Path("a")));
  EXPECT_EQ(ReadText(dir.Path("a/model.safetensors")), testing_support::WithLength("{}      "));
  EXPECT_FALSE(std::filesystem::exists(dir.Path("a/model.safetensors.index.json")));
  plan.always_index = true;
  ASSERT_TRUE(WriteStandIn(plan, dir.Path("b")));
  EXPECT_EQ(ReadText(dir.Path("b/model.safetensors.index.json")),
            "{\n  \"metadata\": {\n    \"total_size\": 0\n  },\n  \"weight_map\": {}\n}\n");
}

TEST(StandInTest, PayloadsAreHoles) {
  const TempDir dir;
  const auto report =
      WriteStandIn(PlanOf({{"model.safetensors", {{"w", DType::kU8, Shape({int64_t{1} << 33})}}}}),
                   dir.Path("out"));
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->payload_bytes, Bytes(int64_t{1} << 33));
  const auto inventory = OpenCheckpoint(dir.Path("out"));
  ASSERT_TRUE(inventory);
  EXPECT_EQ(inventory->payload_bytes, report->payload_bytes);
  EXPECT_EQ(inventory->file_bytes, report->file_bytes);
}

TEST(StandInTest, RefusesTensorsThatNoReaderTakes) {
  EXPECT_EQ(StandinRefusal({"w", DType::kF4, Shape({3})}),
            "w: expected whole bytes, found shape [3] of F4");
  EXPECT_EQ(StandinRefusal({"w", DType::kU8, Shape({-3})}),
            "w: expected dimensions from 0, found shape [-3]");
  EXPECT_EQ(StandinRefusal({"w", DType::kF64, Shape({INT64_MAX})}),
            "w: shape [9223372036854775807] of F64 does not fit in 64 bits");
  EXPECT_EQ(StandinRefusal({"\xff", DType::kU8, Shape({3})}),
            "\\xff: expected a tensor name in UTF-8");
  EXPECT_EQ(StandinRefusal({"__metadata__", DType::kU8, Shape({3})}),
            "__metadata__: expected a tensor name, found the key kept for metadata");
}

TEST(StandInTest, RefusesPlansThatContradictThemselves) {
  const TempDir dir;
  const auto refusal = [&](const StandInPlan& plan) -> std::string {
    const auto report = WriteStandIn(plan, dir.Path("out"));
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
    return report ? "no error" : report.error().ToString();
  };
  EXPECT_EQ(refusal(PlanOf({{"a", {{"w"}}}, {"b", {{"v"}, {"w"}}}})),
            "w: expected the tensor once, found it in a and b");
  EXPECT_EQ(refusal(PlanOf({{"a", {{"w"}, {"w"}}}})),
            "w: expected the tensor once, found it in a and a");
  EXPECT_EQ(refusal(PlanOf({{"a", {}}, {"a", {}}})), "a: expected once, found twice");
  EXPECT_EQ(refusal(PlanOf({{"a", {}}}, {{"a", ""}})), "a: expected once, found twice");
  EXPECT_EQ(refusal(PlanOf({{"../a", {}}})), "../a: expected a plain file name without slashes");
  EXPECT_EQ(refusal(PlanOf({{"a\xff", {}}})), "a\\xff: expected a file name in UTF-8");
  EXPECT_EQ(refusal(PlanOf({{"a", {}}, {"model.safetensors.index.json", {}}})),
            "model.safetensors.index.json: expected once, found twice");
  StandInPlan failing = PlanOf({{"a", {}}});
  failing.shard = [](size_t) -> Result<StandInShard> {
    return Fail(ErrorCode::kInternal, "plan", "gave up");
  };
  EXPECT_EQ(refusal(failing), "plan: gave up");
}

TEST(StandInTest, RefusesToOverwrite) {
  const TempDir dir;
  dir.Write("out/old", "x");
  const auto report = WriteStandIn(PlanOf({{"a", {}}}), dir.Path("out"));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(report.error().ToString(),
            dir.Path("out") +
                ": expected a new or empty directory, found one that holds old; choose another "
                "path; nothing is ever overwritten");
  EXPECT_EQ(ReadText(dir.Path("out/old")), "x");
  dir.MakeDir("empty");
  EXPECT_TRUE(WriteStandIn(PlanOf({{"a", {}}}), dir.Path("empty")));
  EXPECT_TRUE(std::filesystem::exists(dir.Path("empty/a")));
}

}  // namespace
}  // namespace shardplan
