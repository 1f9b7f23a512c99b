#include "engine/vllm/capture_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "support/table.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::NumberOr;
using testing_support::NumbersIn;
using testing_support::ReadTable;
using testing_support::TableRow;
using testing_support::VllmContext;
using vllm::GraphMode;
using vllm::GraphSupport;

vllm::CaptureRequest RequestOf(const TableRow& row) {
  vllm::CaptureRequest q;
  q.max_num_seqs = std::stoll(row[2]);
  q.max_num_batched_tokens = std::stoll(row[3]);
  q.draft_tokens = std::stoll(row[4]);
  q.ceiling = row[1] == "100" ? 1024 : 512;
  q.dense = row[5] == "interactivity";
  q.model_wants_1024 = row[0] == "gpt-oss";
  q.max_size = NumberOr(row[6]);
  if (row[7] != "-") q.sizes = NumbersIn(row[7]);
  return q;
}

// Every row of vLLM's own functions (d29f7f5c): sizes, warnings and refusals word for word, and
// what the first runner makes of the sizes for drafts.
TEST(VllmCaptureSizes, EqualVllms) {
  int checked = 0;
  int drafts = 0;
  int refused = 0;
  for (const TableRow& row : ReadTable("vllm/cudagraph_sizes.tsv")) {
    SCOPED_TRACE(::testing::PrintToString(row));
    ASSERT_EQ(row.size(), 15u);
    const vllm::CaptureRequest q = RequestOf(row);
    if (q.max_num_batched_tokens < q.max_num_seqs) {  // refused before graphs are thought of
      EXPECT_TRUE(row[14].starts_with("max_num_batched_tokens (4) must be"));
      ++refused;
      continue;
    }
    const vllm::CaptureSizes list = vllm::ChooseCaptureSizes(q);
    if (row[10] == "-") {
      EXPECT_EQ(list.refusal, row[14]);
      ++refused;
      continue;
    }
    if (row[10] == "NONE") {
      EXPECT_TRUE(row[8] == "1" || row[9] == "NONE");
      ++checked;
      continue;
    }
    EXPECT_EQ(list.refusal, "");
    EXPECT_EQ(list.sizes, NumbersIn(row[12]));
    EXPECT_EQ(list.warnings.empty() ? "-" : fmt::format("{}", fmt::join(list.warnings, "; ")),
              row[14]);
    if (row[13] != "-") {
      EXPECT_EQ(vllm::RoundForDrafts(list, q.draft_tokens, 1).sizes, NumbersIn(row[13]));
      ++drafts;
    }
    ++checked;
  }
  EXPECT_EQ(checked, 1185);
  EXPECT_EQ(drafts, 395);
  EXPECT_EQ(refused, 3);
}

// The same through the settings, card and model, for the rows without drafts.
TEST(VllmCaptureSizes, SettingsResolveToThem) {
  const ModelSpec llama = testing_support::ExampleModel("llama-3.1-8b");
  const ModelSpec gpt_oss = testing_support::ExampleModel("openai__gpt-oss-20b");
  int checked = 0;
  for (const TableRow& row : ReadTable("vllm/cudagraph_sizes.tsv")) {
    if (row[4] != "0") continue;
    SCOPED_TRACE(::testing::PrintToString(row));
    VllmContext c(row[0] == "gpt-oss" ? gpt_oss : llama, "0.28.0");
    c.gpu().capability = static_cast<int>(std::stol(row[1]));
    EngineSettings& s = c.context.settings;
    s.max_num_seqs = std::stoll(row[2]);
    s.max_num_batched_tokens = std::stoll(row[3]);
    s.performance_mode = testing_support::TextOr(row[5]);
    s.max_cudagraph_capture_size = NumberOr(row[6]);
    if (row[7] != "-") s.cudagraph_capture_sizes = NumbersIn(row[7]);
    s.enforce_eager = row[8] == "1";
    s.cudagraph_mode = testing_support::TextOr(row[9]);
    c.Resolve();
    ++checked;
    const vllm::Resolved& r = c.context.resolved;
    EXPECT_EQ(HasError(c.findings), row[10] == "-");
    if (row[10] == "-") continue;
    // FlashAttention before Hopper, and FlashInfer, cannot capture mixed batches whole: the runner
    // changes the mode, the list stays.
    const bool whole = c.gpu().capability == 90;
    EXPECT_EQ(vllm::ToString(r.graph_mode),
              row[10] == "FULL" && !whole ? "FULL_AND_PIECEWISE" : row[10]);
    EXPECT_EQ(r.v2_runner, row[11] == "1");
    EXPECT_EQ(r.capture_sizes, row[12] == "0" ? std::vector<int64_t>() : NumbersIn(row[12]));
  }
  EXPECT_EQ(checked, 793);
}

