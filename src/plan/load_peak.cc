#include "plan/load_peak.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Shards of 5 GB are what Hugging Face writes where nobody says otherwise.
constexpr int64_t kUsualShard = 5'000'000'000;

// Every rank reads files in turn and hands their tensors on, so any of them meets the largest one.
// The next file may be read while the tensors of the last one are still in use.
LoadTransient Staging(const Model& model) {
  LoadTransient t;
  Bytes largest;
  for (const ShardInfo& shard : model.inventory.shards) {
    largest = std::max(largest, shard.file_bytes);
  }
  t.help = "--load-format safetensors reads through host memory; smaller shard files help as well";
  if (largest > Bytes()) {
    t.bytes = Range(largest, largest, largest * 2);
    t.reason = fmt::format("fastsafetensors stages a whole shard file of {} on the card",
                           FormatGiB(largest, 2));
    return t;
  }
  const Bytes usual = std::min(Bytes(kUsualShard), model.totals.payload);
  t.bytes = Range(Bytes(), usual, usual * 2);
  t.reason = fmt::format(
      "fastsafetensors stages a whole shard file on the card, of {} where the "
      "files are as usual",
      FormatGiB(usual, 2));
  return t;
}

// Kernels that want weights in an order of their own take a second copy of one parameter at a time.
// Sources: fused_moe/oracle and quantization/utils/marlin_utils*.py (d29f7f5c).
LoadTransient Repacking(const vllm::Context& c, const DeviceWeights& weights,
                        const StageRange& stage) {
  Bytes largest;
  std::string name;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
    for (const DeviceParam& param : weights.layer(layer).params) {
      const bool packed = BitsOf(param.dtype) <= 8 || param.dtype == DType::kI32;
      const bool repacked = param.role == Role::kRoutedExpert || packed;
      if (!repacked || param.bytes <= largest) continue;
      largest = param.bytes;
      name = param.name;
    }
  }
  LoadTransient t;
  if (largest == Bytes()) return t;
  // Plain experts are only swapped for FlashInfer's kernels; lists of repacked experts are stacked.
  const bool plain = c.arch->quantization.empty();
  const bool swaps = c.resolved.moe_backend.starts_with("flashinfer");
  t.bytes =
      plain && !swaps ? Range(Bytes(), Bytes(), largest) : Range(largest, largest, largest * 2);
  t.reason = c.Say("{} of {} is copied into its kernel's layout", name, FormatGiB(largest, 2));
  return t;
}

}  // namespace

Status CheckLoadFormat(const EngineSettings& settings) {
  // vllm/config/load.py (d29f7f5c).
  static const std::set<std::string> formats = {"auto",
                                                "hf",
                                                "dummy",
                                                "fastsafetensors",
                                                "mistral",
                                                "instanttensor",
                                                "modelexpress",
                                                "npcache",
                                                "pt",
                                                "runai_streamer",
                                                "runai_streamer_sharded",
                                                "safetensors",
                                                "sharded_state",
                                                "tensorizer"};
  if (!settings.load_format || formats.contains(*settings.load_format)) return {};
  return Fail(ErrorCode::kUsage, "--load-format " + Printable(*settings.load_format),
              "expected one of " + JoinWithOr({formats.begin(), formats.end()}));
}

LoadTransient LargestTransient(const Prepared& p, const Model& model, const DeviceWeights& weights,
                               int64_t stage, const vllm::Offload& offload) {
  const vllm::Context& c = p.context;
  LoadTransient most = Repacking(c, weights, c.stages[static_cast<size_t>(stage)]);
  if (offload.largest_layer > Bytes()) {
    // A layer comes back whole, and its parameters are repacked while it is there.
    LoadTransient back;
    back.bytes = Range(offload.largest_layer, offload.largest_layer,
                       offload.largest_layer + most.bytes.high);
    back.reason = c.Say("an offloaded layer of {} comes back to the card to be processed",
                        FormatGiB(offload.largest_layer, 2));
    if (back.bytes.central >= most.bytes.central) most = std::move(back);
  }
  if (c.settings.load_format == "fastsafetensors") {
    LoadTransient staging = Staging(model);
    if (staging.bytes.central >= most.bytes.central) most = std::move(staging);
  }
  return most;
}

}  // namespace shardplan
