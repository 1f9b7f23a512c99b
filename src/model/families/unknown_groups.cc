#include "model/families/unknown_groups.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "model/families/decoder_parts.h"

namespace shardplan::families {
namespace {

// Of the largest models published, none has a tenth of this.
constexpr size_t kMostGroups = 4096;
constexpr size_t kMostPatterns = 65'536;

struct Cell {
  int64_t layer = -1;
  std::vector<int64_t> rest;  // the other numbers of the name
  uint32_t shape = 0;
  DType dtype = DType::kBF16;
};

Cell CellOf(const NameParts& name, const TensorRecord& record) {
  Cell cell;
  cell.shape = record.shape;
  cell.dtype = record.dtype;
  for (size_t i = 0; i < name.holes.size() && i < record.indices.size(); ++i) {
    if (name.holes[i] == Hole::kLayer) {
      cell.layer = record.indices[i];
    } else {
      cell.rest.push_back(record.indices[i]);
    }
  }
  return cell;
}

// The stack with the most bytes; the layers of all others become blocks.
void ChooseStack(const Inventory& headers, UnknownStack* out) {
  std::map<std::string, int64_t> bytes;
  for (const TensorRecord& record : headers.tensors) {
    const std::optional<NameParts>& name = out->names[record.pattern];
    if (name && name->HasLayer()) bytes[name->stack] += record.end - record.begin;
  }
  int64_t most = -1;
  for (const auto& [stack, sum] : bytes) {
    if (sum <= most) continue;
    most = sum;
    out->stack = stack;
  }
  for (std::optional<NameParts>& name : out->names) {
    if (name && name->HasLayer() && name->stack != out->stack) name->LayersAreBlocks();
  }
}

// Tensors of one name in one layer are alike and numbered from zero.
bool IsRegular(const std::vector<Cell>& cells, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const Cell& cell = cells[i];
    if (cell.shape != cells[begin].shape || cell.dtype != cells[begin].dtype) return false;
    if (cell.rest.size() > 1) return false;
    if (!cell.rest.empty() && cell.rest[0] != static_cast<int64_t>(i - begin)) return false;
  }
  return true;
}

// Groups of one pattern.
void Group(size_t pattern, std::vector<Cell> cells, const Inventory& headers, UnknownStack* out) {
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return std::tie(a.layer, a.rest) < std::tie(b.layer, b.rest);
  });
  using Key = std::tuple<std::vector<int64_t>, int64_t, uint32_t, DType>;
  std::map<Key, std::vector<int64_t>> layers_of;
  for (size_t begin = 0; begin < cells.size();) {
    size_t end = begin;
    while (end < cells.size() && cells[end].layer == cells[begin].layer) ++end;
    const Cell& first = cells[begin];
    if (IsRegular(cells, begin, end)) {
      const auto count = first.rest.empty() ? 0 : static_cast<int64_t>(end - begin);
      layers_of[{{}, count, first.shape, first.dtype}].push_back(first.layer);
    } else {
      for (size_t i = begin; i < end; ++i) {
        layers_of[{cells[i].rest, 0, cells[i].shape, cells[i].dtype}].push_back(first.layer);
      }
    }
    begin = end;
    if (layers_of.size() > kMostGroups) break;
  }
  for (auto& [key, layers] : layers_of) {
    UnknownGroup group;
    group.pattern = pattern;
    group.fixed = std::get<0>(key);
    group.count = std::get<1>(key);
    group.shape = headers.shapes[std::get<2>(key)];
    group.dtype = std::get<3>(key);
    if (layers.front() >= 0) group.layers = std::move(layers);
    out->groups.push_back(std::move(group));
    if (out->groups.size() > kMostGroups) return;
  }
}

void CountLayers(const std::vector<std::vector<Cell>>& cells, UnknownStack* out) {
  std::vector<bool> seen;
  for (const std::vector<Cell>& of_pattern : cells) {
    for (const Cell& cell : of_pattern) {
      if (cell.layer < 0) continue;
      out->layers = std::max(out->layers, cell.layer + 1);
      if (cell.layer >= 2 * kMaxLayers) continue;  // refused by its number alone
      if (seen.size() <= static_cast<size_t>(cell.layer)) {
        seen.resize(static_cast<size_t>(cell.layer) + 1);
      }
      seen[static_cast<size_t>(cell.layer)] = true;
    }
  }
  const auto gap = std::find(seen.begin(), seen.end(), false);
  if (gap != seen.end()) out->first_gap = gap - seen.begin();
}

void CountExperts(UnknownStack* out) {
  for (const UnknownGroup& group : out->groups) {
    const NameParts& name = *out->names[group.pattern];
    if (!name.routed || !name.HasLayer()) continue;
    const bool indexed = std::count(name.holes.begin(), name.holes.end(), Hole::kExpert) > 0;
    int64_t experts = 0;
    if (indexed && !group.fixed.empty()) {
      experts = *std::max_element(group.fixed.begin(), group.fixed.end()) + 1;
    } else if (indexed) {
      experts = group.count;
    } else if (group.shape.dims.size() >= 3) {
      experts = group.shape.dims[0];
    }
    out->experts = std::max(out->experts, experts);
  }
}

}  // namespace

UnknownStack GatherTensors(const Inventory& headers) {
  UnknownStack out;
  if (headers.patterns.size() > kMostPatterns) {
    out.too_many = true;
    return out;
  }
  for (const std::string& pattern : headers.patterns) out.names.push_back(ReadName(pattern));
  ChooseStack(headers, &out);
  std::vector<std::vector<Cell>> cells(headers.patterns.size());
  for (const TensorRecord& record : headers.tensors) {
    const std::optional<NameParts>& name = out.names[record.pattern];
    if (name) cells[record.pattern].push_back(CellOf(*name, record));
  }
  CountLayers(cells, &out);
  for (size_t p = 0; p < cells.size(); ++p) {
    Group(p, std::move(cells[p]), headers, &out);
    if (out.groups.size() > kMostGroups) {
      out.too_many = true;
      return out;
    }
  }
  CountExperts(&out);
  return out;
}

}  // namespace shardplan::families
