#include "engine/vllm/kv_spec.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/vllm/kv_compressed.h"
#include "engine/vllm/speculative.h"

namespace shardplan::vllm {
namespace {

// Of a model with states that names no chunk. Source: ModelConfig.get_mamba_chunk_size (d29f7f5c).
constexpr int64_t kDefaultChunk = 2048;

int64_t BytesOf(DType dtype) { return BitsOf(dtype) / 8; }

int64_t HeadsOnRank(const Context& c, int64_t heads) {
  return std::max<int64_t>(1, heads / c.sizes.tp);
}

// The element of the convolution's state and that of the recurrent one.
// Source: mamba_utils.py:MambaStateDtypeCalculator (d29f7f5c).
struct StateElements {
  int64_t convolution = 0;
  int64_t recurrent = 0;
};

StateElements ElementsOf(const Context& c, bool kda) {
  StateElements out;
  out.convolution = BytesOf(c.resolved.convolution_dtype);
  out.recurrent = kda ? 4 : BytesOf(c.resolved.state_dtype);
  return out;
}

// Shapes of all kinds: mamba_utils.py:MambaStateShapeCalculator (d29f7f5c). A draft's tokens
// lengthen the convolution's window.
Bytes StateBytes(const Context& c) {
  const Architecture& a = *c.arch;
  const int64_t tp = c.sizes.tp;
  const auto kind = std::find_if(a.attention.begin(), a.attention.end(), KeepsState);
  const StateElements element = ElementsOf(c, *kind == AttentionKind::kKda);
  int64_t width = 0;      // of the convolution
  int64_t kernel = 0;     // its tokens
  int64_t recurrent = 0;  // elements of the recurrent state
  switch (*kind) {
    case AttentionKind::kKda:
      width = 3 * a.kda.width();
      kernel = a.kda.conv_kernel;
      recurrent = a.kda.heads / tp * a.kda.head_dim * a.kda.head_dim;
      break;
    case AttentionKind::kGdn:
      width = 2 * a.gdn.key_width() + a.gdn.value_width();
      kernel = a.gdn.conv_kernel;
      recurrent = a.gdn.v_heads / tp * a.gdn.v_head_dim * a.gdn.k_head_dim;
      break;
    case AttentionKind::kMamba2: {
      // A single group is given to every rank.
      const int64_t groups = a.mamba.groups % tp == 0 ? a.mamba.groups : tp;
      width = a.mamba.width + 2 * groups * a.mamba.state;
      kernel = a.mamba.conv_kernel;
      recurrent = a.mamba.heads / tp * a.mamba.head_dim * a.mamba.state;
      break;
    }
    default:
      width = a.mamba.width;
      kernel = a.mamba.conv_kernel;
      recurrent = a.mamba.width / tp * a.mamba.state;
      break;
  }
  const int64_t convolution = (kernel - 1 + c.resolved.draft_tokens) * (width / tp);
  return Bytes(convolution) * element.convolution + Bytes(recurrent) * element.recurrent;
}

// Bytes of one token that the alignment reckons with: the plain latent, or keys and values of the
// model's own heads.
Bytes AlignedToken(const Context& c) {
  const Architecture& a = *c.arch;
  const int64_t element = c.resolved.kv_element_bytes;
  if (a.has_kind(AttentionKind::kMla)) return Bytes(a.mla.latent_width()) * element;
  return Bytes(2 * HeadsOnRank(c, a.kv_heads) * a.head_dim) * element;
}

// Adds caches layer by layer; each kind of attention's specs are made once.
class Collector {
 public:
  Collector(const Context& c, const KvBlocks& blocks) : c_(c), a_(*c.arch), blocks_(blocks) {}

  std::vector<KvBucket> Collect() {
    const int64_t layers = a_.layers();
    for (int64_t layer = 0; layer < layers; ++layer) {
      const auto i = static_cast<size_t>(layer);
      if (!a_.cache_of_layer.empty() && a_.cache_of_layer[i] != layer) continue;
      const bool indexer =
          std::binary_search(a_.indexer_layers.begin(), a_.indexer_layers.end(), layer);
      for (int64_t n = 0; n < a_.attentions_per_layer; ++n) {
        AddLayer(a_.attention[i], layer, indexer);
      }
    }
    // A draft stands on the last stage.
    for (const AttentionKind kind : c_.resolved.draft_layers) {
      AddLayer(kind, layers - 1, a_.indexer.heads > 0);
    }
    if (c_.draft && c_.draft->of_its_own) AddDraftModel();
    return std::move(buckets_);
  }

 private:
  // A draft model's layers have heads of their own.
  void AddDraftModel() {
    Context own = c_;
    own.arch = &c_.draft->arch;
    own.draft = nullptr;
    const Collector of_draft(own, blocks_);
    for (const AttentionKind kind : own.arch->attention) {
      if (kind != AttentionKind::kNone) Add(of_draft.SpecOf(kind), a_.layers() - 1);
    }
  }

  void AddLayer(AttentionKind kind, int64_t layer, bool indexer) {
    if (kind == AttentionKind::kNone) return;
    if (indexer && kind == AttentionKind::kMla) Add(IndexerSpec(), layer);
    Add(SpecOf(kind), layer);
  }

  void Add(const KvSpec& spec, int64_t layer) {
    auto it = std::find_if(buckets_.begin(), buckets_.end(),
                           [&](const KvBucket& bucket) { return bucket.spec == spec; });
    if (it == buckets_.end()) {
      buckets_.push_back({spec, {}});
      it = buckets_.end() - 1;
      it->layers.reserve(a_.attention.size());
    }
    it->layers.push_back(layer);
  }

