#include "preflight/flag_relations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "subject: message; fix" of each.
std::vector<std::string> RelationsTold(const char* engine, const std::vector<GivenFlag>& flags) {
  std::vector<std::string> told;
  for (const Finding& f : CheckFlagRelations(engine, flags)) {
    EXPECT_EQ(f.id, "command.contradiction");
    EXPECT_EQ(f.severity, Severity::kError);
    told.push_back(f.subject + ": " + f.message + "; " + f.fix);
  }
  return told;
}

TEST(FlagRelationsTest, DataParallelRanks) {
  const GivenFlag dp{"--data-parallel-size", "8"};
  EXPECT_THAT(RelationsTold("vllm", {dp, {"--data-parallel-size-local", "8"}}), IsEmpty());
  EXPECT_THAT(RelationsTold("vllm", {dp, {"--data-parallel-size-local", "0"}}), IsEmpty());
  EXPECT_THAT(RelationsTold("vllm", {dp, {"--data-parallel-size-local", "9"}}),
              ElementsAre("--data-parallel-size-local 9: data_parallel_size_local (9) must be <= "
                          "data_parallel_size (8); at most 8, or a larger --data-parallel-size"));
  EXPECT_THAT(RelationsTold("vllm", {{"--data-parallel-size-local", "2"}}),
              ElementsAre(HasSubstr("must be <= data_parallel_size (1)")));
  EXPECT_THAT(RelationsTold("vllm", {dp, {"--data-parallel-rank", "7"}}), IsEmpty());
  EXPECT_THAT(RelationsTold("vllm", {dp, {"--data-parallel-rank", "8"}}),
              ElementsAre("--data-parallel-rank 8: data_parallel_rank (8) must be in the range [0, "
                          "8); a number below 8"));
  const GivenFlag local{"--data-parallel-size-local", "4"};
  EXPECT_THAT(RelationsTold("vllm", {dp, local, {"--data-parallel-start-rank", "4"}}), IsEmpty());
  EXPECT_THAT(RelationsTold("vllm", {dp, local, {"--data-parallel-start-rank", "6"}}),
              ElementsAre("--data-parallel-start-rank 6: the 4 rank(s) from 6 on pass the 8 of "
                          "--data-parallel-size; at most 4"));
  // What is no number is said by who reads it.
  EXPECT_THAT(
      RelationsTold("vllm", {{"--data-parallel-size", "x"}, {"--data-parallel-size-local", "9"}}),
      IsEmpty());
}

TEST(FlagRelationsTest, ServersOfVllm) {
  EXPECT_THAT(RelationsTold("vllm", {{"--headless", "true"}, {"--api-server-count", "4"}}),
              ElementsAre("--api-server-count 4: --api-server-count=4 cannot be used with "
                          "--headless (no API servers are started in headless mode).; leave one "
                          "of the two out"));
  EXPECT_THAT(RelationsTold("vllm", {{"--headless", "true"}, {"--api-server-count", "0"}}),
              IsEmpty());
  const GivenFlag dp{"--data-parallel-size", "8"};
  EXPECT_THAT(
      RelationsTold("vllm", {dp, {"--headless", "true"}, {"--data-parallel-hybrid-lb", "true"}}),
      ElementsAre(HasSubstr("is not applicable in headless mode")));
  EXPECT_THAT(
      RelationsTold("vllm", {dp, {"--headless", "true"}, {"--data-parallel-start-rank", "4"}}),
      IsEmpty());
  EXPECT_THAT(
      RelationsTold("vllm",
                    {dp, {"--data-parallel-rank", "1"}, {"--data-parallel-hybrid-lb", "true"}}),
      ElementsAre(HasSubstr("Cannot use more than one data parallel load balancing mode.")));
  EXPECT_THAT(
      RelationsTold("vllm",
                    {dp, {"--data-parallel-rank", "1"}, {"--data-parallel-external-lb", "true"}}),
      IsEmpty());
  EXPECT_THAT(RelationsTold("vllm", {{"--data-parallel-external-lb", "true"}}),
              ElementsAre(HasSubstr("can only be set when data_parallel_size > 1")));
}

TEST(FlagRelationsTest, ContextsAndPrefillsOfVllm) {
  EXPECT_THAT(RelationsTold("vllm", {{"--dcp-comm-backend", "a2a"}}),
              ElementsAre(HasSubstr("requires decode_context_parallel_size > 1.")));
  EXPECT_THAT(RelationsTold(
                  "vllm", {{"--dcp-comm-backend", "a2a"}, {"--decode-context-parallel-size", "2"}}),
              IsEmpty());
  EXPECT_THAT(
      RelationsTold("vllm",
                    {{"--prefill-context-parallel-size", "2"}, {"--data-parallel-size", "2"}}),
      ElementsAre("--prefill-context-parallel-size 2: PCP does not support data parallelism yet.; "
                  "leave one of the two out"));
  const GivenFlag partial{"--max-num-partial-prefills", "2"};
  EXPECT_THAT(RelationsTold("vllm", {partial, {"--enable-chunked-prefill", "false"}}),
              ElementsAre(HasSubstr("Chunked prefill must be enabled")));
  EXPECT_THAT(RelationsTold("vllm", {partial, {"--max-long-partial-prefills", "3"}}),
              ElementsAre("--max-long-partial-prefills 3: self.max_long_partial_prefills=3 must be "
                          "less than or equal to self.max_num_partial_prefills=2.; at most 2"));
  EXPECT_THAT(
      RelationsTold(
          "vllm", {partial, {"--long-prefill-token-threshold", "9000"}, {"--max-model-len", "8K"}}),
      ElementsAre(HasSubstr("cannot be greater than the max_model_len (8192).")));
}

