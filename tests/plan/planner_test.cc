#include "plan/planner.h"

#include <gtest/gtest.h>

#include "support/sglang_world.h"

namespace shardplan {
namespace {

using testing_support::Cards;
using testing_support::ExampleFromConfig;
using testing_support::OnSglang;
using testing_support::Store;

TEST(Planner, OneForEachEngine) {
  const Model& model = ExampleFromConfig("dense-70b");
  for (const char* engine : {"vllm", "sglang"}) {
    Deployment d = OnSglang("h100-80-sxm", 4);
    d.engine = engine;
    const auto planner = MakePlanner(model, Cards(), Store(), d);
    ASSERT_TRUE(planner.has_value()) << engine;
    const auto brief = (*planner)->Assemble(d, true);
    const auto whole = (*planner)->Assemble(d, false);
    ASSERT_TRUE(brief && whole);
    EXPECT_EQ(brief->engine, engine);
    EXPECT_EQ(brief->verdict, whole->verdict);
    EXPECT_TRUE(brief->launch.empty());
    EXPECT_EQ(whole->launch.size(), 1u);
  }
}

TEST(Planner, RefusesWhatIsNotModelled) {
  Deployment d = OnSglang("h100-80-sxm", 4);
  d.engine = "tgi";
  const auto planner = MakePlanner(ExampleFromConfig("dense-70b"), Cards(), Store(), d);
  ASSERT_FALSE(planner.has_value());
  EXPECT_EQ(planner.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(planner.error().ToString(),
            "--engine tgi: only vllm and sglang are modelled; --engine vllm or sglang, or either "
            "@VERSION");
}

}  // namespace
}  // namespace shardplan
