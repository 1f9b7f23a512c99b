// How even the ranks' shares of routed tokens are.
#include <fmt/format.h>

#include <algorithm>

#include "report/plan_document.h"
#include "report/sections.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string PlacementText(const ExpertPlacement& placement) {
  const auto busiest = std::max_element(placement.shares.begin(), placement.shares.end());
  std::string text = fmt::format("{:.2f} over a step, at worst {:.2f} in layer {}", placement.step,
                                 placement.worst, placement.worst_layer);
  if (busiest != placement.shares.end()) {
    text += fmt::format("; most on expert rank {}, {:.1f} % of all (even: {:.1f} %)",
                        busiest - placement.shares.begin(), *busiest * 100,
                        100 / static_cast<double>(placement.shares.size()));
  }
  return text;
}

Document PlacementDocument(const ExpertPlacement& placement) {
  return {{"step_imbalance", placement.step},
          {"worst_imbalance", placement.worst},
          {"worst_layer", placement.worst_layer},
          {"shares", placement.shares}};
}

}  // namespace

std::string ExpertLoadSection(const Plan& plan, size_t width) {
  if (!plan.expert_load) return "";
  const ExpertLoadPlan& load = *plan.expert_load;
  std::string out = "Load of experts: busiest rank ÷ mean, 1 is even\n";
  if (load.ranks <= 1) {
    return out + Wrap("every rank holds a slice of every expert: loads are even", width, 2, 4);
  }
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back(
      "file", fmt::format("{}, {}", Printable(load.file),
                          Plural(static_cast<int64_t>(load.layers.size()), "layer", "layers")));
  facts.emplace_back(
      "hottest", fmt::format("expert {} of layer {}: {:.1f} % of its layer", load.hottest_expert,
                             load.hottest_layer, load.hottest_share * 100));
  facts.emplace_back("in order", PlacementText(load.before));
  const std::string with = load.redundant > 0
                               ? fmt::format("EPLB, {} more", FormatCount(load.redundant))
                               : std::string("EPLB");
  if (load.after) {
    facts.emplace_back(with, PlacementText(*load.after) +
                                 (load.balancing ? "" : " (with --enable-eplb, which is off)"));
  } else {
    facts.emplace_back(with, "experts and replicas don't divide over the ranks");
  }
  return out + RenderFacts(facts, width);
}

Document ExpertLoadDocument(const ExpertLoadPlan& load) {
  Document layers = Document::array();
  for (const ExpertLoadLayer& layer : load.layers) {
    layers.push_back(
        {{"layer", layer.layer},
         {"imbalance_before", layer.before},
         {"imbalance_after", layer.after ? Document(*layer.after) : Document(nullptr)}});
  }
  return {{"file", load.file},
          {"ranks", load.ranks},
          {"redundant_experts", load.redundant},
          {"balancing", load.balancing},
          {"hottest",
           {{"layer", load.hottest_layer},
            {"expert", load.hottest_expert},
            {"share", load.hottest_share}}},
          {"before", PlacementDocument(load.before)},
          {"after", load.after ? PlacementDocument(*load.after) : Document(nullptr)},
          {"layers", std::move(layers)}};
}

}  // namespace shardplan
