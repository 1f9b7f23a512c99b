// Traffic once more, rank by rank and message by message: what formulas are held against.
#ifndef SHARDPLAN_TESTS_SUPPORT_TRAFFIC_WIRE_H_
#define SHARDPLAN_TESTS_SUPPORT_TRAFFIC_WIRE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "plan/traffic_counter.h"

namespace shardplan::testing_support {

// A second, naive account: what each rank has sent to each other one.
class Wire {
 public:
  explicit Wire(TrafficWorld world) : world_(std::move(world)) {}

  void Send(int64_t from, int64_t to, double bytes) {
    if (from != to) sent_[{from, to}] += bytes;
  }

  // Chunks that travel round a ring, step by step, until every rank has them all: the reduction
  // and the gathering half, or one of them.
  void Ring(const std::vector<int64_t>& ranks, double bytes, int halves) {
    const size_t n = ranks.size();
    const double chunk = bytes / static_cast<double>(n);
    for (int half = 0; half < halves; ++half) {
      for (size_t step = 0; step + 1 < n; ++step) {
        for (size_t i = 0; i < n; ++i) Send(ranks[i], ranks[(i + 1) % n], chunk);
      }
    }
  }

  void Expect(const StepTraffic& step) const {
    double inside = 0, network = 0;
    std::map<int64_t, double> out, in, card_out, card_in;
    for (const auto& [pair, bytes] : sent_) {
      const auto& [from, to] = pair;
      const auto a = static_cast<size_t>(from);
      const auto b = static_cast<size_t>(to);
      if (world_.domain[a] == world_.domain[b]) {
        inside += bytes;
        card_out[from] += bytes;
        card_in[to] += bytes;
      } else {
        network += bytes;
        out[world_.node[a]] += bytes;
        in[world_.node[b]] += bytes;
      }
    }
    const auto most = [](const std::map<int64_t, double>& a, const std::map<int64_t, double>& b) {
      double value = 0;
      for (const auto* map : {&a, &b}) {
        for (const auto& [key, bytes] : *map) value = std::max(value, bytes);
      }
      return value;
    };
    const auto near = [](Bytes bytes, double expected) {
      EXPECT_NEAR(static_cast<double>(bytes.count()), expected, 5);
    };
    near(step.sent.inside, inside);
    near(step.sent.network, network);
    near(step.node_network, most(out, in));
    near(step.rank_inside, most(card_out, card_in));
  }

 private:
  TrafficWorld world_;
  std::map<std::pair<int64_t, int64_t>, double> sent_;
};

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_TRAFFIC_WIRE_H_
