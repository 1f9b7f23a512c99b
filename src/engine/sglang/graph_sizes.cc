#include "engine/sglang/graph_sizes.h"

#include <algorithm>

namespace shardplan::sglang {
namespace {

// first, first + step, … up to `last` and to `limit`.
void AddSteps(int64_t first, int64_t last, int64_t step, int64_t limit,
              std::vector<int64_t>* sizes) {
  for (int64_t size = first; size <= std::min(last, limit); size += step) sizes->push_back(size);
}

}  // namespace

std::vector<int64_t> DecodeGraphSizes(int64_t max_bs, bool speculative) {
  std::vector<int64_t> sizes;
  const auto add = [&](int64_t first, int64_t last, int64_t step) {
    AddSteps(first, last, step, max_bs, &sizes);
  };
  if (speculative) {
    add(1, 8, 1);
    add(10, 32, 2);
    add(40, 64, 4);
    add(72, 256, 8);
    add(272, max_bs, 16);
  } else {
    add(1, 2, 1);
    add(4, 12, 4);
    add(16, 256, 8);
    add(272, 496, 16);
    add(512, max_bs, 32);
  }
  if (max_bs > 0 && (sizes.empty() || sizes.back() != max_bs)) sizes.push_back(max_bs);
  return sizes;
}

std::vector<int64_t> PrefillGraphSizes(int64_t max_tokens) {
  std::vector<int64_t> sizes;
  const auto add = [&](int64_t first, int64_t last, int64_t step) {
    AddSteps(first, last, step, max_tokens, &sizes);
  };
  add(4, 32, 4);
  add(48, 256, 16);
  add(288, 512, 32);
  add(576, 1024, 64);
  add(1280, 4096, 256);
  add(4608, max_tokens, 512);
  return sizes;
}

}  // namespace shardplan::sglang
