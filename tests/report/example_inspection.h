// An inspection made by hand: a hybrid of nine layers in three shards.
#ifndef SHARDPLAN_TESTS_REPORT_EXAMPLE_INSPECTION_H_
#define SHARDPLAN_TESTS_REPORT_EXAMPLE_INSPECTION_H_

#include <string>

#include "shardplan/base/units.h"
#include "shardplan/plan/inspection.h"

namespace shardplan::testing_support {

inline Inspection ExampleInspection() {
  Inspection i;
  i.source = "/models/Tiny MoE";
  i.architecture = "TinyForCausalLM";
  i.family = "tiny";
  i.quantization = "fp8";
  i.basis = Basis::kExact;
  const Amount embedding = {1, 1000, 1000, Bytes(kGiB)};
  const Amount experts = {900, 9000, 9100, Bytes(8 * kGiB)};
  const Amount scales = {900, 0, 100, Bytes(kGiB)};
  i.totals = embedding + experts + scales;
  i.active_parameters = 2500;
  i.file_bytes = i.totals.bytes + Bytes(4096);
  i.header_bytes = Bytes(4096);
  for (int n = 1; n <= 3; ++n) {
    i.shards.push_back({"model-0000" + std::to_string(n) + "-of-00003.safetensors",
                        Bytes(3 * kGiB + 1024), Bytes(1024), Bytes(3 * kGiB), 600});
  }
  i.by_dtype = {{DType::kF8E4M3, experts}, {DType::kBF16, embedding}, {DType::kF32, scales}};
  i.by_role = {
      {"embedding", embedding, {{DType::kBF16, embedding}}},
      {"routed_expert", experts + scales, {{DType::kF8E4M3, experts}, {DType::kF32, scales}}}};
  i.outside = {i.by_role[0]};
  for (int64_t layer = 0; layer < 9; ++layer) {
    i.layers.push_back(
        {layer, layer % 3 == 2 ? "mla" : "kda", "moe", {200, 1000, 1022, Bytes(kGiB)}});
  }
  i.stages = {{{0, 5}, Bytes(5 * kGiB), Bytes(kGiB), Bytes()},
              {{5, 4}, Bytes(4 * kGiB), Bytes(), Bytes()}};
  i.largest = {{{"embed_tokens.weight"}, "embedding", DType::kBF16, Shape{100, 10}, 1, Bytes(kGiB)},
               {{"layers.{L}.experts.{E}.w1.weight", "layers.{L}.experts.{E}.w3.weight"},
                "routed_expert",
                DType::kF8E4M3,
                Shape{10, 5},
                600,
                Bytes(9 * kMiB)}};
  i.findings = {{"checkpoint.no_index", Severity::kWarning, "dir", "no index", "fetch it"}};
  return i;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_REPORT_EXAMPLE_INSPECTION_H_
