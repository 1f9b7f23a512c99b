#include "preflight/command_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::Cards;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::Store;

const FlagTable& Table() {
  static const FlagTable table = *FlagTable::Load(Store(), "vllm");
  return table;
}

class CommandCheckTest : public ::testing::Test {
 protected:
  CommandCheckTest() {
    under_.table = &Table();
    under_.deployment = &deployment_;
    under_.version = "0.31.0";
    under_.version_given = true;
    under_.catalog = &Cards();
  }

  // "severity id subject"
  std::vector<std::string> Told() {
    findings_ = CheckCommandText(Store(), under_).value();
    std::vector<std::string> told;
    for (const Finding& f : findings_) {
      told.push_back(std::string(ToString(f.severity)) + " " + f.id + " " + f.subject);
    }
    return told;
  }

  Deployment deployment_;
  CommandUnderCheck under_;
  std::vector<Finding> findings_;
};

TEST_F(CommandCheckTest, ProblemsLoseTheOptionsName) {
  under_.problems = {
      {"command.value", {ErrorCode::kUsage, "--from-command --nnodes", "expected", "two"}},
      {"command.shell_variable", {ErrorCode::kUsage, "--from-command A=$B", "hangs", "write"}}};
  under_.repeated = {"--seed"};
  EXPECT_THAT(Told(), ElementsAre("error command.value --nnodes", "warning command.repeated --seed",
                                  "warning command.shell_variable A=$B",
                                  "note check.not_looked_at MODEL, --gpu"));
  EXPECT_EQ(findings_[0].fix, "two");
}

TEST_F(CommandCheckTest, FlagsOfOtherVersionsAreErrors) {
  deployment_.settings.command_flags = {{"--swap-space", "4", false}};
  EXPECT_THAT(Told(), Contains("error command.flag_removed --swap-space"));
  under_.version = "0.8.0";
  deployment_.settings.command_flags = {{"--language-model-only", "true", true}};
  EXPECT_THAT(Told(), Contains("error command.flag_too_new --language-model-only"));
  under_.version_given = false;
  EXPECT_THAT(Told(), Contains("note check.version --engine"));
}

TEST_F(CommandCheckTest, IssuesWithoutAPlan) {
  deployment_.settings.speculation = Speculation();
  deployment_.settings.speculation->method = "dspark";
  deployment_.sizes.pp = 2;
  under_.version = "0.28.0";
  EXPECT_THAT(Told(), Contains("error issue.kimi-k3-dspark-pipeline --speculative-config"));
  // Later versions may have mended it.
  under_.version = "0.31.0";
  EXPECT_THAT(Told(), Contains("warning issue.kimi-k3-dspark-pipeline --speculative-config"));
  deployment_.sizes.pp = 1;
  EXPECT_THAT(Told(), Not(Contains(HasSubstr("dspark"))));
}

TEST_F(CommandCheckTest, SettingsWithoutAPlan) {
  deployment_.sizes.tp = 8;
  deployment_.sizes.dcp = 3;
  deployment_.settings.enable_eplb = true;
  deployment_.settings.gpu_memory_utilization = 0.5;
  deployment_.settings.command_flags = {{"--enable-eplb", "true", true},
                                        {"--data-parallel-size-local", "2", false}};
  EXPECT_THAT(Told(), Contains("error layout.dcp --decode-context-parallel-size 3"));
  EXPECT_THAT(Told(), Contains("error layout.eplb --enable-eplb"));
  EXPECT_THAT(Told(), Contains("error command.contradiction --data-parallel-size-local 2"));
  // A size that could not be read says nothing of those beside it.
  under_.problems = {
      {"command.flag_unknown", {ErrorCode::kUsage, "--from-command --tp", "is no flag", ""}}};
  EXPECT_THAT(Told(), Not(Contains(HasSubstr("layout."))));
  under_.problems.clear();
  deployment_.settings.gpu_memory_utilization = 1.5;
  EXPECT_THAT(Told(), Contains("error command.refused --gpu-memory-utilization 1.5"));
}

TEST_F(CommandCheckTest, CardsThatAreHiddenWithoutAPlan) {
  deployment_.sizes.tp = 4;
  deployment_.settings.env = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  EXPECT_THAT(Told(), Contains("error layout.hidden_gpus CUDA_VISIBLE_DEVICES=0,1"));
  deployment_.nodes = 2;
  EXPECT_THAT(Told(), Not(Contains(HasSubstr("hidden_gpus"))));
  // Ray finds those of other nodes.
  deployment_.nodes.reset();
  deployment_.settings.command_flags = {{"--distributed-executor-backend", "ray", false}};
  EXPECT_THAT(Told(), Not(Contains(HasSubstr("hidden_gpus"))));
}

TEST_F(CommandCheckTest, NodesWithoutAModel) {
  const GpuSpec gpu = Cards().FindGpu("h20-141").value();
  under_.gpu = &gpu;
  deployment_.sizes.tp = 16;
  deployment_.nodes = 1;
  EXPECT_THAT(Told(), Contains("error layout.world_size TP 16 × PP 1 × DP 1"));
  deployment_.nodes = 2;
  EXPECT_THAT(Told(), Contains("warning layout.tp_spans_nodes TP 16 × PP 1 × DP 1"));
}

TEST_F(CommandCheckTest, ValuesOfOtherVersionsAreErrors) {
  deployment_.findings = {{"command.value_too_new", Severity::kWarning, "--x y", "no", "z"}};
  EXPECT_THAT(Told(), Contains("error command.value_too_new --x y"));
}

TEST_F(CommandCheckTest, DefaultsThatBite) {
  const Model& model = ExampleFromConfig("kimi-k3");
  const GpuSpec gpu = Cards().FindGpu("h20-141").value();
  deployment_ = testing_support::PublishedKimiK3();
  deployment_.gpu = "h20-141";
  deployment_.settings.max_num_seqs.reset();
  const Plan plan = Evaluate(model, deployment_);
  under_.arch = &model.arch;
  under_.gpu = &gpu;
  under_.plan = &plan;
  EXPECT_THAT(Told(), Contains("warning default.max_num_seqs --max-num-seqs"));
  EXPECT_THAT(Told(), Contains("note default.kv_cache_dtype --kv-cache-dtype"));
  EXPECT_THAT(Told(), Contains("note default.others defaults"));
}

TEST_F(CommandCheckTest, WhatCouldNotBePlanned) {
  const Model& model = ExampleFromConfig("kimi-k3");
  const GpuSpec gpu = Cards().FindGpu("h20-141").value();
  under_.arch = &model.arch;
  under_.gpu = &gpu;
  under_.not_planned = Error{ErrorCode::kUsage, "--dtype int3", "expected auto", ""};
  EXPECT_THAT(Told(), Contains("error command.refused --dtype int3"));
  under_.not_planned = Error{ErrorCode::kUnsupported, "vllm@0.5", "rules reach from 0.8.0", ""};
  EXPECT_THAT(Told(), Contains("note check.not_planned vllm@0.5"));
}

}  // namespace
}  // namespace shardplan
