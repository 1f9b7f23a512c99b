#include "model/header_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// Longest first, so that ".weight" does not take what belongs to ".x.weight_scale".
constexpr std::string_view kSuffixes[] = {".weight.absmax",
                                          ".weight_global_scale",
                                          ".weight_zero_point",
                                          ".weight_scale_inv",
                                          ".weight_scale_2",
                                          ".weight_packed",
                                          ".weight_scale",
                                          ".weight_shape",
                                          ".weight_g_idx",
                                          ".input_global_scale",
                                          ".input_scale",
                                          ".qweight",
                                          ".qzeros",
                                          ".scales",
                                          ".g_idx",
                                          ".weight"};

const HeaderPart* Find(const std::map<std::string, HeaderPart>& parts, const char* suffix) {
  const auto it = parts.find(suffix);
  return it == parts.end() ? nullptr : &it->second;
}

// A template of the scheme: the config's, where it says the same.
QuantFormat Like(const QuantFormat& expected, QuantScheme scheme) {
  if (expected.scheme == scheme) return expected;
  QuantFormat format;
  format.scheme = scheme;
  return format;
}

// How many inputs share one of `groups` scales; 0 where all of them do.
int64_t GroupOf(int64_t in, int64_t groups, const QuantFormat& expected) {
  if (expected.Groups(in) == groups) return expected.block_in;
  if (groups <= 1) return 0;
  // The last group may be short: groups are powers of two.
  int64_t group = 1;
  while (CeilDiv(in, group) > groups) group *= 2;
  return group;
}

QuantFormat FromPackedInts(const std::map<std::string, HeaderPart>& parts, int64_t out, int64_t in,
                           const QuantFormat& expected) {
  const Shape& shape = Find(parts, ".qweight")->shape;
  const HeaderPart* const scales = Find(parts, ".scales");
  if (shape.dims.size() != 2 || !scales || scales->shape.dims.size() != 2) return expected;
  const bool awq = shape.dims[0] == in && shape.dims[1] < out;
  const int64_t packed =
      awq ? out / std::max<int64_t>(shape.dims[1], 1) : in / std::max<int64_t>(shape.dims[0], 1);
  QuantFormat format = Like(expected, awq ? QuantScheme::kAwq : QuantScheme::kGptq);
  format.bits = packed == 4 ? 8 : 4;
  format.block_in = GroupOf(in, scales->shape.dims[0], expected);
  format.zero_points = Find(parts, ".qzeros") != nullptr;
  format.scale_dtype = scales->dtype;
  return format;
}

QuantFormat FromPacked(const std::map<std::string, HeaderPart>& parts, int64_t in,
                       const QuantFormat& expected) {
  const HeaderPart& packed = *Find(parts, ".weight_packed");
  const HeaderPart* const scale = Find(parts, ".weight_scale");
  if (packed.shape.dims.size() != 2 || !scale || scale->shape.dims.size() != 2) return expected;
  const int64_t groups = scale->shape.dims[1];
  if (packed.dtype == DType::kI32) {
    QuantFormat format = Like(expected, QuantScheme::kIntPacked);
    format.compressed_names = true;
    format.bits = in / std::max<int64_t>(packed.shape.dims[1], 1) == 4 ? 8 : 4;
    format.block_in = GroupOf(in, groups, expected);
    format.zero_points = Find(parts, ".weight_zero_point") != nullptr;
    format.act_order = Find(parts, ".weight_g_idx") != nullptr;
    format.scale_dtype = scale->dtype;
    return format;
  }
  const bool nvfp4 = Find(parts, ".weight_global_scale") != nullptr;
  QuantFormat format = Like(expected, nvfp4 ? QuantScheme::kNvfp4 : QuantScheme::kMxfp4);
  format.block_in = GroupOf(in, groups, expected);
  if (nvfp4) {
    format.compressed_names = true;
    format.input_scale = Find(parts, ".input_global_scale") != nullptr;
  }
  return format;
}

