#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/sections.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

template <typename T>
bool AllEqual(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// Bytes of a block on each stage, and how many layers that come from.
void AddBlockCost(const KvPlan& kv, Facts* facts) {
  const std::vector<Bytes>& cost = kv.bytes_per_block_by_stage;
  const std::vector<int64_t>& layers = kv.attention_layers_by_stage;
  if (cost.size() <= 1 || (AllEqual(cost) && AllEqual(layers))) {
    std::string text = FormatBytes(kv.bytes_per_block) + " on every rank";
    if (!layers.empty()) {
      text += fmt::format(", {}{}", Plural(layers[0], "attention layer", "attention layers"),
                          cost.size() > 1 ? " a stage" : "");
    }
    facts->emplace_back("a block costs", std::move(text));
    return;
  }
  for (size_t i = 0; i < cost.size(); ++i) {
    std::string text = fmt::format("stage {}: {}", i, FormatBytes(cost[i]));
    if (i < layers.size()) {
      text += ", " + Plural(layers[i], "attention layer", "attention layers");
    }
    if (cost[i] == kv.bytes_per_block && !AllEqual(cost)) text += " (the dearest)";
    facts->emplace_back(i == 0 ? "a block costs" : "", std::move(text));
  }
}

// A layer with an indexer has two caches in one group.
bool IsMixed(const KvGroupPlan& group) {
  return group.kind.find(" and ") != std::string_view::npos;
}

// "3 × 23 layers, KDA states: 3 blocks a request each"
std::string GroupText(const KvPlan& kv, const KvGroupPlan& group, int64_t times) {
  std::string text = times > 1 ? fmt::format("{} × ", times) : "";
  text += fmt::format("{}, {}",
                      IsMixed(group) ? Plural(group.caches, "cache", "caches")
                                     : Plural(group.caches, "layer", "layers"),
                      group.kind);
  if (group.window > 0) text += fmt::format(" of {} tokens", FormatCount(group.window));
  if (group.block_tokens > 0 && group.block_tokens != kv.block_tokens) {
    text += fmt::format(", blocks of {}", FormatCount(group.block_tokens));
  }
  return text + fmt::format(": {} a request{}", Plural(group.blocks_per_request, "block", "blocks"),
                            times > 1 ? " each" : "");
}

// Block tables, one line for those that are alike. A single plain one needs none.
void AddGroups(const KvPlan& kv, Facts* facts) {
  if (kv.groups.empty() || (kv.groups.size() == 1 && !IsMixed(kv.groups.front()))) return;
  for (size_t i = 0; i < kv.groups.size();) {
    size_t end = i + 1;
    while (end < kv.groups.size() && kv.groups[end] == kv.groups[i]) ++end;
    facts->emplace_back(i == 0 ? "groups" : "",
                        GroupText(kv, kv.groups[i], static_cast<int64_t>(end - i)));
    i = end;
  }
}

// "398.0 kB": of a thousand bytes each.
std::string Kilobytes(Bytes bytes) {
  return fmt::format("{:.1f} kB", static_cast<double>(bytes.count()) / 1e3);
}

}  // namespace

std::string CacheSection(const Plan& plan, size_t width) {
  if (!plan.kv) return "";
  const KvPlan& kv = *plan.kv;
  Facts facts;
  facts.emplace_back(
      "block", fmt::format("{} tokens, {} in one layer, dtype {}", FormatCount(kv.block_tokens),
                           FormatBytes(kv.page), Printable(kv.dtype)));
  AddGroups(kv, &facts);
  AddBlockCost(kv, &facts);
  std::string blocks = FormatCount(kv.num_blocks);
  if (kv.num_blocks_low != kv.num_blocks_high) {
    blocks +=
        fmt::format(" ({} to {})", FormatCount(kv.num_blocks_low), FormatCount(kv.num_blocks_high));
  }
  facts.emplace_back("blocks", blocks + ", the least of all ranks");
  facts.emplace_back("one request", fmt::format("{} for {} tokens",
                                                Plural(kv.blocks_per_request, "block", "blocks"),
                                                FormatCount(plan.window.max_model_len)));
  facts.emplace_back("capacity",
                     fmt::format("{} tokens, as the engine prints it", FormatCount(kv.tokens)));
  facts.emplace_back(
      "concurrency",
      fmt::format("{}: {} resident at once", FormatTimes(kv.max_concurrency),
                  Plural(kv.full_window_requests, "full-window request", "full-window requests")));
  if (kv.typical_concurrency) {
    facts.emplace_back(
        "", fmt::format("{} with requests of {} tokens", FormatTimes(*kv.typical_concurrency),
                        FormatCount(kv.typical_tokens.value_or(0))));
  }
  if (plan.sizes.dp > 1) {
    facts.emplace_back("", fmt::format("of one engine; there are {}", plan.sizes.dp));
  }
  return "KV cache\n" + RenderFacts(facts, width);
}

std::string ActivationSection(const Plan& plan, size_t width) {
  if (plan.activations.empty()) return "";
  TextTable table({Align::kLeft, Align::kRight, Align::kLeft});
  for (const ActivationPlan& stage : plan.activations) {
    std::string text;
    if (stage.peak.low != stage.peak.high) {
      const std::string low = FormatGiB(stage.peak.low);
      text = fmt::format("({} to {}) ", low.substr(0, low.find(' ')), FormatGiB(stage.peak.high));
    }
    text += "bound by " + Printable(stage.binding);
    if (stage.per_token > Bytes()) text += fmt::format(", {} a token", Kilobytes(stage.per_token));
    if (!stage.flag.empty()) text += fmt::format("; {} lowers it", Printable(stage.flag));
    table.AddRow(
        {fmt::format("stage {}", stage.stage), FormatGiB(stage.peak.central), std::move(text)});
  }
  return "Activations at their peak\n" + table.Render(width);
}

std::string WindowSection(const Plan& plan, size_t width) {
  const WindowPlan& w = plan.window;
  if (plan.ranks.empty() || w.max_model_len <= 0) return "";
  Facts facts = {{"max_model_len", FormatCount(w.max_model_len) + " tokens, input and output"}};
  if (w.output_tokens) facts.emplace_back("output", FormatCount(*w.output_tokens) + " tokens");
  if (w.max_input_tokens) {
    facts.emplace_back("input", fmt::format("at most {} tokens", FormatCount(*w.max_input_tokens)));
  }
  return "Window\n" + RenderFacts(facts, width);
}

}  // namespace shardplan
