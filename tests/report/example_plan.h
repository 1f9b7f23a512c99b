// A plan made by hand: two stages of two ranks on two nodes of two 16 GiB cards. Every figure is
// round, so that texts can be checked by eye.
#ifndef SHARDPLAN_TESTS_REPORT_EXAMPLE_PLAN_H_
#define SHARDPLAN_TESTS_REPORT_EXAMPLE_PLAN_H_

#include <string>

#include "shardplan/base/units.h"
#include "shardplan/plan/plan.h"

namespace shardplan::testing_support {

inline Bytes GiB(double value) { return Gibibytes(value).ToBytes(); }

inline RankPlan ExampleRank(const RankPlace& place) {
  RankPlan rank;
  rank.place = place;
  rank.numa_node = place.gpu;
  rank.device_total = GiB(16);
  rank.capacity = GiB(15.5);
  rank.budget = GiB(14);
  const double weights = place.stage == 0 ? 8 : 7;
  rank.weights = GiB(weights);
  rank.offloaded = GiB(1);
  rank.pinned_allocated = GiB(1.5);
  rank.detail = {GiB(weights + 0.75), GiB(0.125), GiB(0.125), Bytes()};
  rank.kv_available = Range(GiB(3), GiB(4), GiB(5));
  rank.bytes_per_block = Bytes(2 * kMiB);
  rank.headroom = GiB(place.stage == 0 ? 2 : 3);
  rank.load_peak = GiB(weights + 1.5);
  Ledger ledger(rank.device_total, rank.capacity, Range(rank.budget));
  ledger.Add({Account::kDriverReserved, false, Range(GiB(0.5)), Basis::kMeasured, "a reading"});
  ledger.Add({Account::kCudaContext, false, Range(GiB(0.25), GiB(0.5), GiB(1)), Basis::kAssumed,
              "a guess"});
  ledger.Add({Account::kWeights, true, Range(rank.weights), Basis::kExact, "headers"});
  ledger.Add({Account::kActivations, true, Range(GiB(1), GiB(1.5), GiB(2)), Basis::kDerived,
              "the binding phase"});
  ledger.Add({Account::kKvCache, true, Range(GiB(4)), Basis::kDerived, "2,048 blocks"});
  ledger.Close();
  rank.ledger = ledger;
  return rank;
}

inline Plan ExamplePlan() {
  Plan plan;
  plan.verdict = plan.verdict_low = plan.verdict_high = Verdict::kFits;
  plan.source = "/models/Tiny MoE";
  plan.architecture = "TinyForCausalLM";
  plan.family = "tiny";
  plan.totals = {1234, Bytes(30'000'000'000), 15'000'000'000, 15'100'000'000};
  plan.file_bytes = Bytes(30'000'123'456);
  plan.shape_basis = Basis::kExact;
  plan.engine = "vllm";
  plan.engine_version = "9.9.9";
  plan.defaults = {{"dtype", "bfloat16"}, {"block-size", "16"}};
  plan.sizes.tp = 2;
  plan.sizes.pp = 2;
  plan.stages = {{0, 5}, {5, 4}};
  plan.gpu = "toy-16";
  plan.gpu_name = "Toy 16";
  plan.nodes = 2;
  plan.gpus_per_node = 2;
  plan.even_share = {
      4, GiB(16), GiB(64), Bytes(30'000'123'456), Bytes(7'500'030'864), Bytes(9'679'838'320), true};
  for (const RankPlace& place : PlaceRanks(plan.sizes, 2)) plan.ranks.push_back(ExampleRank(place));
  for (int64_t stage = 0; stage < 2; ++stage) {
    plan.activations.push_back({stage,
                                Range(GiB(1), GiB(1.5), GiB(2)),
                                "moe_combine",
                                "--max-num-batched-tokens",
                                Bytes(398'016),
                                {{"embedding", GiB(0.25)}},
                                {{"moe", GiB(1)}, {"moe_combine", GiB(1.25)}}});
  }
  KvPlan kv;
  kv.dtype = "auto";
  kv.block_tokens = 768;
  kv.bytes_per_block = Bytes(2 * kMiB);
  kv.page = Bytes(kMiB / 2);
  kv.bytes_per_block_by_stage = {Bytes(2 * kMiB), Bytes(2 * kMiB)};
  kv.attention_layers_by_stage = {4, 4};
  kv.groups = {{"KDA states", 0, 7, 0, kv.page, 3}, {"sliding window", 128, 8, 768, kv.page, 23}};
  kv.num_blocks = 2048;
  kv.num_blocks_low = 1536;
  kv.num_blocks_high = 2560;
  kv.blocks_per_request = 869;
  kv.max_concurrency = 2.3567;
  kv.tokens = 1'234'955;
  kv.full_window_requests = 2;
  plan.kv = kv;
  plan.window = {524'288, 32'768, 491'520};
  for (int64_t node = 0; node < 2; ++node) {
    plan.host.push_back({node, GiB(2), GiB(3), {{0, GiB(1), GiB(1.5)}, {1, GiB(1), GiB(1.5)}}});
    LaunchPlan launch;
    launch.node = node;
    launch.env = {{"VLLM_PP_LAYER_PARTITION", "5,4"}};
    launch.argv = {
        "vllm",          "serve",        "/models/Tiny MoE", "--node-rank", std::to_string(node),
        "--master-addr", "<MASTER_ADDR>"};
    plan.launch.push_back(launch);
  }
  plan.files = {{0,
                 {"model-00001-of-00004.safetensors", "model-00002-of-00004.safetensors",
                  "model-00003-of-00004.safetensors"},
                 {"model-00001-of-00004.safetensors", "model-00003-of-00004.safetensors"},
                 Bytes(20'000'000'000)},
                {1,
                 {"model-00003-of-00004.safetensors", "model-00004-of-00004.safetensors"},
                 {"model-00004-of-00004.safetensors"},
                 Bytes(10'000'123'456)}};
  plan.findings = {{"capacity.max_num_seqs", Severity::kWarning, "--max-num-seqs 64",
                    "64 is a scheduler limit, not a promise", "count on 2 full windows"},
                   {"model.mtp_absent", Severity::kNote, "mtp", "not stored", ""}};
  return plan;
}

// The same, short of memory.
inline Plan ShortPlan() {
  Plan plan = ExamplePlan();
  plan.verdict = plan.verdict_low = plan.verdict_high = Verdict::kDoesNotFit;
  plan.limiting = {1, Account::kKvCache, GiB(3.25)};
  plan.findings.insert(plan.findings.begin(),
                       {"fit.window", Severity::kError, "rank 1 (stage 0)",
                        "vLLM would say: no room.", "--max-model-len 1000 fits"});
  return plan;
}

inline Plan IllegalPlan() {
  Plan plan = ExamplePlan();
  plan.verdict = plan.verdict_low = plan.verdict_high = Verdict::kIllegal;
  plan.ranks.clear();
  plan.activations.clear();
  plan.kv.reset();
  plan.host.clear();
  plan.files.clear();
  plan.launch.clear();
  plan.findings = {{"layout.heads", Severity::kError, "--tensor-parallel-size 7",
                    "Total number of attention heads (96) must be divisible by tensor parallel "
                    "size (7).",
                    "nearest legal tensor-parallel sizes: 6 or 8"}};
  return plan;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_REPORT_EXAMPLE_PLAN_H_