QuantFormat FromFp8(const std::map<std::string, HeaderPart>& parts, int64_t out, int64_t in,
                    const QuantFormat& expected) {
  const auto block = [&](const HeaderPart& scale, bool compressed) {
    QuantFormat format = Like(expected, QuantScheme::kFp8Block);
    format.compressed_names = compressed;
    format.scale_dtype = scale.dtype;
    if (scale.shape.dims.size() != 2) return expected;
    if (CeilDiv(out, format.block_out) != scale.shape.dims[0] ||
        format.Groups(in) != scale.shape.dims[1]) {
      format.block_out = GroupOf(out, scale.shape.dims[0], {QuantScheme::kFp8Block, 1, 128});
      format.block_in = GroupOf(in, scale.shape.dims[1], {QuantScheme::kFp8Block, 1, 128});
    }
    return format;
  };
  if (const HeaderPart* const inverse = Find(parts, ".weight_scale_inv")) {
    return block(*inverse, false);
  }
  const HeaderPart* const scale = Find(parts, ".weight_scale");
  if (!scale) return expected;
  QuantScheme scheme = QuantScheme::kFp8Tensor;
  if (scale->shape.Elements() > 1) {
    const int64_t columns = scale->shape.dims.size() > 1 ? scale->shape.dims[1] : 1;
    if (scale->dtype == DType::kU8) {
      scheme = QuantScheme::kMxfp8;
    } else if (columns > 1 || scale->shape.dims[0] != out) {
      return block(*scale, true);
    } else {
      scheme = QuantScheme::kFp8Channel;
    }
  }
  QuantFormat format = Like(expected, scheme);
  if (scheme == QuantScheme::kMxfp8) {
    format.block_in = 32;
  } else {
    format.scale_dtype = scale->dtype;
    format.input_scale = Find(parts, ".input_scale") != nullptr;
  }
  return format;
}

// A name with its holes as the inventory interns them, and which of them is the layer.
struct Interned {
  std::string pattern;
  int layer_slot = -1;
};

Interned Intern(std::string_view name) {
  Interned out;
  int slots = 0;
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('.', start), name.size());
    const std::string_view segment = name.substr(start, end - start);
    const bool number = !segment.empty() && segment.size() < 8 &&
                        segment.find_first_not_of("0123456789") == std::string_view::npos;
    if (start > 0) out.pattern += '.';
    if ((segment.starts_with('{') || number) && slots < 3) {
      if (segment == "{L}") out.layer_slot = slots;
      ++slots;
      out.pattern += "{}";
    } else {
      out.pattern += segment;
    }
    start = end + 1;
  }
  return out;
}

// For every module pattern: the tensors beside it, and for each of them the record of every layer
// (index 0 stands for rows outside the stack).
class PartIndex {
 public:
  explicit PartIndex(const Inventory& inventory) : inventory_(inventory) {
    for (size_t i = 0; i < inventory.patterns.size(); ++i) {
      const std::string_view pattern = inventory.patterns[i];
      for (const std::string_view suffix : kSuffixes) {
        if (!pattern.ends_with(suffix)) continue;
        const std::string_view base = pattern.substr(0, pattern.size() - suffix.size());
        by_base_[std::string(base)].push_back({std::string(suffix), i});
        break;
      }
    }
    slot_.assign(inventory.patterns.size(), -2);
    records_.resize(inventory.patterns.size());
  }

  void Want(const Interned& module) {
    const auto it = by_base_.find(module.pattern);
    if (it == by_base_.end()) return;
    for (const auto& [suffix, pattern] : it->second) slot_[pattern] = module.layer_slot;
  }

  // One pass over all tensors; of experts and blocks the first stands for all.
  void Collect(int64_t layers) {
    for (const TensorRecord& record : inventory_.tensors) {
      const int slot = slot_[record.pattern];
      if (slot == -2) continue;
      int64_t layer = 0;
      bool first = true;
      for (size_t i = 0; i < record.indices.size(); ++i) {
        if (static_cast<int>(i) == slot) {
          layer = record.indices[i];
        } else {
          first &= record.indices[i] <= 0;
        }
      }
      if (!first || layer < 0 || layer >= layers) continue;
      auto& found = records_[record.pattern];
      if (found.empty()) found.resize(static_cast<size_t>(layers));
      found[static_cast<size_t>(layer)] = &record;
    }
  }

  std::map<std::string, HeaderPart> Parts(const Interned& module, int64_t layer) const {
    std::map<std::string, HeaderPart> parts;
    const auto it = by_base_.find(module.pattern);
    if (it == by_base_.end()) return parts;
    for (const auto& [suffix, pattern] : it->second) {
      const auto& found = records_[pattern];
      if (found.empty() || !found[static_cast<size_t>(layer)]) continue;
      const TensorRecord& record = *found[static_cast<size_t>(layer)];
      parts[suffix] = {record.dtype, inventory_.shapes[record.shape]};
    }
    return parts;
  }

 private:
  const Inventory& inventory_;
  std::unordered_map<std::string, std::vector<std::pair<std::string, size_t>>> by_base_;
  std::vector<int> slot_;  // of the layer in each pattern; -1: none, -2: not wanted
  std::vector<std::vector<const TensorRecord*>> records_;
};

// The same to an engine: what differs is how the file spells it.
bool SameKind(const QuantFormat& a, const QuantFormat& b) {
  return a.scheme == b.scheme && a.block_out == b.block_out && a.block_in == b.block_in &&
         a.bits == b.bits;
}

struct Share {
  QuantFormat format;
  std::vector<int64_t> layers;
};

