#include "report/inspection_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr size_t kLayerList = 34;   // columns of a list of layers
constexpr size_t kNameLimit = 300;  // bytes
constexpr size_t kMostKinds = 16;   // of layers that are shown

// "1, 2, 4–6, 8–10 … 92": what does not fit is left out before the last one.
std::string ShortRuns(const std::vector<int64_t>& numbers) {
  std::string all = FormatRuns(numbers);
  if (DisplayWidth(all) <= kLayerList) return all;
  const std::string last = all.substr(all.rfind(", ") + 2);
  std::string out;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = all.find(", ", begin);
    const std::string next =
        out.empty() ? all.substr(0, end) : out + ", " + all.substr(begin, end - begin);
    if (DisplayWidth(next) + 3 + DisplayWidth(last) > kLayerList) break;
    out = next;
    begin = end + 2;
  }
  return out + " … " + last;
}

struct LayerKind {
  const LayerProfile* like = nullptr;
  std::vector<int64_t> layers;
};

std::vector<LayerKind> KindsOf(const std::vector<LayerProfile>& layers) {
  std::vector<LayerKind> kinds;
  for (const LayerProfile& layer : layers) {
    const auto it = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const LayerKind& kind) { return kind.like->IsLike(layer); });
    if (it != kinds.end()) {
      it->layers.push_back(layer.layer);
    } else {
      kinds.push_back({&layer, {layer.layer}});
    }
  }
  return kinds;
}

// "12 mla, 36 kda" of the layers in a stage.
std::string AttentionOf(const Inspection& i, const StageRange& range) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const LayerProfile& layer : i.layers) {
    if (layer.layer < range.first || layer.layer >= range.end()) continue;
    const auto it = std::find_if(counts.begin(), counts.end(),
                                 [&](const auto& known) { return known.first == layer.attention; });
    if (it != counts.end()) {
      ++it->second;
    } else {
      counts.emplace_back(layer.attention, 1);
    }
  }
  std::string out;
  for (const auto& [name, count] : counts) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, name);
  }
  return out;
}

// "…self_attn.{q,k,v}_proj.weight" of three names. Prefix and suffix end at a dot or underscore.
std::string FoldedName(const std::vector<std::string>& names) {
  const std::string& first = names[0];
  if (names.size() == 1) return Printable(first, kNameLimit);
  size_t prefix = first.size();
  size_t shortest = first.size();
  for (const std::string& name : names) {
    const auto [end, other] = std::mismatch(first.begin(), first.end(), name.begin(), name.end());
    prefix = std::min(prefix, static_cast<size_t>(end - first.begin()));
    shortest = std::min(shortest, name.size());
  }
  size_t suffix = shortest - prefix;
  for (const std::string& name : names) {
    const auto [end, other] =
        std::mismatch(first.rbegin(), first.rend(), name.rbegin(), name.rend());
    suffix = std::min(suffix, static_cast<size_t>(end - first.rbegin()));
  }
  const size_t dot = first.substr(0, prefix).rfind('.');
  prefix = dot == std::string::npos ? 0 : dot + 1;
  const size_t boundary = first.find_first_of("._", first.size() - suffix);
  suffix = boundary == std::string::npos ? 0 : first.size() - boundary;
  std::string inner;
  for (const std::string& name : names) {
    inner += inner.empty() ? "" : ",";
    inner += name.substr(prefix, name.size() - prefix - suffix);
  }
  return Printable(fmt::format("{}{{{}}}{}", first.substr(0, prefix), inner,
                               first.substr(first.size() - suffix)),
                   kNameLimit);
}

}  // namespace

std::string BarOf(Bytes bytes, Bytes most) {
  constexpr size_t kLongest = 16;
  if (bytes <= Bytes() || most <= Bytes()) return "";
  return Bar(static_cast<double>(bytes.count()) / static_cast<double>(most.count()), kLongest);
}

