#include "engine/vllm/compilation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using ::testing::ElementsAre;

TEST(VllmCompilationConfig, ReadsWhatChangesMemory) {
  EngineSettings s;
  ASSERT_TRUE(vllm::ReadCompilationConfig(
      R"({"mode":"NONE","cudagraph_mode":"piecewise","cudagraph_capture_sizes":[1,2,8],
          "max_cudagraph_capture_size":8,"pass_config":{"enable_sp":true},"backend":"inductor"})",
      &s));
  EXPECT_EQ(s.compilation_mode, 0);
  EXPECT_EQ(s.cudagraph_mode, "PIECEWISE");
  EXPECT_THAT(*s.cudagraph_capture_sizes, ElementsAre(1, 2, 8));
  EXPECT_EQ(s.max_cudagraph_capture_size, 8);
  EXPECT_TRUE(s.sequence_parallel_pass);
  EXPECT_THAT(s.compilation_keys_ignored, ElementsAre("backend"));
  EXPECT_EQ(vllm::CompilationConfigOf(s),
            R"({"mode":0,"cudagraph_mode":"PIECEWISE","pass_config":{"enable_sp":true}})");
  EXPECT_EQ(vllm::CompilationConfigOf(EngineSettings()), std::nullopt);
}

TEST(VllmCompilationConfig, RefusesWhatIsNone) {
  const std::pair<const char*, const char*> cases[] = {
      {"3", "--compilation-config: expected a JSON object, found number"},
      {"{", "--compilation-config: expected JSON, could not parse"},
      {R"({"mode":4})",
       "--compilation-config: mode: expected 0 to 3, NONE, STOCK_TORCH_COMPILE, "
       "DYNAMO_TRACE_ONCE or VLLM_COMPILE"},
      {R"({"cudagraph_mode":3})",
       "cudagraph_mode 3: expected NONE, PIECEWISE, FULL, FULL_DECODE_ONLY or "
       "FULL_AND_PIECEWISE"},
      {R"({"cudagraph_capture_sizes":[0]})",
       "--compilation-config: cudagraph_capture_sizes: expected a list of integers from 1 to "
       "2147483648, found 0"},
      {R"({"max_cudagraph_capture_size":0})",
       "--compilation-config: max_cudagraph_capture_size: expected an integer from 1 to "
       "2,147,483,648, found 0"},
      {R"({"pass_config":3})", "--compilation-config: pass_config: expected an object, found 3"},
  };
  for (const auto& [json, want] : cases) {
    EngineSettings s;
    const Status status = vllm::ReadCompilationConfig(json, &s);
    ASSERT_FALSE(status.has_value()) << json;
    EXPECT_EQ(status.error().ToString(), want);
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace shardplan
