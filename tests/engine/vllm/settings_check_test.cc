#include "engine/vllm/settings_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan::vllm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> SettingsTold(const ParallelSizes& sizes, const EngineSettings& settings) {
  std::vector<std::string> told;
  for (const Finding& f : CheckSettings(sizes, settings)) {
    told.push_back(f.id + ": " + f.subject + ": " + f.message + "; " + f.fix);
  }
  return told;
}

std::string Refused(const EngineSettings& settings) {
  const Status status = CheckNumbers(settings);
  return status ? "" : status.error().ToString();
}

TEST(VllmSettingsCheck, PlainSettingsPass) { EXPECT_THAT(SettingsTold({}, {}), IsEmpty()); }

TEST(VllmSettingsCheck, Batches) {
  EngineSettings s;
  s.max_num_batched_tokens = 1024;
  s.max_model_len = 32'768;
  EXPECT_THAT(SettingsTold({}, s), IsEmpty());
  s.enable_chunked_prefill = false;
  EXPECT_THAT(
      SettingsTold({}, s),
      ElementsAre("engine.batched_tokens: --max-num-batched-tokens 1024: max_num_batched_tokens "
                  "(1024) is smaller than max_model_len (32768). This effectively limits the "
                  "maximum sequence length to max_num_batched_tokens and makes vLLM reject longer "
                  "sequences. Please increase max_num_batched_tokens or decrease max_model_len.; "
                  "--max-num-batched-tokens 32768, or chunked prefill"));
  // The model's window is not known.
  s.max_model_len.reset();
  EXPECT_THAT(SettingsTold({}, s), IsEmpty());
  s.max_num_seqs = 2048;
  EXPECT_THAT(
      SettingsTold({}, s),
      ElementsAre("engine.batched_tokens: --max-num-batched-tokens 1024: max_num_batched_tokens "
                  "(1024) must be greater than or equal to max_num_seqs (2048).; --max-num-seqs "
                  "1024"));
  // The card's default of tokens is not known.
  s.max_num_batched_tokens.reset();
  EXPECT_THAT(SettingsTold({}, s), IsEmpty());
}

TEST(VllmSettingsCheck, SizesAndBalance) {
  ParallelSizes sizes;
  sizes.tp = 8;
  sizes.dcp = 3;
  EXPECT_THAT(
      SettingsTold(sizes, {}),
      ElementsAre("layout.dcp: --decode-context-parallel-size 3: tp_size=8 must be "
                  "divisible by dcp_size=3.; choose a divisor of the tensor-parallel size"));
  sizes.dcp = 4;
  EXPECT_THAT(SettingsTold(sizes, {}), IsEmpty());
  EngineSettings s;
  s.enable_eplb = true;
  EXPECT_THAT(SettingsTold(sizes, s),
              ElementsAre("layout.eplb: --enable-eplb: enable_expert_parallel must be True to use "
                          "EPLB.; --enable-expert-parallel"));
  sizes.expert_parallel = true;
  EXPECT_THAT(SettingsTold(sizes, s), IsEmpty());
  s.enable_lora = true;
  s.max_lora_rank = 12;
  EXPECT_THAT(SettingsTold(sizes, s),
              ElementsAre(::testing::StartsWith("lora.settings: --max-lora-rank "
                                                "12: vLLM takes 1, 8, ")));
}

TEST(VllmSettingsCheck, Numbers) {
  EngineSettings s;
  EXPECT_EQ(Refused(s), "");
  s.gpu_memory_utilization = 1.5;
  EXPECT_EQ(Refused(s), "--gpu-memory-utilization 1.5: expected a number above 0 and at most 1");
  s.gpu_memory_utilization = 0;
  EXPECT_EQ(Refused(s), "--gpu-memory-utilization 0: expected a number above 0 and at most 1");
  s.max_num_seqs = 0;
  EXPECT_EQ(Refused(s), "--max-num-seqs 0: expected a number from 1 to 2,147,483,648");
}

}  // namespace
}  // namespace shardplan::vllm
