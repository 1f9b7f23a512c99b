#include "engine/vllm/batch_defaults.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/table.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::NumberOr;
using testing_support::ReadTable;
using testing_support::TableRow;
using testing_support::TextOr;
using testing_support::VllmContext;

vllm::UsageContext UsageOf(const TableRow& row) {
  return row[2] == "LLM_CLASS" ? vllm::UsageContext::kLlmClass : vllm::UsageContext::kApiServer;
}

vllm::BatchFlags BatchFlagsOf(const TableRow& row) {
  vllm::BatchFlags flags;
  flags.max_model_len = std::stoll(row[3]);
  flags.mode = *vllm::ParsePerformanceMode(TextOr(row[4]));
  flags.chunked_prefill = row[5] != "False";
  flags.max_num_seqs = NumberOr(row[6]);
  flags.max_num_batched_tokens = NumberOr(row[7]);
  return flags;
}

// Every row of vLLM's own functions (d29f7f5c): 7 cards of the table with both usages, 679
// configurations.
TEST(VllmBatchDefaults, EqualVllms) {
  const VllmContext c("dense-70b", "0.28.0");
  int tables = 0;
  int checked = 0;
  int refused = 0;
  for (const TableRow& row : ReadTable("vllm/batch_defaults.tsv")) {
    SCOPED_TRACE(::testing::PrintToString(row));
    ASSERT_EQ(row.size(), 13u);
    const vllm::BatchLimits card =
        vllm::DefaultsForCard(Bytes(std::stoll(row[1])), row[0], *c.context.profile, UsageOf(row));
    if (row[3] == "table") {
      EXPECT_EQ(card, (vllm::BatchLimits{std::stoll(row[8]), std::stoll(row[9])}));
      ++tables;
      continue;
    }
    const vllm::BatchFlags flags = BatchFlagsOf(row);
    const vllm::BatchLimits limits = vllm::LimitBatch(card, flags);
    const std::optional<std::string> refusal = vllm::BatchRefusal(limits, flags);
    if (const auto error = TextOr(row[12])) {
      EXPECT_TRUE(refusal && refusal->starts_with(*error)) << refusal.value_or("accepted");
      ++refused;
      continue;
    }
    EXPECT_EQ(refusal, std::nullopt);
    EXPECT_EQ(limits, (vllm::BatchLimits{std::stoll(row[8]), std::stoll(row[9])}));
    EXPECT_EQ(flags.chunked_prefill, row[10] == "True");
    ++checked;
  }
  EXPECT_EQ(tables, 14);
  EXPECT_EQ(checked, 656);
  EXPECT_EQ(refused, 23);
}

// The same through the settings, for the API server: the limits, the largest graph, the refusal.
TEST(VllmBatchDefaults, SettingsResolveToThem) {
  const ModelSpec model = testing_support::ExampleModel("llama-3.1-8b");
  int checked = 0;
  for (const TableRow& row : ReadTable("vllm/batch_defaults.tsv")) {
    if (row[3] == "table" || row[2] == "LLM_CLASS") continue;
    SCOPED_TRACE(::testing::PrintToString(row));
    VllmContext c(model, "0.28.0");
    c.gpu().name = row[0];
    c.gpu().device_total.bytes = Range(Bytes(std::stoll(row[1])));
    EngineSettings& s = c.context.settings;
    s.max_model_len = std::stoll(row[3]);
    s.performance_mode = TextOr(row[4]);
    if (row[5] != "-") s.enable_chunked_prefill = row[5] == "True";
    s.max_num_seqs = NumberOr(row[6]);
    s.max_num_batched_tokens = NumberOr(row[7]);
    c.Resolve();
    ++checked;
    const bool refused = row[12] != "-";
    EXPECT_EQ(HasError(c.findings), refused);
    if (refused) {
      EXPECT_EQ(c.findings.back().id, "engine.batched_tokens");
      continue;
    }
    EXPECT_EQ(c.context.resolved.max_num_batched_tokens, std::stoll(row[8]));
    EXPECT_EQ(c.context.resolved.max_num_seqs, std::stoll(row[9]));
    EXPECT_EQ(c.context.resolved.capture_sizes.back(), std::stoll(row[11]));
  }
  EXPECT_EQ(checked, 339);
}

TEST(VllmBatchDefaults, OnlyTheNameTellsAnA100) {
  const VllmContext c("dense-70b");
  const Bytes total(80 * kGiB);
  EXPECT_EQ(vllm::DefaultsForCard(total, "NVIDIA a100-SXM4-80GB", *c.context.profile).max_num_seqs,
            256);
  EXPECT_EQ(vllm::DefaultsForCard(total, "NVIDIA H100", *c.context.profile).max_num_seqs, 1024);
}

TEST(VllmBatchDefaults, RefusesOtherModes) {
  const auto mode = vllm::ParsePerformanceMode("fast");
  ASSERT_FALSE(mode.has_value());
  EXPECT_EQ(mode.error().ToString(),
            "--performance-mode fast: expected balanced, interactivity or throughput");
}

}  // namespace
}  // namespace shardplan
