// --kv-transfer-config: what a KV connector keeps on the card beside the cache.
#ifndef SHARDPLAN_ENGINE_VLLM_KV_TRANSFER_H_
#define SHARDPLAN_ENGINE_VLLM_KV_TRANSFER_H_

#include <string>
#include <vector>

#include "engine/vllm/context.h"
#include "shardplan/base/basis.h"
#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan::vllm {

// Reads `{"kv_connector": "NixlConnector", "kv_role": "kv_both"}`. Fails with kUsage for text that
// is no JSON object, without a connector, or with a value of another type.
// Source: vllm/config/kv_transfer.py (main of August 2026).
Result<KvTransfer> ParseKvTransfer(const std::string& text);

// What the connector may come to hold on the card while it serves: P2pNcclConnector keeps blocks it
// received up to kv_buffer_size (p2p_nccl_engine.py: buffer_size_threshold). Never profiled, so
// outside the budget; nothing for other connectors.
Range KvTransferBuffer(const Context& context);

// A note of what is counted, a warning for connectors whose buffers are not.
std::vector<Finding> NoteKvTransfer(const Context& context);

}  // namespace shardplan::vllm

#endif  // SHARDPLAN_ENGINE_VLLM_KV_TRANSFER_H_
