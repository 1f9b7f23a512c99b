#include "engine/vllm/resolve_graphs.h"

#include <gtest/gtest.h>

#include "engine/vllm/outside_torch.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;
using vllm::GraphMode;

std::string GraphsError(VllmContext* c) {
  const auto resolved = vllm::ResolveSettings(c->context, &c->defaults, &c->findings);
  return resolved ? "resolved" : resolved.error().ToString();
}

TEST(VllmResolveGraphs, LevelsAndModes) {
  struct Case {
    std::optional<int64_t> level, mode;
    std::optional<std::string> graphs;
    bool eager;
    GraphMode want;
    bool compiled;
  };
  const Case cases[] = {
      {{}, {}, {}, false, GraphMode::kFullAndPiecewise, true},
      {0, {}, {}, false, GraphMode::kNone, false},
      {1, {}, {}, false, GraphMode::kPiecewise, true},
      {3, {}, {}, false, GraphMode::kFullAndPiecewise, true},
      {{}, 0, {}, false, GraphMode::kNone, false},
      {{}, 0, "FULL", false, GraphMode::kFull, false},
      {{}, 0, "FULL_DECODE_ONLY", false, GraphMode::kFullDecodeOnly, false},
      {{}, {}, "PIECEWISE", false, GraphMode::kPiecewise, true},
      {{}, {}, "FULL", true, GraphMode::kNone, false},
  };
  for (const Case& k : cases) {
    VllmContext c("dense-70b");
    c.context.settings.optimization_level = k.level;
    c.context.settings.compilation_mode = k.mode;
    c.context.settings.cudagraph_mode = k.graphs;
    c.context.settings.enforce_eager = k.eager;
    c.Resolve();
    EXPECT_EQ(c.context.resolved.graph_mode, k.want);
    EXPECT_EQ(c.context.resolved.compiled, k.compiled);
    EXPECT_EQ(c.context.resolved.capture_sizes.empty(), k.want == GraphMode::kNone);
  }
}

// Kimi-K3's graphs break by themselves: off with compilation, and still in pieces.
TEST(VllmResolveGraphs, BreakableGraphsNeedNoCompiler) {
  VllmContext c("kimi-k3");
  c.Resolve();
  EXPECT_FALSE(c.context.resolved.compiled);
  EXPECT_EQ(c.context.resolved.graph_mode, GraphMode::kFullAndPiecewise);
}

TEST(VllmResolveGraphs, ChunkedAttentionIsNeverWhole) {
  VllmContext c("llama-4-maverick");
  c.Resolve();
  EXPECT_EQ(c.context.resolved.graph_mode, GraphMode::kPiecewise);
  EXPECT_EQ(c.context.resolved.graphs.full, 0);
  ASSERT_FALSE(c.findings.empty());
  EXPECT_EQ(c.findings.back().id, "graphs.mode");
  EXPECT_EQ(c.findings.back().severity, Severity::kNote);
  VllmContext full("llama-4-maverick");
  full.context.settings.cudagraph_mode = "FULL";
  full.Resolve();
  EXPECT_TRUE(HasError(full.findings));
}

TEST(VllmResolveGraphs, TheReserveFollowsTheGraphs) {
  const auto reserve = [](const char* mode) {
    VllmContext c("dense-70b");
    c.context.settings.cudagraph_mode = mode;
    c.Resolve();
    return vllm::ComputeGraphReserve(c.context, 0);
  };
  EXPECT_EQ(reserve("NONE").reserved.high, Bytes());
  EXPECT_EQ(reserve("PIECEWISE").full, 0);
  EXPECT_EQ(reserve("FULL_DECODE_ONLY").piecewise, 0);
  EXPECT_LT(reserve("PIECEWISE").reserved.central, reserve("FULL_AND_PIECEWISE").reserved.central);
}

