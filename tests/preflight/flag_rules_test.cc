#include "preflight/flag_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using ::testing::ElementsAre;

// "id: subject: message; fix" of each.
std::vector<std::string> Told(const std::string& engine, const std::vector<GivenFlag>& flags) {
  std::vector<std::string> told;
  for (const Finding& f : CheckFlagRules(engine, flags)) {
    told.push_back(f.id + ": " + f.subject + ": " + f.message + "; " + f.fix);
  }
  return told;
}

TEST(FlagRulesTest, OneWantsAnother) {
  EXPECT_THAT(Told("vllm", {{"--max-loras", "4"}}),
              ElementsAre("command.idle: --max-loras: has no effect without --enable-lora; give "
                          "--enable-lora, or leave it out"));
  EXPECT_THAT(Told("vllm", {{"--max-loras", "4"}, {"--enable-lora", "true"}}), ElementsAre());
  EXPECT_THAT(Told("vllm", {{"--enable-auto-tool-choice", "true"}}),
              ElementsAre("command.contradiction: --enable-auto-tool-choice: is refused without "
                          "--tool-call-parser: Error: --enable-auto-tool-choice requires "
                          "--tool-call-parser; give --tool-call-parser, or leave it out"));
  EXPECT_THAT(Told("vllm", {{"--nnodes", "2"}}),
              ElementsAre("command.incomplete: --nnodes: without --master-addr: the other nodes "
                          "look for node 0 at 127.0.0.1; give --master-addr"));
  EXPECT_THAT(Told("vllm", {{"--nnodes", "1"}}), ElementsAre());
  EXPECT_THAT(Told("sglang", {{"--nnodes", "2"}}),
              ElementsAre("command.contradiction: --nnodes: is refused without --dist-init-addr: "
                          "the nodes have no address to meet at; give --dist-init-addr, or leave "
                          "it out"));
}

TEST(FlagRulesTest, ServersThatNodesDoNotHave) {
  EXPECT_THAT(Told("vllm", {{"--headless", "true"}, {"--port", "8000"}}),
              ElementsAre("command.idle: --port: has no effect beside --headless: no API server is "
                          "started; leave one of the two out"));
  EXPECT_THAT(Told("vllm", {{"--enable-log-outputs", "true"}}).size(), 1U);
  EXPECT_THAT(Told("sglang", {{"--export-metrics-to-file", "true"}}).size(), 1U);
  EXPECT_THAT(Told("sglang", {{"--default-priority-value", "3"}}).size(), 1U);
}

TEST(FlagRulesTest, OneStandsInAnothersWay) {
  const std::vector<GivenFlag> both = {{"--gpu-memory-utilization", "0.9"},
                                       {"--kv-cache-memory-bytes", "20G"}};
  EXPECT_THAT(Told("vllm", both),
              ElementsAre("command.idle: --gpu-memory-utilization: has no effect beside "
                          "--kv-cache-memory-bytes: a given cache goes past the budget; leave one "
                          "of the two out"));
  EXPECT_THAT(Told("sglang", both), ElementsAre());
  // A switch that was turned off is not there; an object may be given by its fields.
  EXPECT_THAT(Told("vllm", {{"--cudagraph-capture-sizes", "1"}, {"--enforce-eager", "false"}}),
              ElementsAre());
  EXPECT_THAT(Told("vllm", {{"--eplb-config.num_redundant_experts", "8"}}).size(), 1U);
}

}  // namespace
}  // namespace shardplan