struct Differences {
  bool config_says = false;
  int64_t modules = 0;
  std::string first;
};

void AppendShares(const ModuleRow& row, const std::vector<Share>& shares, bool config_says,
                  Differences* differences, std::vector<ModuleRow>* out) {
  for (const Share& share : shares) {
    ModuleRow part = row;
    if (!row.layers.empty()) part.layers = LayerSet(share.layers);
    part.quant = share.format;
    if (!SameKind(share.format, row.quant)) {
      if (config_says && !row.device_quant) part.device_quant = row.quant;
      if (differences->modules == 0) {
        differences->first =
            fmt::format("{} is {}, the config says {}",
                        ExpandName(row.name, share.layers.empty() ? 0 : share.layers.front(), 0, 0),
                        ToString(share.format.scheme), ToString(row.quant.scheme));
      }
      differences->modules += part.Count();
    } else if (!(share.format == row.quant) && !row.device_quant) {
      part.device_quant = row.quant;  // the engine's spelling of the same
    }
    out->push_back(std::move(part));
  }
}

}  // namespace

QuantFormat FormatFromParts(const std::map<std::string, HeaderPart>& parts, int64_t out, int64_t in,
                            const QuantFormat& expected) {
  if (Find(parts, ".qweight")) return FromPackedInts(parts, out, in, expected);
  if (Find(parts, ".weight_packed")) return FromPacked(parts, in, expected);
  const HeaderPart* const weight = Find(parts, ".weight");
  if (!weight) return expected;
  switch (weight->dtype) {
    case DType::kF8E4M3:
      return FromFp8(parts, out, in, expected);
    case DType::kU8:
      if (Find(parts, ".weight.absmax")) return Like(expected, QuantScheme::kBnb4);
      if (Find(parts, ".weight_scale_2")) {
        QuantFormat format = Like(expected, QuantScheme::kNvfp4);
        if (expected.scheme != QuantScheme::kNvfp4) format.block_in = 16;
        format.input_scale = Find(parts, ".input_scale") != nullptr;
        return format;
      }
      return expected;
    case DType::kI8: {
      const HeaderPart* const scale = Find(parts, ".weight_scale");
      if (!scale) return expected;
      QuantFormat format = Like(expected, QuantScheme::kInt8);
      format.scale_dtype = scale->dtype;
      return format;
    }
    case DType::kBF16:
    case DType::kF16:
    case DType::kF32:
      return {};
    default:
      return expected;
  }
}

void ApplyHeaderFormats(const Inventory& inventory, TensorTable* table,
                        std::vector<Finding>* findings) {
  const auto reads = [](const ModuleRow& row) {
    return row.stored && row.form == Form::kLinear && !row.shape.dims.empty();
  };
  PartIndex index(inventory);
  int64_t layers = 1;
  Differences differences;
  for (const ModuleRow& row : table->rows) {
    if (!reads(row)) continue;
    index.Want(Intern(row.name));
    if (!row.layers.empty()) layers = std::max(layers, row.layers.layers().back() + 1);
    differences.config_says |= !row.quant.plain();
  }
  index.Collect(layers);
  std::vector<ModuleRow> rows;
  for (ModuleRow& row : table->rows) {
    if (!reads(row)) {
      rows.push_back(std::move(row));
      continue;
    }
    const Interned module = Intern(row.name);
    std::vector<int64_t> of_row = row.layers.layers();
    if (of_row.empty()) of_row.push_back(0);
    std::vector<Share> shares;
    for (const int64_t layer : of_row) {
      const QuantFormat format = FormatFromParts(index.Parts(module, layer), row.shape.dims[0],
                                                 row.shape.dims[1], row.quant);
      const auto it = std::find_if(shares.begin(), shares.end(),
                                   [&](const Share& share) { return share.format == format; });
      if (it == shares.end()) {
        shares.push_back({format, {layer}});
      } else {
        it->layers.push_back(layer);
      }
    }
    AppendShares(row, shares, differences.config_says, &differences, &rows);
  }
  table->rows = std::move(rows);
  if (differences.modules == 0) return;
  if (differences.config_says) {
    findings->push_back(
        {"model.quantization_differs", Severity::kWarning, differences.first,
         fmt::format("{} modules are stored in another format than the config says: the file's "
                     "counts for the file, the config's for the card, as the engine creates it",
                     FormatCount(differences.modules)),
         "an engine may fail to load them; fetch config and weights of one revision"});
  } else {
    findings->push_back({"model.quantization_unsaid", Severity::kWarning, differences.first,
                         fmt::format("{} modules are quantized and the config does not say so: "
                                     "planned as they are stored",
                                     FormatCount(differences.modules)),
                         "put the publisher's config.json or hf_quant_config.json beside them"});
  }
}

}  // namespace shardplan
