#include "model/families/unknown_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace shardplan::families {
namespace {

using Names = std::initializer_list<std::string_view>;

bool IsOneOf(std::string_view text, Names names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

template <size_t N>
bool IsOneOf(std::string_view text, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), text) != std::end(names);
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool IsTower(const std::string& s) {
  return Contains(s, "vision") || s.starts_with("visual") || s.starts_with("audio") ||
         s.starts_with("speech") || s.starts_with("image_encoder") || s.starts_with("siglip") ||
         IsOneOf(s, {"vit", "vpm", "clip", "img_processor", "sam_model"});
}

bool IsProjector(const std::string& s) {
  return Contains(s, "projector") || s.starts_with("image_newline") ||
         IsOneOf(s, {"merger", "aligner", "connector", "mm_proj", "resampler", "patch_merger",
                     "modality_projection"});
}

bool IsDraft(const std::string& s) {
  return s.starts_with("mtp") || s.starts_with("nextn") || s.starts_with("eagle") ||
         s.starts_with("medusa") || s.starts_with("draft");
}

bool CountsLayers(const std::string& s) {
  return IsOneOf(s, {"layers", "h", "blocks", "block", "layer", "decoder_layers",
                     "transformer_layers", "decoder_blocks", "transformer_blocks"});
}

bool CountsExperts(const std::string& s) {
  return IsOneOf(s, {"experts", "expert", "local_experts", "routed_experts", "moe_experts"});
}

constexpr std::string_view kSuffixes[] = {"weight",
                                          "bias",
                                          "qweight",
                                          "qzeros",
                                          "scale",
                                          "scales",
                                          "g_idx",
                                          "weight_scale",
                                          "weight_scale_inv",
                                          "weight_scale_2",
                                          "weight_packed",
                                          "weight_shape",
                                          "weight_global_scale",
                                          "weight_zero_point",
                                          "weight_g_idx",
                                          "input_scale",
                                          "input_global_scale"};
// What bitsandbytes keeps behind ".weight".
constexpr std::string_view kStates[] = {"absmax", "nested_absmax", "quant_map", "nested_quant_map"};
// Of stacks of experts, which have no module of their own: "gate_up_proj_blocks".
constexpr std::string_view kTails[] = {"_blocks", "_weight_scale", "_scale_inv",
                                       "_scales", "_scale",        "_bias"};

void TakeSuffix(NameParts* parts) {
  std::vector<std::string>& path = parts->path;
  if (path.size() < 2) return;
  const std::string last = path.back();
  if (IsOneOf(last, kStates) || last.starts_with("quant_state")) {
    parts->suffix = last;
    path.pop_back();
    if (path.size() > 1 && path.back() == "weight") path.pop_back();
  } else if (IsOneOf(last, kSuffixes)) {
    parts->suffix = last;
    path.pop_back();
  } else if (parts->routed) {
    for (const std::string_view tail : kTails) {
      if (!last.ends_with(tail) || last.size() == tail.size()) continue;
      parts->suffix = tail.substr(1);
      path.back().resize(last.size() - tail.size());
      break;
    }
  }
}

bool IsSpelled(std::string_view segment) {
  if (segment == "{}") return true;
  if (segment.find_first_of("{}") != std::string_view::npos) return false;
  const bool number =
      !segment.empty() && segment.find_first_not_of("0123456789") == std::string_view::npos;
  return !number || segment[0] != '0' || segment.size() == 1;
}

}  // namespace

bool NameParts::InModule(Names names) const {
  return std::any_of(path.begin(), path.end(),
                     [&](const std::string& segment) { return IsOneOf(segment, names); });
}

std::string NameParts::Name(const std::vector<int64_t>* fixed) const {
  std::string name;
  size_t hole = 0;
  size_t number = 0;
  for (const std::string& segment : segments) {
    if (!name.empty() || &segment != &segments.front()) name += '.';
    if (segment != "{}") {
      name += segment;
      continue;
    }
    const Hole kind = holes[hole++];
    if (kind == Hole::kLayer) {
      name += "{L}";
    } else if (fixed) {
      name += std::to_string((*fixed)[number++]);
    } else {
      name += kind == Hole::kExpert ? "{E}" : "{B}";
    }
  }
  return name;
}

void NameParts::LayersAreBlocks() {
  std::replace(holes.begin(), holes.end(), Hole::kLayer, Hole::kBlock);
  stack.clear();
}

std::optional<NameParts> ReadName(std::string_view pattern) {
  NameParts parts;
  for (size_t begin = 0; begin <= pattern.size();) {
    const size_t end = std::min(pattern.find('.', begin), pattern.size());
    parts.segments.emplace_back(pattern.substr(begin, end - begin));
    if (!IsSpelled(parts.segments.back())) return std::nullopt;
    begin = end + 1;
  }
  std::string before;  // the text so far
  std::string owner;   // the segment before, in lower case
  for (const std::string& segment : parts.segments) {
    const std::string lower = Lower(segment);
    if (segment == "{}") {
      const bool expert = CountsExperts(owner);
      const bool layer = parts.stack.empty() && !parts.tower && !parts.projector && !parts.draft &&
                         CountsLayers(owner);
      parts.holes.push_back(layer ? Hole::kLayer : expert ? Hole::kExpert : Hole::kBlock);
      if (layer) {
        parts.stack = before;
        parts.path.clear();
      }
    } else {
      parts.path.push_back(lower);
      parts.tower |= IsTower(lower);
      parts.projector |= IsProjector(lower);
      parts.draft |= IsDraft(lower);
      // Granite's stacks have names of their own.
      parts.routed |= CountsExperts(lower) || IsOneOf(lower, {"input_linear", "output_linear"});
      parts.shared |= lower.starts_with("shared_expert") || lower.starts_with("shared_mlp");
    }
    before += segment + ".";
    owner = lower;
  }
  if (parts.path.empty()) return std::nullopt;
  parts.routed &= !parts.shared;
  TakeSuffix(&parts);
  return parts;
}

}  // namespace shardplan::families
