#include "engine/vllm/kv_transfer.h"

#include <gtest/gtest.h>

#include "support/vllm_context.h"

namespace shardplan::vllm {
namespace {

using testing_support::VllmContext;

std::string TransferError(const std::string& text) {
  const Result<KvTransfer> read = ParseKvTransfer(text);
  if (read) return "read";
  EXPECT_EQ(read.error().code, ErrorCode::kUsage) << text;
  return read.error().ToString();
}

TEST(KvTransfer, ReadsTheConnectorAndItsBuffer) {
  const auto t = ParseKvTransfer(
      R"({"kv_connector": "P2pNcclConnector", "kv_role": "kv_consumer", "kv_buffer_size": 8e9})");
  ASSERT_TRUE(t.has_value()) << t.error().ToString();
  EXPECT_EQ(t->connector, "P2pNcclConnector");
  EXPECT_EQ(t->buffer, Bytes(8'000'000'000));
  EXPECT_TRUE(t->on_card);
  EXPECT_EQ(TransferError("{}"),
            "--kv-transfer-config: kv_connector: expected a connector, found none; "
            "{\"kv_connector\": \"NixlConnector\", \"kv_role\": \"kv_both\"}");
  for (const char* text : {"", "NixlConnector", R"({"kv_connector": 3})",
                           R"({"kv_connector": "x", "kv_buffer_size": -1})",
                           R"({"kv_connector": "x", "kv_buffer_size": 1e300})"}) {
    EXPECT_NE(TransferError(text), "read") << text;
  }
}

TEST(KvTransfer, OnlyP2pNcclHoldsBlocksOnTheCard) {
  VllmContext c("deepseek-v3", "0.20.0");
  EXPECT_EQ(KvTransferBuffer(c.context).high, Bytes());
  EXPECT_TRUE(NoteKvTransfer(c.context).empty());
  const auto high = [&](const std::string& text) {
    c.context.settings.kv_transfer = *ParseKvTransfer(text);
    return KvTransferBuffer(c.context).high;
  };
  EXPECT_EQ(high(R"({"kv_connector": "P2pNcclConnector"})"), Bytes(1'000'000'000));
  EXPECT_EQ(NoteKvTransfer(c.context)[0].id, "kv_transfer.buffer");
  EXPECT_EQ(high(R"({"kv_connector": "P2pNcclConnector", "kv_buffer_device": "cpu"})"), Bytes());
  EXPECT_EQ(high(R"({"kv_connector": "NixlConnector"})"), Bytes());
  EXPECT_EQ(NoteKvTransfer(c.context)[0].id, "kv_transfer.uncounted");
}

// vLLM dropped it in June 2026; a module of one's own may still bring it.
TEST(KvTransfer, P2pNcclIsGoneFromV24) {
  const auto note = [](const char* version, const char* text) {
    VllmContext c("deepseek-v3", version);
    c.context.settings.kv_transfer = *ParseKvTransfer(text);
    return NoteKvTransfer(c.context)[0];
  };
  constexpr const char* kOwn = R"({"kv_connector": "P2pNcclConnector"})";
  EXPECT_EQ(note("0.23.0", kOwn).id, "kv_transfer.buffer");
  const Finding gone = note("0.24.0", kOwn);
  EXPECT_EQ(gone.id, "kv_transfer.connector");
  EXPECT_EQ(gone.severity, Severity::kError);
  EXPECT_EQ(gone.message,
            "P2pNcclConnector was removed in June 2026 (#44854): vLLM has no connector of that "
            "name from 0.24 on");
  EXPECT_EQ(note("0.31.0", R"({"kv_connector": "P2pNcclConnector",
                               "kv_connector_module_path": "mine"})")
                .id,
            "kv_transfer.buffer");
}

}  // namespace
}  // namespace shardplan::vllm
