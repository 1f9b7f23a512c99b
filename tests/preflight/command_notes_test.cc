#include "preflight/command_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;

std::vector<std::string> Ids(const std::vector<Finding>& findings) {
  std::vector<std::string> ids;
  for (const Finding& finding : findings) ids.push_back(finding.id);
  return ids;
}

TEST(CommandNotesTest, VisibleCards) {
  Deployment d;
  d.sizes.tp = 2;
  d.settings.env = {{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}};
  const auto notes = NoteSurroundings("", d);
  ASSERT_THAT(Ids(notes), ElementsAre("command.idle_gpus", "command.device_order"));
  EXPECT_EQ(notes[0].message, "shows 4 cards, and the layout uses 2: visible is not used");
  d.settings.env = {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  EXPECT_THAT(NoteSurroundings("", d), ElementsAre());
  d.settings.env = {{"CUDA_VISIBLE_DEVICES", "GPU-1a,GPU-2b"}};
  EXPECT_THAT(NoteSurroundings("", d), ElementsAre());
  // What CUDA sees ends at the first that is none.
  d.settings.env = {{"CUDA_VISIBLE_DEVICES", "0,1,2,-1"}};
  EXPECT_EQ(NoteSurroundings("", d)[0].message,
            "shows 3 cards, and the layout uses 2: visible is not used");
  d.settings.env = {{"CUDA_VISIBLE_DEVICES", "GPU-1a,GPU-2b"}};
  // DP attention lies inside TP.
  d.engine = "sglang";
  d.sizes.dp = 2;
  d.sglang.enable_dp_attention = true;
  EXPECT_THAT(NoteSurroundings("", d), ElementsAre());
}

TEST(CommandNotesTest, ContainersShareMemoryOnDemand) {
  Deployment d;
  d.sizes.tp = 8;
  EXPECT_THAT(Ids(NoteSurroundings("sudo docker run --gpus all image", d)),
              ElementsAre("container.ipc"));
  EXPECT_THAT(NoteSurroundings("docker run --gpus all --ipc=host image", d), ElementsAre());
  EXPECT_THAT(NoteSurroundings("podman run \\\n --shm-size 16g image", d), ElementsAre());
  EXPECT_THAT(NoteSurroundings("vllm serve docker", d), ElementsAre());
  d.sizes.tp = 1;
  EXPECT_THAT(NoteSurroundings("docker run --gpus all image", d), ElementsAre());
}

TEST(CommandNotesTest, WhatTextProcessorsMakeOfACommand) {
  const auto notes = NoteSurroundings("vllm serve \xe2\x80\x9cm\xe2\x80\x9d", {});
  ASSERT_THAT(Ids(notes), ElementsAre("command.typography", "command.typography"));
  EXPECT_EQ(notes[0].subject, "a typographic quote (U+201C)");
  EXPECT_EQ(notes[0].message,
            "stands in the command, at character 12: a shell takes it for a part of a word");
  EXPECT_EQ(notes[0].fix, "write a straight quote (\") in its place");
  EXPECT_EQ(notes[1].subject, "a typographic quote (U+201D)");
  // Characters are counted, not bytes.
  EXPECT_EQ(notes[1].message,
            "stands in the command, at character 14: a shell takes it for a part of a word");
  const auto places = [](const std::string& text) { return NoteSurroundings(text, {})[0].message; };
  const std::string single = "\xe2\x80\x99";
  EXPECT_THAT(places(single + "a" + single), HasSubstr("at characters 1 and 3:"));
  EXPECT_THAT(places(single + single + single + single), HasSubstr("at characters 1, 2, 3 and 4:"));
  EXPECT_THAT(places(single + single + single + single + single),
              HasSubstr("at characters 1, 2, 3 and 2 more places:"));
  EXPECT_EQ(NoteSurroundings("vllm serve m\xc2\xa0-tp 2", {})[0].subject,
            "a no-break space (U+00A0)");
  EXPECT_THAT(NoteSurroundings("vllm serve 'mod\xc3\xa8le' \"x\"", {}), ElementsAre());
}

TEST(CommandNotesTest, StagesAndTokens) {
  const Model& model = ExampleFromConfig("kimi-k3");
  const Deployment d = testing_support::PublishedKimiK3();
  const Plan plan = Evaluate(model, d);
  const auto notes = NoteReadings(model.arch, plan);
  ASSERT_THAT(Ids(notes), ElementsAre("kv.least_stage", "kv.printed_tokens"));
  EXPECT_EQ(notes[0].subject, "stage 0");
  EXPECT_THAT(notes[0].message, HasSubstr("stage 0 of 48 layers 1,62"));
  EXPECT_THAT(notes[1].message, HasSubstr("2.35 windows of 524,288 fit at once"));
}

TEST(CommandNotesTest, ExpertsWithoutExpertParallelism) {
  const Model& model = ExampleFromConfig("deepseek-v3");
  Deployment d;
  d.gpu = "h200-141";
  d.sizes.dp = 8;
  d.settings.max_model_len = 8192;
  EXPECT_THAT(Ids(NoteReadings(model.arch, Evaluate(model, d))),
              ElementsAre("layout.experts_sliced"));
  d.sizes.expert_parallel = true;
  EXPECT_THAT(NoteReadings(model.arch, Evaluate(model, d)), ElementsAre());
}

TEST(CommandNotesTest, CodeOfItsOwn) {
  const auto notes = [](bool own_code, Deployment d) {
    Architecture arch;
    arch.trust_remote_code = own_code;
    std::vector<Finding> out;
    NoteOwnCode(arch, d, &out);
    return out;
  };
  Deployment d;
  EXPECT_THAT(notes(false, d), ElementsAre());
  ASSERT_THAT(Ids(notes(true, d)), ElementsAre("command.own_code"));
  EXPECT_EQ(notes(true, d)[0].severity, Severity::kNote);
  EXPECT_THAT(notes(true, d)[0].message, HasSubstr("'Failed to load the model config."));
  d.settings.command_flags = {{"--trust-remote-code", "true", true}};
  EXPECT_THAT(notes(true, d), ElementsAre());
  d.settings.command_flags.clear();
  d.engine = "sglang";
  EXPECT_THAT(notes(true, d)[0].message, ::testing::Not(HasSubstr("Failed to load")));
}

}  // namespace
}  // namespace shardplan
