#include "shardplan/model/precision.h"

#include <gtest/gtest.h>

#include <string>

#include "support/example_model.h"
#include "support/temp_dir.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::ExampleConfigPath;

Model Kimi(const std::string& policy) {
  Model model = *LoadModel(ExampleConfigPath("kimi-k3"));
  PrecisionPolicy parsed;
  EXPECT_TRUE(ParsePrecision(policy, &parsed).has_value()) << policy;
  ApplyPrecision(parsed, &model);
  return model;
}

Bytes BytesOf(const Model& model, Role role) {
  Bytes bytes;
  for (const ModuleRow& row : model.table.rows) {
    if (row.role != role) continue;
    for (const StoredTensor& tensor : StoredTensors(row)) {
      bytes += *SizeOf(tensor.dtype, tensor.shape) * row.Count();
    }
  }
  return bytes;
}

// Routed experts of Kimi-K3: 92 layers × 896 experts × 3 matrices of 3,072 × 3,584.
constexpr int64_t kExpertWeights = int64_t{92} * 896 * 3 * 3072 * 3584;

TEST(Precision, ExpertsOfKimiK3) {
  EXPECT_EQ(BytesOf(Kimi("experts=bf16"), Role::kRoutedExpert), Bytes(2 * kExpertWeights));
  EXPECT_EQ(BytesOf(Kimi("experts=mxfp4"), Role::kRoutedExpert),
            Bytes(kExpertWeights / 2 + kExpertWeights / 32));
  const int64_t shapes = int64_t{92} * 896 * 3 * 2 * 4;  // weight_shape
  EXPECT_EQ(BytesOf(Kimi("experts=int4:128"), Role::kRoutedExpert),
            Bytes(kExpertWeights / 2 + kExpertWeights / 128 * 2 + shapes));
  EXPECT_EQ(BytesOf(Kimi("experts=int4:64:zp"), Role::kRoutedExpert),
            Bytes(kExpertWeights / 2 + kExpertWeights / 64 * 2 + kExpertWeights / 64 / 2 + shapes));
  EXPECT_EQ(BytesOf(Kimi("experts=fp8:128x128"), Role::kRoutedExpert),
            Bytes(kExpertWeights + kExpertWeights / (128 * 128) * 4));
}

TEST(Precision, LaterRulesOverride) {
  const Model model = Kimi("all=fp8,experts=int4:128,router=bf16");
  EXPECT_EQ(model.arch.quantization, "int4");
  for (const ModuleRow& row : model.table.rows) {
    if (row.role == Role::kRoutedExpert) {
      EXPECT_EQ(row.quant.scheme, QuantScheme::kIntPacked) << row.name;
    } else if (row.role == Role::kRouter || row.role == Role::kNorm) {
      EXPECT_TRUE(row.quant.plain()) << row.name;
    } else if (row.role == Role::kEmbedding || row.role == Role::kHead) {
      EXPECT_EQ(row.quant.scheme, QuantScheme::kFp8Tensor) << row.name;
    }
  }
  EXPECT_TRUE(model.hypothetical);
  EXPECT_EQ(model.shape_basis, Basis::kDerived);
  EXPECT_EQ(model.totals.payload, Totals(model.table).payload);
}

TEST(Precision, ParametersStayTheSame) {
  const int64_t before = LoadModel(ExampleConfigPath("kimi-k3"))->totals.parameters;
  for (const char* policy : {"all=bf16", "all=fp8", "experts=nvfp4", "all=int8"}) {
    EXPECT_EQ(Kimi(policy).totals.parameters, before) << policy;
  }
}

TEST(Precision, WeightsAndScalesAreItemised) {
  const Model model = Kimi("experts=int4:128");
  const auto it = std::find_if(model.findings.begin(), model.findings.end(),
                               [](const Finding& f) { return f.id == "model.precision"; });
  ASSERT_NE(it, model.findings.end());
  EXPECT_EQ(it->subject, "experts=int4:128");
  EXPECT_EQ(
      it->message,
      "as if stored so: 1,361,370,415,104 B of weights and 42,544,803,840 B of scales in the file");
}

TEST(Precision, NothingAskedChangesNothing) {
  const Model model = Kimi("mlp=bf16");  // as it is stored
  EXPECT_EQ(model.totals.payload, LoadModel(ExampleConfigPath("kimi-k3"))->totals.payload);
}

TEST(Precision, Mistakes) {
  const auto error = [](const std::string& text) {
    PrecisionPolicy policy;
    const Status status = ParsePrecision(text, &policy);
    return status ? "parsed" : status.error().ToString();
  };
  EXPECT_EQ(error("experts"),
            "--precision experts: expected ROLE=FORMAT; for example "
            "experts=int4:128,attention=fp8:128x128");
  EXPECT_EQ(error("expert=int8"),
            "--precision expert=int8: 'expert' is no role of a model; did you mean experts or "
            "shared_experts?");
  for (const char* bad : {"experts=int4", "experts=int4:7", "experts=int4:128:x", "experts=fp8:128",
                          "experts=fp8:0x128", "experts=bf16:3", "experts=", "all=q4_k"}) {
    EXPECT_NE(error(bad).find("is no format"), std::string::npos) << bad;
  }
  EXPECT_NE(error("experts=int8,").find("expected ROLE=FORMAT"), std::string::npos);
}

}  // namespace
}  // namespace shardplan
