// What a step puts on links, and what its bytes take at least.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "report/plan_document.h"
#include "report/sections.h"
#include "report/table.h"
#include "report/text.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::string InWords(TrafficKind kind) {
  std::string text(ToString(kind));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string AtLeast(double seconds) { return "≥ " + FormatSeconds(seconds); }

// "400 GB/s a node (assumed: 8 × 400 Gb/s a node, …)"
std::string RateText(const LinkRate& rate, std::string_view of) {
  return fmt::format("{:.4g} GB/s a {} ({}: {})", rate.gb_per_s, of, ToString(rate.basis),
                     Printable(rate.source, 200));
}

void AddStep(const TrafficPlan& traffic, const StepTraffic& step, std::string_view phase,
             bool network, TextTable* table) {
  std::vector<std::string> cells = {
      fmt::format("{} of {}", phase, Plural(step.tokens, "token", "tokens"))};
  if (network) {
    cells.push_back(FormatAuto(step.node_network));
    cells.push_back(AtLeast(step.network_seconds));
  }
  cells.push_back(FormatAuto(step.rank_inside));
  cells.push_back(step.inside_seconds && traffic.rates.inside() != nullptr
                      ? AtLeast(*step.inside_seconds)
                      : "");
  table->AddRow(std::move(cells));
}

Bytes Rounded(double bytes) { return Bytes(static_cast<int64_t>(bytes + 0.5)); }

// What moves it, kind by kind.
std::string Items(const TrafficPlan& traffic, bool network, size_t width) {
  TextTable table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  const std::string inside = traffic.rates.inside_name();
  table.AddRow({"all ranks", "prefill " + inside, network ? "network" : "", "decode " + inside,
                network ? "network" : "", ""});
  for (int i = 0; i < kTrafficKinds; ++i) {
    const auto kind = static_cast<TrafficKind>(i);
    const auto find = [&](const StepTraffic& step) {
      const auto at = std::find_if(step.items.begin(), step.items.end(),
                                   [&](const TrafficItem& item) { return item.kind == kind; });
      return at == step.items.end() ? nullptr : &*at;
    };
    const TrafficItem* const prefill = find(traffic.prefill);
    const TrafficItem* const decode = find(traffic.decode);
    if (prefill == nullptr && decode == nullptr) continue;
    const auto text = [&](const TrafficItem* item, Bytes LinkBytes::*link) {
      return item == nullptr ? std::string("-") : FormatAuto(item->sent.*link);
    };
    const auto over = [&](const TrafficItem* item) {
      return network ? text(item, &LinkBytes::network) : std::string();
    };
    table.AddRow({InWords(kind), text(prefill, &LinkBytes::inside), over(prefill),
                  text(decode, &LinkBytes::inside), over(decode),
                  Printable((prefill != nullptr ? prefill : decode)->rule, 200)});
  }
  std::string out = table.Render(width);
  for (const std::string& note : traffic.notes) out += Wrap(note, width, 2, 4);
  return out;
}

Document RateDocument(const LinkRate& rate) {
  return {{"gb_per_s", rate.gb_per_s},
          {"low_gb_per_s", rate.low},
          {"high_gb_per_s", rate.high},
          {"basis", ToString(rate.basis)},
          {"source", rate.source}};
}

Document RateDocument(const std::optional<LinkRate>& rate) {
  return rate ? RateDocument(*rate) : Document(nullptr);
}

Document StepDocument(const StepTraffic& step) {
  Document items = Document::array();
  for (const TrafficItem& item : step.items) {
    items.push_back({{"kind", ToString(item.kind)},
                     {"inside_bytes", item.sent.inside.count()},
                     {"network_bytes", item.sent.network.count()},
                     {"rule", item.rule}});
  }
  return {{"tokens", step.tokens},
          {"inside_bytes", step.sent.inside.count()},
          {"network_bytes", step.sent.network.count()},
          {"inside_bytes_per_token", step.InsidePerToken()},
          {"network_bytes_per_token", step.NetworkPerToken()},
          {"busiest_node",
           {{"node", step.busiest_node},
            {"network_bytes", step.node_network.count()},
            {"least_network_bytes", step.node_network_least.count()},
            {"seconds_at_link_rate", step.network_seconds}}},
          {"busiest_card",
           {{"rank", step.busiest_rank},
            {"inside_bytes", step.rank_inside.count()},
            {"least_inside_bytes", step.rank_inside_least.count()},
            {"seconds_at_link_rate",
             step.inside_seconds ? Document(*step.inside_seconds) : Document(nullptr)}}},
          {"items", std::move(items)}};
}

}  // namespace

std::string TrafficSection(const Plan& plan, size_t width, bool verbose) {
  if (!plan.traffic || plan.ranks.size() < 2) return "";
  const TrafficPlan& traffic = *plan.traffic;
  const auto crosses = [](const StepTraffic& step) { return step.sent.network > Bytes(); };
  const bool network = crosses(traffic.prefill) || crosses(traffic.decode);
  if (!network && traffic.prefill.sent.inside == Bytes()) return "";
  const std::string inside = traffic.rates.inside_name();
  std::vector<Align> columns(network ? 5 : 3, Align::kRight);
  columns[0] = Align::kLeft;
  TextTable table(columns);
  std::vector<std::string> head = {"one batch through all stages"};
  if (network) head.insert(head.end(), {"network", "busiest node"});
  head.insert(head.end(), {inside, "busiest card"});
  table.AddRow(std::move(head));
  AddStep(traffic, traffic.prefill, "prefill", network, &table);
  AddStep(traffic, traffic.decode, "decode", network, &table);
  std::string out =
      "Traffic, derived: bytes by ring; times are lower bounds at link rate, no forecasts\n";
  out += table.Render(width);
  std::string per_token = fmt::format("a decoded token moves {} over {}",
                                      FormatAuto(Rounded(traffic.decode.InsidePerToken())), inside);
  if (network) {
    per_token += fmt::format(" and {} over the network",
                             FormatAuto(Rounded(traffic.decode.NetworkPerToken())));
  }
  out += Wrap(per_token + ", all ranks together", width, 2, 4);
  std::string rates;
  if (network) rates = "network " + RateText(traffic.rates.network, "node");
  if (const LinkRate* const rate = traffic.rates.inside()) {
    rates +=
        fmt::format("{}{} {:.4g} GB/s a card", rates.empty() ? "" : "; ", inside, rate->gb_per_s);
  }
  out += Wrap("links: " + rates, width, 2, 4);
  if (verbose) out += Items(traffic, network, width);
  return out;
}

Document RatesDocument(const LinkRates& rates) {
  return {{"nvlink", RateDocument(rates.nvlink)},
          {"pcie", RateDocument(rates.pcie)},
          {"network", RateDocument(rates.network)},
          {"disk", RateDocument(rates.disk)},
          {"shared_fs", RateDocument(rates.shared_fs)}};
}

Document TrafficDocument(const TrafficPlan& traffic) {
  return {{"inside", traffic.rates.inside_name()},
          {"rates", RatesDocument(traffic.rates)},
          {"prefill", StepDocument(traffic.prefill)},
          {"decode", StepDocument(traffic.decode)},
          {"notes", traffic.notes}};
}

}  // namespace shardplan