TEST(FlagRelationsTest, AdaptersAndTransfersOfVllm) {
  const GivenFlag lora{"--enable-lora", "true"};
  EXPECT_THAT(RelationsTold("vllm", {lora, {"--max-loras", "4"}, {"--max-cpu-loras", "1"}}),
              ElementsAre("--max-cpu-loras 1: max_cpu_loras (1) must be >= max_loras (4).; at "
                          "least 4"));
  EXPECT_THAT(RelationsTold("vllm", {lora, {"--max-cpu-loras", "1"}}), IsEmpty());
  EXPECT_THAT(
      RelationsTold("vllm", {{"--kv-transfer-config", R"({"kv_connector": "NixlConnector"})"}}),
      ElementsAre("--kv-transfer-config: Please specify kv_role when kv_connector is set; "
                  R"("kv_role": "kv_producer", "kv_consumer" or "kv_both")"));
  EXPECT_THAT(
      RelationsTold("vllm", {{"--kv-transfer-config",
                              R"({"kv_connector": "NixlConnector", "kv_role": "kv_both"})"}}),
      IsEmpty());
  EXPECT_THAT(RelationsTold("vllm", {{"--kv-transfer-config", "$KV"}}), IsEmpty());
}

TEST(FlagRelationsTest, ChunksOfSglangAreWholePages) {
  const GivenFlag page{"--page-size", "64"};
  EXPECT_THAT(RelationsTold("sglang", {page, {"--chunked-prefill-size", "100"}}),
              ElementsAre("--chunked-prefill-size 100: chunked_prefill_size must be divisible by "
                          "page_size; a multiple of 64"));
  EXPECT_THAT(RelationsTold("sglang", {page, {"--chunked-prefill-size", "8192"}}), IsEmpty());
  EXPECT_THAT(RelationsTold("sglang", {page, {"--chunked-prefill-size", "-1"}}), IsEmpty());
}

TEST(FlagRelationsTest, Sglang) {
  const GivenFlag priorities{"--enable-priority-scheduling", "true"};
  EXPECT_THAT(RelationsTold("sglang", {priorities, {"--schedule-policy", "lof"}}), IsEmpty());
  EXPECT_THAT(RelationsTold("sglang", {priorities, {"--schedule-policy", "lpm"}}),
              ElementsAre("--schedule-policy lpm: To use priority scheduling, schedule_policy must "
                          "be 'fcfs' or 'lof'. 'lpm' is not supported.; fcfs or lof, or no "
                          "--enable-priority-scheduling"));
  EXPECT_THAT(RelationsTold("sglang", {{"--retraction-policy", "priority"}}),
              ElementsAre(HasSubstr("requires --enable-priority-scheduling")));
  EXPECT_THAT(RelationsTold("sglang", {{"--enable-lora", "true"}, {"--max-lora-rank", "16"}}),
              ElementsAre(HasSubstr("specify both --max-lora-rank and --lora-target-modules")));
  EXPECT_THAT(RelationsTold("sglang", {{"--lora-paths", "a=/a"}, {"--max-loaded-loras", "4"}}),
              ElementsAre(HasSubstr("max_loaded_loras=4, max_loras_per_batch=8; at least 8")));
  EXPECT_THAT(RelationsTold("sglang", {{"--grpc-port", "30000"}}),
              ElementsAre("--grpc-port 30000: --grpc-port (30000) must differ from --port (30000); "
                          "another port"));
  EXPECT_THAT(RelationsTold("sglang", {{"--grpc-port", "30000"}, {"--port", "8000"}}), IsEmpty());
  EXPECT_THAT(RelationsTold("sglang", {{"--enable-two-batch-overlap", "true"}}),
              ElementsAre(HasSubstr("SGLang refuses it without either")));
  EXPECT_THAT(RelationsTold("sglang", {{"--enable-two-batch-overlap", "true"},
                                       {"--moe-a2a-backend", "deepep"}}),
              IsEmpty());
}

TEST(FlagRelationsTest, AddressesHavePorts) {
  const auto told = [](const char* address) {
    return RelationsTold("sglang", {{"--dist-init-addr", address}});
  };
  for (const char* address : {"10.0.0.1:5000", "node-0:5000", "[fd00::1]:5000", "$HEAD", "<A>:1"}) {
    EXPECT_THAT(told(address), IsEmpty()) << address;
  }
  EXPECT_THAT(told("10.0.0.1"), ElementsAre("--dist-init-addr 10.0.0.1: expected HOST:PORT, found "
                                            "no port; such as 10.0.0.1:5000"));
  EXPECT_THAT(told("node-0:port"), ElementsAre(HasSubstr("such as node-0:5000")));
  EXPECT_THAT(told("fd00::1"), ElementsAre(HasSubstr("an IPv6 address stands in brackets")));
}

}  // namespace
}  // namespace shardplan
