#include "shardplan/model/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/quantization_plan.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

struct RoleName {
  std::string_view name;
  std::vector<Role> roles;
};

const std::vector<RoleName>& RoleNames() {
  static const std::vector<RoleName> names = {
      {"experts", {Role::kRoutedExpert}},
      {"shared_experts", {Role::kSharedExpert}},
      {"mlp", {Role::kDenseMlp}},
      {"attention", {Role::kAttention, Role::kLinearAttention}},
      {"linear_attention", {Role::kLinearAttention}},
      {"latent", {Role::kLatentProjection}},
      {"router", {Role::kRouter}},
      {"embeddings", {Role::kEmbedding, Role::kHead}},
      {"head", {Role::kHead}},
      {"vision", {Role::kVision, Role::kProjector}},
      {"all",
       {Role::kRoutedExpert, Role::kSharedExpert, Role::kDenseMlp, Role::kAttention,
        Role::kLinearAttention, Role::kLatentProjection, Role::kRouter, Role::kEmbedding,
        Role::kHead, Role::kAttentionResidual, Role::kVision, Role::kProjector, Role::kDraft}},
  };
  return names;
}

bool ParsePositive(std::string_view text, int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && *out > 0 && *out <= 1 << 16;
}

// "int4:128:zp" → {"int4", "128", "zp"}.
std::vector<std::string_view> Fields(std::string_view text) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

bool ParseFp8(const std::vector<std::string_view>& fields, QuantFormat* out) {
  out->scheme = QuantScheme::kFp8Tensor;
  if (fields.size() == 1 || fields[1] == "tensor") return fields.size() <= 2;
  if (fields.size() != 2) return false;
  if (fields[1] == "channel") {
    out->scheme = QuantScheme::kFp8Channel;
    return true;
  }
  const size_t cross = fields[1].find('x');
  out->scheme = QuantScheme::kFp8Block;
  return cross != std::string_view::npos &&
         ParsePositive(fields[1].substr(0, cross), &out->block_out) &&
         ParsePositive(fields[1].substr(cross + 1), &out->block_in);
}

bool ParseInt4(const std::vector<std::string_view>& fields, QuantFormat* out) {
  out->scheme = QuantScheme::kIntPacked;
  out->compressed_names = true;
  out->scale_dtype = DType::kBF16;
  if (fields.size() < 2 || fields.size() > 3) return false;
  if (fields.size() == 3 && fields[2] != "zp") return false;
  out->zero_points = fields.size() == 3;
  if (fields[1] == "channel") {
    out->block_in = 0;
    return true;
  }
  return ParsePositive(fields[1], &out->block_in) &&
         (out->block_in == 32 || out->block_in == 64 || out->block_in == 128);
}

bool ParseFormat(std::string_view text, PrecisionRule* rule) {
  const std::vector<std::string_view> fields = Fields(text);
  const std::string_view name = fields[0];
  if (name == "fp8") return ParseFp8(fields, &rule->format);
  if (name == "int4") return ParseInt4(fields, &rule->format);
  if (fields.size() != 1) return false;
  if (name == "bf16" || name == "fp16" || name == "fp32") {
    rule->dtype = name == "bf16" ? DType::kBF16 : name == "fp16" ? DType::kF16 : DType::kF32;
    return true;
  }
  if (name == "int8") {
    rule->format.scheme = QuantScheme::kInt8;
  } else if (name == "mxfp4") {
    rule->format = {QuantScheme::kMxfp4, 1, 32};
  } else if (name == "nvfp4") {
    rule->format = {QuantScheme::kNvfp4, 1, 16};
    rule->format.input_scale = true;
  } else {
    return false;
  }
  return true;
}

