#include "engine/vllm/kv_transfer.h"

#include <fmt/format.h>

#include <utility>

#include "model/config_reader.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

constexpr const char* kOption = "--kv-transfer-config";
constexpr const char* kP2pNccl = "P2pNcclConnector";
constexpr double kDefaultBuffer = 1e9;

tl::unexpected<Error> AsUsage(Error error) {
  error.code = ErrorCode::kUsage;
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<KvTransfer> ParseKvTransfer(const std::string& text) {
  const Result<nlohmann::json> json = ParseConfigObject(text, kOption);
  if (!json) return AsUsage(json.error());
  ConfigReader reader(*json, kOption);
  KvTransfer out;
  out.text = text;
  out.connector = reader.StringOr("kv_connector", "");
  out.on_card = reader.StringOr("kv_buffer_device", "cuda") == "cuda";
  out.buffer =
      Bytes(static_cast<int64_t>(reader.NumberOr("kv_buffer_size", 0, 1e13, kDefaultBuffer)));
  if (!reader.ok()) return AsUsage(reader.error());
  if (out.connector.empty()) {
    return Fail(ErrorCode::kUsage, kOption, "kv_connector: expected a connector, found none",
                R"({"kv_connector": "NixlConnector", "kv_role": "kv_both"})");
  }
  return out;
}

// Source: vllm/distributed/kv_transfer/kv_connector/v1/p2p/p2p_nccl_engine.py (v0.9.2 to v0.23).
Range KvTransferBuffer(const Context& c) {
  const std::optional<KvTransfer>& t = c.settings.kv_transfer;
  if (!t || t->connector != kP2pNccl || !t->on_card) return {};
  return Range(Bytes(), t->buffer, t->buffer);
}

std::vector<Finding> NoteKvTransfer(const Context& c) {
  const std::optional<KvTransfer>& t = c.settings.kv_transfer;
  if (!t) return {};
  const bool own_module = t->text.find("kv_connector_module_path") != std::string::npos;
  if (t->connector == kP2pNccl && !c.profile->p2p_nccl_connector && !own_module) {
    return {{"kv_transfer.connector", Severity::kError, kOption,
             "P2pNcclConnector was removed in June 2026 (#44854): vLLM has no connector of that "
             "name from 0.24 on",
             "NixlConnector, or a version before"}};
  }
  if (KvTransferBuffer(c).high > Bytes()) {
    return {{"kv_transfer.buffer", Severity::kNote, kOption,
             fmt::format("blocks that {} received stay on the card up to kv_buffer_size, {}: "
                         "counted as workspace outside the budget",
                         Printable(t->connector), FormatGiB(t->buffer, 3)),
             ""}};
  }
  return {{"kv_transfer.uncounted", Severity::kWarning, kOption,
           fmt::format("what {} stages on the card or pins in host memory is not counted",
                       Printable(t->connector)),
           "leave headroom, and host memory for it"}};
}

}  // namespace shardplan::vllm