  KvSpec SpecOf(AttentionKind kind) const {
    if (KeepsState(kind)) return StateSpec(kind);
    if (kind == AttentionKind::kMla) return LatentSpec();
    return AttentionSpec(kind);
  }

  KvSpec StateSpec(AttentionKind kind) const {
    KvSpec spec;
    spec.kind = KvKind::kState;
    spec.attention = kind;
    spec.page = blocks_.state_page;
    const std::string& mode = c_.resolved.mamba_cache_mode;
    if (mode == "all") {
      spec.block_tokens = blocks_.state_tokens;
    } else {
      // align keeps a state that runs and one that is cached; later versions a prefill checkpoint
      // of FlashKDA besides.
      spec.extra_blocks = mode == "align" ? 2 : 1;
      if (mode == "align" && a_.family == "kimi-k3") {
        spec.extra_blocks += c_.profile->prefill_checkpoint_blocks;
      }
    }
    spec.extra_blocks += c_.resolved.draft_tokens;
    return spec;
  }

  KvSpec LatentSpec() const {
    KvSpec spec;
    spec.kind = KvKind::kLatent;
    spec.attention = AttentionKind::kMla;
    spec.block_tokens = blocks_.attention;
    spec.page =
        (c_.resolved.fp8_ds_mla ? Bytes(kDsMlaToken)
                                : Bytes(a_.mla.latent_width()) * c_.resolved.kv_element_bytes) *
        blocks_.attention;
    spec.strided = a_.indexer.heads == 0;
    return spec;
  }

  KvSpec IndexerSpec() const {
    KvSpec spec;
    spec.kind = KvKind::kIndexer;
    spec.attention = AttentionKind::kMla;
    spec.block_tokens = blocks_.attention;
    spec.page = IndexerToken(a_) * blocks_.attention;
    spec.strided = false;
    return spec;
  }

  // In flight are the batches that the scheduler runs ahead: a window can only be freed behind
  // them. Source: vllm/v1/kv_cache_interface.py (#47728; d29f7f5c).
  KvSpec AttentionSpec(AttentionKind kind) const {
    const bool sliding = kind == AttentionKind::kSliding;
    const KvShape shape = sliding && a_.sliding_kv
                              ? *a_.sliding_kv
                              : KvShape{a_.kv_heads, a_.head_dim, a_.v_head_dim};
    KvSpec spec;
    spec.attention = kind;
    spec.block_tokens = blocks_.attention;
    spec.page = Bytes(HeadsOnRank(c_, shape.kv_heads) * (shape.head_dim + shape.v_head_dim)) *
                c_.resolved.kv_element_bytes * blocks_.attention;
    if (sliding) {
      spec.kind = KvKind::kSliding;
      spec.window = a_.window;
      spec.reach = a_.window - 1 + c_.resolved.in_flight_tokens;
      spec.extra_blocks = 1;  // a window seldom begins at a block's first token
    } else if (kind == AttentionKind::kChunked) {
      spec.kind = KvKind::kChunked;
      spec.window = a_.window;
      spec.reach = a_.window + c_.resolved.in_flight_tokens;
    }
    return spec;
  }

  const Context& c_;
  const Architecture& a_;
  const KvBlocks& blocks_;
  std::vector<KvBucket> buckets_;
};

}  // namespace

int64_t AttentionLayers(const Architecture& arch, const StageRange& stage) {
  const auto first = arch.attention.begin() + stage.first;
  return std::count_if(first, first + stage.count, KeepsTokens) * arch.attentions_per_layer;
}

Bytes IndexerToken(const Architecture& arch) {
  return Bytes(arch.indexer.head_dim + arch.indexer.head_dim / 128 * 4);
}

bool KeepsEveryToken(KvKind kind) {
  return kind == KvKind::kFull || kind == KvKind::kLatent || kind == KvKind::kIndexer;
}

int64_t KvBucket::CountIn(const StageRange& stage) const {
  return std::lower_bound(layers.begin(), layers.end(), stage.end()) -
         std::lower_bound(layers.begin(), layers.end(), stage.first);
}

KvBlocks AlignBlocks(const Context& c) {
  KvBlocks blocks;
  blocks.attention = c.resolved.block_size;
  if (!c.arch->has_state()) return blocks;
  blocks.state = StateBytes(c);
  blocks.state_page = blocks.state;
  if (!c.arch->is_hybrid()) return blocks;
  const Bytes token = AlignedToken(c);
  if (token <= Bytes()) return blocks;
  int64_t step = std::max(c.resolved.kernel_block, c.resolved.block_size);
  if (c.arch->has_kind(AttentionKind::kMla)) {
    step = std::max(step, c.profile->mla_hybrid_min_block);
  }
  int64_t wanted = 0;
  if (c.resolved.mamba_cache_mode == "all") {
    const int64_t chunk = c.arch->mamba.chunk > 0 ? c.arch->mamba.chunk : kDefaultChunk;
    step = std::lcm(step, chunk);
    wanted = RoundUp(CeilDiv(blocks.state.count(), token.count()), step);
    blocks.state_tokens = wanted;
  } else {
    wanted = internal::CheckedMul(step, CeilDiv(blocks.state.count(), (token * step).count()));
  }
  blocks.attention = std::max(blocks.attention, wanted);
  blocks.state_page = token * blocks.attention;
  return blocks;
}

std::vector<KvBucket> CollectCaches(const Context& context, const KvBlocks& blocks) {
  if (!context.arch->compress_ratio.empty()) return CollectCompressed(context);
  return Collector(context, blocks).Collect();
}

}  // namespace shardplan::vllm
