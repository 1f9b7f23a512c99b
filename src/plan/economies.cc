#include "plan/economies.h"

#include <charconv>
#include <cstdint>
#include <string_view>

namespace shardplan {
namespace {

// The engine's default of an option; zero where the plan tells none.
int64_t DefaultOf(const Plan& plan, std::string_view option) {
  for (const auto& [name, value] : plan.defaults) {
    if (name != option) continue;
    int64_t number = 0;
    const char* const end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    return error == std::errc() && rest == end ? number : 0;
  }
  return 0;
}

// The steps of a ladder below the default.
constexpr int64_t kSequences[] = {256, 64, 16, 4};
constexpr int64_t kChunks[] = {4096, 2048};

}  // namespace

std::vector<Economy> EconomiesOf(const Deployment& deployment, const GivenSizes& given,
                                 const Plan& plan) {
  std::vector<Economy> out = {{{}, deployment}};
  if (deployment.engine != "vllm") return out;
  Economy now = out.front();
  const auto step = [&](const char* option, int64_t value, std::optional<int64_t>* setting) {
    if (!now.chosen.empty() && now.chosen.back().first == option) now.chosen.pop_back();
    now.chosen.emplace_back(option, std::to_string(value));
    *setting = value;
    out.push_back(now);
  };
  EngineSettings& settings = now.deployment.settings;
  if (!given.sequences) {
    const int64_t most = DefaultOf(plan, "max-num-seqs");
    for (const int64_t count : kSequences) {
      if (count >= most || count < deployment.require_concurrency) continue;
      step("max-num-seqs", count, &settings.max_num_seqs);
    }
  }
  if (!given.chunk) {
    const int64_t most = DefaultOf(plan, "max-num-batched-tokens");
    for (const int64_t tokens : kChunks) {
      if (tokens < most) step("max-num-batched-tokens", tokens, &settings.max_num_batched_tokens);
    }
  }
  if (!given.graphs && !settings.enforce_eager) {
    settings.enforce_eager = true;
    now.chosen.emplace_back("enforce-eager", "");
    out.push_back(now);
  }
  return out;
}

}  // namespace shardplan