TEST(VllmResolveGraphs, DraftsRoundTheFirstRunnersSizes) {
  VllmContext c("dense-70b", "0.28.0");
  c.Resolve();
  vllm::Resolved r = c.context.resolved;
  r.draft_tokens = 1;
  r.v2_runner = false;
  r.max_num_seqs = 4;
  ASSERT_TRUE(vllm::ResolveGraphs(c.context, &r, &c.findings));
  EXPECT_EQ(r.capture_sizes, (std::vector<int64_t>{2, 4, 8, 16}));
  r.v2_runner = true;
  ASSERT_TRUE(vllm::ResolveGraphs(c.context, &r, &c.findings));
  EXPECT_EQ(r.capture_sizes, (std::vector<int64_t>{1, 2, 4, 8, 16}));
}

TEST(VllmResolveGraphs, RefusesWhatTheEngineWould) {
  struct Case {
    void (*set)(EngineSettings*);
    const char* want;
  };
  const Case cases[] = {
      {[](EngineSettings* s) { s->optimization_level = 4; },
       "--optimization-level 4: expected 0, 1, 2 or 3"},
      {[](EngineSettings* s) { s->max_cudagraph_capture_size = 0; },
       "--max-cudagraph-capture-size 0: expected a number from 1 to 2,147,483,648"},
      {[](EngineSettings* s) { s->cudagraph_capture_sizes.emplace(); },
       "--cudagraph-capture-sizes: expected at least one size"},
      {[](EngineSettings* s) {
         s->cudagraph_capture_sizes = {{4, -1}};
       },
       "--cudagraph-capture-sizes -1: expected numbers from 1 to 2,147,483,648"},
      {[](EngineSettings* s) { s->performance_mode = "x"; },
       "--performance-mode x: expected balanced, interactivity or throughput"},
  };
  for (const Case& k : cases) {
    VllmContext c("dense-70b");
    k.set(&c.context.settings);
    EXPECT_EQ(GraphsError(&c), k.want);
  }
}

// A pasted command that gives the sizes as a flag and in the object is refused by vLLM.
TEST(VllmResolveGraphs, SizesGivenTwice) {
  VllmContext c("dense-70b");
  c.context.settings.command_flags = {
      {"--cudagraph-capture-sizes", "1 2", true},
      {"--compilation-config", R"({"cudagraph_capture_sizes": [4]})", true}};
  EXPECT_EQ(GraphsError(&c), "resolved");
  ASSERT_FALSE(c.findings.empty());
  EXPECT_EQ(c.findings.front().id, "graphs.sizes");
  EXPECT_EQ(c.findings.front().severity, Severity::kError);
  EXPECT_EQ(c.findings.front().message,
            "cudagraph_capture_sizes and compilation_config.cudagraph_capture_sizes are mutually "
            "exclusive");
  VllmContext other("dense-70b");
  other.context.settings.command_flags = {
      {"--max-cudagraph-capture-size", "8", true},
      {"--compilation-config", R"({"cudagraph_capture_sizes": [4]})", true}};
  EXPECT_EQ(GraphsError(&other), "resolved");
  for (const Finding& finding : other.findings) EXPECT_NE(finding.id, "graphs.sizes");
}

TEST(VllmResolveGraphs, SaysWhatItLeavesAside) {
  VllmContext c("dense-70b");
  c.context.settings.compilation_keys_ignored = {"backend", "splitting_ops"};
  c.context.settings.max_cudagraph_capture_size = 100;
  c.Resolve();
  ASSERT_EQ(c.findings.size(), 2u);
  EXPECT_EQ(c.findings[0].message, "taken as having no effect on memory: backend, splitting_ops");
  EXPECT_EQ(c.findings[1].message, "vLLM would say: Truncating max_cudagraph_capture_size to 96");
}

TEST(VllmResolveGraphs, AlignedStatesNeedChunkedPrefill) {
  VllmContext c("kimi-k3");
  c.context.settings.max_model_len = 4096;
  c.context.settings.enable_chunked_prefill = false;
  c.Resolve();
  ASSERT_TRUE(HasError(c.findings));
  EXPECT_EQ(c.findings[0].message, "Chunked prefill is required for mamba cache mode 'align'.");
  VllmContext none("kimi-k3");
  none.context.settings.max_model_len = 4096;
  none.context.settings.enable_chunked_prefill = false;
  none.context.settings.enable_prefix_caching = false;
  none.Resolve();
  EXPECT_FALSE(HasError(none.findings));
}

}  // namespace
}  // namespace shardplan