TEST(VllmCaptureSizes, KeepOnlyWhatRanksShare) {
  vllm::CaptureRequest q;
  q.max_num_seqs = 16;
  q.max_num_batched_tokens = 8192;
  q.sequence_parallel = 8;
  EXPECT_EQ(vllm::ChooseCaptureSizes(q).sizes, (std::vector<int64_t>{8, 16, 24, 32}));
}

TEST(VllmCaptureSizes, DraftsThatFitNoSizeAreRefused) {
  vllm::CaptureSizes list;
  list.sizes = {1, 2, 4};
  EXPECT_EQ(vllm::RoundForDrafts(list, 4, 1).refusal,
            "No valid cudagraph sizes after rounding to multiple of 5 (num_speculative_tokens + 1 "
            "or tp if sequence parallelism is enabled) please adjust num_speculative_tokens (4) or "
            "max_cudagraph_capture_size (4) or cudagraph_capture_sizes ([1, 2, 4])");
  EXPECT_NE(vllm::RoundForDrafts(list, 2, 4).refusal, "");
  EXPECT_EQ(vllm::RoundForDrafts(list, 1, 4).sizes, (std::vector<int64_t>{4}));
}

// A public trace of the second runner: four sequences, two guesses, sizes up to 24. Of 3, 6, 9, 18
// and 24 the last two are longer than any batch of decodes; with decodes by request there is a 12.
TEST(VllmCaptureSizes, DecodesOfEveryNumberOfRequests) {
  vllm::CaptureRequest q;
  q.max_num_seqs = 4;
  q.max_num_batched_tokens = 8192;
  q.draft_tokens = 2;
  const auto full = [&](const std::vector<int64_t>& sizes) {
    return vllm::CountGraphs(GraphMode::kFullDecodeOnly, sizes, 4, 2).full;
  };
  const vllm::CaptureSizes before = vllm::ChooseCaptureSizes(q);
  EXPECT_EQ(before.sizes, (std::vector<int64_t>{1, 2, 4, 8, 16, 24}));
  EXPECT_EQ(full(before.sizes), 3);
  q.decodes_by_request = true;
  const vllm::CaptureSizes after = vllm::ChooseCaptureSizes(q);
  EXPECT_EQ(after.sizes, (std::vector<int64_t>{1, 2, 3, 4, 6, 8, 12, 16, 24}));
  EXPECT_EQ(full(after.sizes), 4);
  q.max_size = 24;  // an explicit maximum keeps the list of tokens
  EXPECT_EQ(vllm::ChooseCaptureSizes(q).sizes, before.sizes);
}

// The largest sizes that nightly builds printed with #50488: 256 sequences and 24 guesses make
// 6,400; no more than 512 requests are captured, and no more tokens than a batch has.
TEST(VllmCaptureSizes, TheWidestBatchOfDecodes) {
  const auto widest = [](int64_t seqs, int64_t drafts, int64_t batched) {
    vllm::CaptureRequest q;
    q.max_num_seqs = seqs;
    q.max_num_batched_tokens = batched;
    q.draft_tokens = drafts;
    q.decodes_by_request = true;
    return vllm::ChooseCaptureSizes(q).max();
  };
  EXPECT_EQ(widest(256, 24, 8192), 6400);
  EXPECT_EQ(widest(128, 16, 8192), 2176);
  EXPECT_EQ(widest(1024, 1, 8192), 1024);
  EXPECT_EQ(widest(256, 24, 4096), 4000);
}