std::string LayerSection(const Inspection& i, size_t width) {
  const std::vector<LayerKind> kinds = KindsOf(i.layers);
  if (kinds.empty()) return "";
  Bytes most;
  for (const LayerKind& kind : kinds) most = std::max(most, kind.like->amount.bytes);
  for (const RoleAmount& role : i.outside) most = std::max(most, role.amount.bytes);
  using enum Align;
  TextTable table({kLeft, kRight, kLeft, kLeft, kRight, kRight, kLeft});
  table.AddRow({"layers", "count", "attention", "mlp", "tensors", "bytes", ""});
  for (size_t k = 0; k < std::min(kinds.size(), kMostKinds); ++k) {
    const LayerProfile& like = *kinds[k].like;
    table.AddRow({ShortRuns(kinds[k].layers),
                  FormatCount(static_cast<int64_t>(kinds[k].layers.size())), like.attention,
                  like.mlp, FormatCount(like.amount.tensors), FormatAuto(like.amount.bytes),
                  BarOf(like.amount.bytes, most)});
  }
  if (kinds.size() > kMostKinds) {
    table.AddRow({fmt::format("… {} more kinds", kinds.size() - kMostKinds)});
  }
  if (!i.outside.empty()) table.AddHeading("outside the layers");
  for (const RoleAmount& role : i.outside) {
    table.AddRow({role.role, "", "", "", FormatCount(role.amount.tensors),
                  FormatAuto(role.amount.bytes), BarOf(role.amount.bytes, most)});
  }
  return "One layer of each kind\n" + table.Render(width);
}

std::string StageSection(const Inspection& i, size_t width) {
  if (i.stages.size() < 2) return "";
  Bytes most;
  for (const StageProfile& stage : i.stages) most = std::max(most, stage.total());
  using enum Align;
  TextTable table({kRight, kLeft, kLeft, kRight, kRight, kRight, kRight, kLeft});
  table.AddRow({"stage", "layers", "attention", "layers'", "ends", "everywhere", "bytes", ""});
  for (size_t s = 0; s < i.stages.size(); ++s) {
    const StageProfile& stage = i.stages[s];
    const std::string range = stage.range.count == 1
                                  ? std::to_string(stage.range.first)
                                  : fmt::format("{}–{}", stage.range.first, stage.range.end() - 1);
    table.AddRow({std::to_string(s), range, AttentionOf(i, stage.range), FormatAuto(stage.layers),
                  FormatAuto(stage.ends), FormatAuto(stage.every_stage), FormatAuto(stage.total()),
                  BarOf(stage.total(), most)});
  }
  return "What each pipeline stage loads from the files\n" + table.Render(width) +
         Wrap(
             "Ends are the embedding on the first stage, final norm and head on the last. The "
             "ranks "
             "of a stage share its bytes; what a rank holds, padding and replicas included, is "
             "`shardplan plan`.",
             width, 2, 2);
}

std::string LargestSection(const Inspection& i, size_t width) {
  if (i.largest.empty()) return "";
  std::vector<std::array<std::string, 4>> cells;
  std::array<size_t, 4> widths = {};
  for (const LargeTensors& large : i.largest) {
    cells.push_back({FormatAuto(large.each),
                     large.count == 1 ? "" : "× " + FormatCount(large.count),
                     std::string(NameOf(large.dtype)), large.shape.ToString()});
    for (size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(cells.back()[c]));
    }
  }
  std::string out = "Largest tensors\n";
  for (size_t g = 0; g < cells.size(); ++g) {
    const auto& [size, count, dtype, shape] = cells[g];
    const std::string line = fmt::format("  {}  {}  {}  ", PadLeft(size, widths[0]),
                                         PadLeft(count, widths[1]), PadRight(dtype, widths[2]));
    const std::string name = FoldedName(i.largest[g].names);
    // A name that does not fit beside its numbers stands below them.
    if (DisplayWidth(line) + widths[3] + 2 + DisplayWidth(name) <= width) {
      out += fmt::format("{}{}  {}\n", line, PadRight(shape, widths[3]), name);
    } else {
      out += fmt::format("{}{}\n{}", line, shape, Wrap(name, width, 6, 8));
    }
  }
  return out;
}

}  // namespace shardplan