Status ParseRule(std::string_view text, PrecisionPolicy* out) {
  const size_t equals = text.find('=');
  const std::string subject = "--precision " + Printable(text, 60);
  if (equals == std::string_view::npos) {
    return Fail(ErrorCode::kUsage, subject, "expected ROLE=FORMAT",
                "for example experts=int4:128,attention=fp8:128x128");
  }
  const std::string_view role = text.substr(0, equals);
  PrecisionRule rule;
  rule.text = std::string(text);
  std::vector<std::string> known;
  for (const RoleName& name : RoleNames()) {
    if (name.name == role) rule.roles = name.roles;
    known.emplace_back(name.name);
  }
  if (rule.roles.empty()) {
    const std::vector<std::string> close = CloseNames(std::string(role), known);
    return Fail(ErrorCode::kUsage, subject,
                fmt::format("'{}' is no role of a model", Printable(role, 30)),
                close.empty() ? fmt::format("one of {}", fmt::join(known, ", "))
                              : "did you mean " + JoinWithOr(close) + "?");
  }
  if (!ParseFormat(text.substr(equals + 1), &rule)) {
    return Fail(ErrorCode::kUsage, subject,
                fmt::format("'{}' is no format", Printable(text.substr(equals + 1), 30)),
                "bf16, fp16, fp32, fp8, fp8:channel, fp8:128x128, int8, int4:32, int4:64, int4:128 "
                "(int4:128:zp with zero points), mxfp4 or nvfp4");
  }
  out->rules.push_back(std::move(rule));
  return {};
}

// The rule that counts for a row, or nothing.
const PrecisionRule* RuleFor(const PrecisionPolicy& policy, const ModuleRow& row) {
  const PrecisionRule* found = nullptr;
  for (const PrecisionRule& rule : policy.rules) {
    if (std::find(rule.roles.begin(), rule.roles.end(), row.role) != rule.roles.end()) {
      found = &rule;
    }
  }
  return found;
}

// Embeddings and heads are matrices too; engines keep them in tensors without a format.
bool IsMatrix(const ModuleRow& row) {
  if (!row.stored) return false;
  if (row.form != Form::kTensor) return true;
  return (row.role == Role::kEmbedding || row.role == Role::kHead) && row.shape.dims.size() == 2;
}

void Store(const PrecisionRule& rule, ModuleRow* row) {
  constexpr std::string_view kWeight = ".weight";
  if (!rule.format.plain()) {
    if (row->form == Form::kTensor) {
      for (std::string* name : {&row->name, &row->param}) {
        if (name->ends_with(kWeight)) name->resize(name->size() - kWeight.size());
      }
      row->form = Form::kLinear;
    } else if (row->form == Form::kStacked) {
      row->form = Form::kLinear;  // quantizing tools write expert by expert
      row->name += ".{E}";
    }
  }
  row->quant = rule.format;
  row->device_quant.reset();
  row->dtype = rule.dtype;
  row->device_dtype = rule.dtype;
}

struct Cost {
  Bytes weights;
  Bytes scales;
};

Cost CostOf(const ModuleRow& row) {
  Cost cost;
  for (const StoredTensor& tensor : StoredTensors(row)) {
    const Bytes bytes = SizeOf(tensor.dtype, tensor.shape).value_or(Bytes()) * row.Count();
    (tensor.parameters > 0 ? cost.weights : cost.scales) += bytes;
  }
  return cost;
}

}  // namespace

Status ParsePrecision(std::string_view text, PrecisionPolicy* out) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    SHARDPLAN_RETURN_IF_ERROR(ParseRule(text.substr(begin, end - begin), out));
    begin = end + 1;
  }
  return {};
}

void ApplyPrecision(const PrecisionPolicy& policy, Model* model) {
  if (policy.empty()) return;
  std::vector<Cost> costs(policy.rules.size());
  for (ModuleRow& row : model->table.rows) {
    const PrecisionRule* rule = IsMatrix(row) ? RuleFor(policy, row) : nullptr;
    if (!rule) continue;
    Store(*rule, &row);
    const Cost cost = CostOf(row);
    Cost& sum = costs[static_cast<size_t>(rule - policy.rules.data())];
    sum.weights += cost.weights;
    sum.scales += cost.scales;
  }
  model->arch.quantization = EngineQuantization(model->table);
  model->quant_method.clear();
  model->totals = Totals(model->table);
  model->shape_basis = Basis::kDerived;
  model->hypothetical = true;
  model->shard_use.clear();
  model->inventory.has_headers = false;
  for (size_t i = 0; i < policy.rules.size(); ++i) {
    model->findings.push_back(
        {"model.precision", Severity::kNote, policy.rules[i].text,
         fmt::format("as if stored so: {} of weights and {} of scales in the file",
                     FormatBytes(costs[i].weights), FormatBytes(costs[i].scales)),
         "no such checkpoint is claimed to exist"});
  }
}

}  // namespace shardplan
