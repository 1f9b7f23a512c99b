#include <optional>
#include <vector>

#include "report/document.h"
#include "report/findings_document.h"
#include "shardplan/report/inspection.h"

namespace shardplan {
namespace {

Document AmountDocument(const Amount& amount) {
  return {{"tensors", amount.tensors},
          {"parameters", amount.parameters},
          {"elements", amount.elements},
          {"bytes", amount.bytes.count()}};
}

Document ByDType(const std::vector<DTypeAmount>& dtypes) {
  Document out = Document::object();
  for (const DTypeAmount& dtype : dtypes) {
    out[std::string(NameOf(dtype.dtype))] = AmountDocument(dtype.amount);
  }
  return out;
}

Document ByRole(const std::vector<RoleAmount>& roles) {
  Document out = Document::object();
  for (const RoleAmount& role : roles) {
    Document entry = AmountDocument(role.amount);
    entry["by_dtype"] = ByDType(role.by_dtype);
    out[role.role] = std::move(entry);
  }
  return out;
}

Document ShardsDocument(const Inspection& inspection) {
  Document out = Document::array();
  for (const ShardInfo& shard : inspection.shards) {
    out.push_back({{"name", shard.name},
                   {"tensors", shard.tensors},
                   {"payload_bytes", shard.payload_bytes.count()},
                   {"file_bytes", shard.file_bytes.count()},
                   {"header_bytes", shard.header_bytes.count()}});
  }
  return out;
}

Document LayersDocument(const Inspection& inspection) {
  Document out = Document::array();
  for (const LayerProfile& layer : inspection.layers) {
    Document entry = {{"layer", layer.layer}, {"attention", layer.attention}, {"mlp", layer.mlp}};
    entry.update(AmountDocument(layer.amount));
    out.push_back(std::move(entry));
  }
  return out;
}

Document StagesDocument(const Inspection& inspection) {
  Document out = Document::array();
  for (size_t i = 0; i < inspection.stages.size(); ++i) {
    const StageProfile& stage = inspection.stages[i];
    out.push_back({{"stage", i},
                   {"first_layer", stage.range.first},
                   {"layer_count", stage.range.count},
                   {"layers_bytes", stage.layers.count()},
                   {"ends_bytes", stage.ends.count()},
                   {"every_stage_bytes", stage.every_stage.count()},
                   {"bytes", stage.total().count()}});
  }
  return out;
}

Document LargestDocument(const Inspection& inspection) {
  Document out = Document::array();
  for (const LargeTensors& large : inspection.largest) {
    out.push_back({{"names", large.names},
                   {"role", large.role},
                   {"dtype", NameOf(large.dtype)},
                   {"shape", large.shape.dims},
                   {"count", large.count},
                   {"tensor_bytes", large.each.count()},
                   {"bytes", (large.each * large.count).count()}});
  }
  return out;
}

Document OrNull(const std::optional<Bytes>& bytes) {
  return bytes ? Document(bytes->count()) : Document(nullptr);
}

Document ToDocument(const Inspection& i) {
  return {{"schema_version", 1},
          {"source", i.source},
          {"architecture", i.architecture},
          {"family", i.family},
          {"quantization", i.quantization.empty() ? Document(nullptr) : Document(i.quantization)},
          {"shape_basis", ToString(i.basis)},
          {"complete", i.complete},
          {"tensors", i.totals.tensors},
          {"payload_bytes", i.totals.bytes.count()},
          {"file_bytes", OrNull(i.file_bytes)},
          {"header_bytes", OrNull(i.header_bytes)},
          {"parameters", i.totals.parameters},
          {"active_parameters",
           i.active_parameters ? Document(*i.active_parameters) : Document(nullptr)},
          {"elements", i.totals.elements},
          {"by_dtype", ByDType(i.by_dtype)},
          {"by_role", ByRole(i.by_role)},
          {"outside_layers", ByRole(i.outside)},
          {"layers", LayersDocument(i)},
          {"stages", StagesDocument(i)},
          {"largest", LargestDocument(i)},
          {"shards", ShardsDocument(i)},
          {"findings", FindingsDocument(i.findings)}};
}

}  // namespace

std::string RenderInspectionJson(const Inspection& inspection) {
  return DumpJson(ToDocument(inspection));
}
std::string RenderInspectionYaml(const Inspection& inspection) {
  return DumpYaml(ToDocument(inspection));
}

}  // namespace shardplan