TEST(VllmGraphMode, NamesInAnyCase) {
  for (const GraphMode mode : {GraphMode::kNone, GraphMode::kPiecewise, GraphMode::kFull,
                               GraphMode::kFullDecodeOnly, GraphMode::kFullAndPiecewise}) {
    EXPECT_EQ(*vllm::ParseGraphMode(std::string(vllm::ToString(mode))), mode);
  }
  EXPECT_EQ(*vllm::ParseGraphMode("full_decode_only"), GraphMode::kFullDecodeOnly);
  EXPECT_EQ(vllm::ParseGraphMode("some").error().ToString(),
            "cudagraph_mode some: expected NONE, PIECEWISE, FULL, FULL_DECODE_ONLY or "
            "FULL_AND_PIECEWISE");
}

TEST(VllmGraphMode, WhatTheBackendLeaves) {
  struct Case {
    GraphMode asked;
    GraphSupport support;
    bool compiled, breakable;
    int64_t drafts;
    GraphMode want;
  };
  const Case cases[] = {
      {GraphMode::kFullAndPiecewise, GraphSupport::kUniformBatch, true, false, 0,
       GraphMode::kFullAndPiecewise},
      {GraphMode::kFull, GraphSupport::kUniformBatch, true, false, 0, GraphMode::kFullAndPiecewise},
      {GraphMode::kFull, GraphSupport::kUniformBatch, false, true, 0, GraphMode::kFullDecodeOnly},
      {GraphMode::kFull, GraphSupport::kAlways, true, false, 0, GraphMode::kFull},
      {GraphMode::kFullAndPiecewise, GraphSupport::kNever, true, false, 0, GraphMode::kPiecewise},
      {GraphMode::kFullAndPiecewise, GraphSupport::kNever, false, true, 0, GraphMode::kNone},
      {GraphMode::kFullAndPiecewise, GraphSupport::kAlways, false, false, 0, GraphMode::kNone},
      {GraphMode::kFullAndPiecewise, GraphSupport::kAlways, false, true, 0,
       GraphMode::kFullAndPiecewise},
      {GraphMode::kFullDecodeOnly, GraphSupport::kAlways, false, false, 0,
       GraphMode::kFullDecodeOnly},
      {GraphMode::kFullAndPiecewise, GraphSupport::kSingleToken, true, false, 1,
       GraphMode::kPiecewise},
      {GraphMode::kFullAndPiecewise, GraphSupport::kSingleToken, true, false, 0,
       GraphMode::kFullAndPiecewise},
      {GraphMode::kNone, GraphSupport::kNever, true, false, 3, GraphMode::kNone},
  };
  for (const Case& k : cases) {
    const vllm::ResolvedGraphMode got = vllm::ResolveGraphMode(
        {k.asked, k.support, "FLASH_ATTN", k.compiled, k.breakable, k.drafts});
    EXPECT_EQ(got.mode, k.want) << vllm::ToString(k.asked) << " " << vllm::ToString(got.mode);
    EXPECT_EQ(got.warning.empty(), k.asked == k.want) << got.warning;
    EXPECT_EQ(got.refusal, "");
  }
  EXPECT_EQ(vllm::ResolveGraphMode({GraphMode::kFull, GraphSupport::kNever, "X"}).refusal,
            "CUDAGraphMode.FULL is not supported with X backend (support: "
            "AttentionCGSupport.NEVER); please try cudagraph_mode=PIECEWISE, and make sure "
            "compilation mode is VLLM_COMPILE");
}

TEST(VllmGraphMode, CountsByMode) {
  const std::vector<int64_t> sizes = {1, 2, 4, 8, 16};
  const auto counts = [&](GraphMode mode, int64_t drafts) {
    const vllm::GraphCounts n = vllm::CountGraphs(mode, sizes, 4, drafts);
    return std::pair(n.piecewise, n.full);
  };
  EXPECT_EQ(counts(GraphMode::kNone, 0), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(counts(GraphMode::kPiecewise, 0), std::pair(int64_t{5}, int64_t{0}));
  EXPECT_EQ(counts(GraphMode::kFull, 0), std::pair(int64_t{0}, int64_t{5}));
  EXPECT_EQ(counts(GraphMode::kFullDecodeOnly, 0), std::pair(int64_t{0}, int64_t{3}));
  EXPECT_EQ(counts(GraphMode::kFullAndPiecewise, 0), std::pair(int64_t{5}, int64_t{3}));
  EXPECT_EQ(counts(GraphMode::kFullAndPiecewise, 1), std::pair(int64_t{5}, int64_t{3}));  // 2, 4, 8
}

}  // namespace
}  // namespace shardplan
