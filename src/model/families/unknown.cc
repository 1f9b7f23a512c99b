#include "model/families/unknown.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/families/decoder_parts.h"
#include "model/families/unknown_cache.h"
#include "model/families/unknown_config.h"
#include "model/families/unknown_groups.h"
#include "model/families/unknown_rules.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::families {
namespace {

constexpr size_t kShownGuesses = 4;
constexpr int64_t kAssumedTopK = 8;

bool IsFloat(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kF32;
}

Bytes BytesOf(const ModuleRow& row) {
  return SizeOf(row.dtype, row.shape).value_or(Bytes()) * row.Count();
}

class UnknownBuilder {
 public:
  UnknownBuilder(ConfigReader& config, const Inventory& headers, const Result<QuantPlan>& plan)
      : config_(config),
        headers_(headers),
        plan_(plan ? *plan : QuantPlan()),
        stack_(GatherTensors(headers)) {
    if (!plan) from_.push_back("a quantization method that is known");
  }

  Result<ModelSpec> Build() {
    if (stack_.too_many) {
      return Refuse("its tensors have thousands of different names: no stack of layers");
    }
    if (stack_.stack.empty()) {
      return Refuse(fmt::format("its {} tensors show no stack of layers",
                                FormatCount(static_cast<int64_t>(headers_.tensors.size()))));
    }
    UnknownNumbers numbers = ReadUnknownNumbers(config_, Examples());
    spec_.arch = std::move(numbers.arch);
    from_.insert(from_.end(), numbers.from.begin(), numbers.from.end());
    if (spec_.arch.hidden == 0) {
      return Refuse("neither its config nor an embedding tells the hidden size");
    }
    SHARDPLAN_RETURN_IF_ERROR(CheckLayers(numbers.layers));
    ReadExperts();
    spec_.table.layer_prefix = stack_.stack + "{L}.";
    signs_.resize(static_cast<size_t>(layers_));
    spec_.arch.moe.layer_is_moe.assign(static_cast<size_t>(layers_), false);
    for (const UnknownGroup& group : stack_.groups) AddGroup(group);
    if (spec_.table.rows.empty()) return Refuse("it has no tensor that a rule explains");
    FinishShapes();
    spec_.arch.quantization = EngineQuantization(spec_.table);
    spec_.arch.fp8_cache = plan_.fp8_cache;
    spec_.quantization_read = true;
    spec_.guesses.emplace(guesses_);
    GuessCache(signs_, numbers.layer_types, ChunkSize(), &spec_.arch, &*spec_.guesses);
    AddFindings();
    return std::move(spec_);
  }

 private:
  tl::unexpected<Error> Refuse(const std::string& why) const {
    return Fail(ErrorCode::kUnsupported, config_.subject(),
                fmt::format("architecture '{}' is not known, and {}",
                            Printable(ArchitectureName(config_)), why),
                "`shardplan catalog families` lists the known ones");
  }

  // The first tensor of every pattern.
  std::vector<SeenTensor> Examples() const {
    std::vector<SeenTensor> seen;
    size_t last = SIZE_MAX;
    for (const UnknownGroup& group : stack_.groups) {
      if (group.pattern == last) continue;
      last = group.pattern;
      seen.push_back({*stack_.names[group.pattern], group.dtype, group.shape});
    }
    return seen;
  }

  Status CheckLayers(int64_t announced) {
    layers_ = announced > 0 ? announced : stack_.layers;
    const int64_t missing = stack_.first_gap >= 0 ? stack_.first_gap : stack_.layers;
    if (layers_ > kMaxLayers) {
      return Fail(ErrorCode::kInvalidInput, config_.subject(),
                  fmt::format("expected at most {} layers, found {}", FormatCount(kMaxLayers),
                              FormatCount(layers_)));
    }
    if (missing < layers_) {
      return Fail(
          ErrorCode::kInvalidInput, config_.subject(),
          fmt::format("implies {} layers; no tensor of layer {} is in the headers",
                      FormatCount(layers_), FormatCount(missing)),
          headers_.kind == SourceKind::kSingleShard
              ? "a shard alone is not enough for an unknown architecture: plan the directory"
              : "config and weights are of different models, or the download is incomplete");
    }
    if (announced == 0) from_.push_back(fmt::format("{} layers from names", layers_));
    spec_.arch.mtp_layers = std::max<int64_t>(0, stack_.layers - layers_);
    return {};
  }

  void ReadExperts() {
    MoeShape& moe = spec_.arch.moe;
    if (stack_.experts != moe.experts && stack_.experts > 0) {
      from_.push_back(fmt::format("{} experts from names", FormatCount(stack_.experts)));
    }
    moe.experts = std::min<int64_t>(stack_.experts, 100'000);
    if (moe.experts == 0) {
      moe = MoeShape();
    } else if (moe.top_k == 0) {
      moe.top_k = std::min(kAssumedTopK, moe.experts);
      from_.push_back(fmt::format("{} experts a token assumed", moe.top_k));
    }
    moe.top_k = std::min(moe.top_k, moe.experts);
  }

  void AddGroup(const UnknownGroup& group) {
    std::vector<int64_t> own, draft;
    for (const int64_t layer : group.layers) (layer < layers_ ? own : draft).push_back(layer);
    if (!draft.empty()) AddRow(group, std::move(draft), true);
    if (!own.empty() || group.layers.empty()) AddRow(group, std::move(own), false);
  }

  void AddRow(const UnknownGroup& group, std::vector<int64_t> layers, bool draft) {
    const NameParts& name = *stack_.names[group.pattern];
    const TensorRule rule = RuleFor(name, group.dtype, group.shape, spec_.arch);
    ModuleRow row;
    row.name = name.Name(group.fixed.empty() ? nullptr : &group.fixed);
    row.form = Form::kTensor;
    row.role = draft ? Role::kDraft : rule.role;
    row.split = rule.split;
    row.placement = draft ? Placement::kNotLoaded : rule.placement;
    row.slice = rule.slice;
    row.shape = group.shape;
    row.dtype = group.dtype;
    row.device_dtype = DeviceDType(name, group, rule);
    row.layers = LayerSet(std::move(layers));
    const bool expert =
        std::count(name.holes.begin(), name.holes.end(), Hole::kExpert) > 0 && group.count > 0;
    (expert ? row.experts : row.blocks) = group.count;
    row.param = ParamOf(name, row);
    if (IsWeight(name) && !IsFloat(row.dtype)) row.quant = FormatOf(name, row);
    // A tied head that is stored all the same is skipped while loading.
    if (row.role == Role::kHead && spec_.arch.tied_embeddings)
      row.placement = Placement::kNotLoaded;
    if (row.placement != Placement::kNotLoaded) {
      Count(row);
      Note(name, row);
    }
    spec_.table.rows.push_back(std::move(row));
  }

  // Weights are created in the model's dtype, whatever they are stored in; what stands in FP32
  // beside them (correction biases, decay rates, scales) stays.
  DType DeviceDType(const NameParts& name, const UnknownGroup& group,
                    const TensorRule& rule) const {
    if (!IsFloat(group.dtype) || rule.slice.values == 0) return group.dtype;
    const bool norm = name.module().find("norm") != std::string::npos;
    const bool vector = group.shape.dims.size() < 2 && !norm;
    return vector && group.dtype == DType::kF32 ? group.dtype : spec_.arch.dtype;
  }

  // Decides kernels and their padding; what is stored is the headers' matter.
  QuantFormat FormatOf(const NameParts& name, const ModuleRow& row) const {
    const size_t suffix = name.suffix.empty() ? 0 : name.suffix.size() + 1;
    const int64_t layer = row.layers.empty() ? 0 : row.layers.layers().front();
    return plan_.FormatFor(ExpandName(row.name.substr(0, row.name.size() - suffix), layer, 0, 0));
  }

  // Relative to the layer; experts as the engine calls them, so that its options find them.
  std::string ParamOf(const NameParts& name, const ModuleRow& row) const {
    std::string param = row.layers.empty() ? row.name : row.name.substr(stack_.stack.size() + 4);
    if (row.role != Role::kRoutedExpert || row.split == Split::kReplicated) return param;
    const size_t hole = param.find(".{E}");
    if (hole != std::string::npos) param.erase(hole, 4);
    const bool whole = row.slice->dim < 0 && name.suffix != "bias";
    if (whole && row.slice->guessed) return param;
    const bool down = row.split == Split::kExpertDown;
    size_t end = param.size();
    if (!name.suffix.empty()) end -= std::min(end, name.suffix.size() + 1);
    const size_t begin = param.rfind('.', end == 0 ? 0 : end - 1);
    return param.substr(0, begin == std::string::npos ? 0 : begin + 1) + (down ? "w2_" : "w13_") +
           (name.suffix.empty() ? "weight" : name.suffix);
  }

  void Count(const ModuleRow& row) {
    const bool guessed = row.slice->guessed;
    const Bytes bytes = BytesOf(row);
    (guessed ? guesses_.guessed_tensors : guesses_.recognised_tensors) += row.Count();
    (guessed ? guesses_.guessed_bytes : guesses_.recognised_bytes) += bytes;
    if (guessed) largest_.push_back({bytes, spec_.table.rows.size()});
  }

  // What a row shows of its layers.
  void Note(const NameParts& name, const ModuleRow& row) {
    const bool matrix = row.shape.dims.size() >= 2 && IsWeight(name);
    Architecture& a = spec_.arch;
    for (const int64_t layer : row.layers.layers()) {
      LayerSigns& s = signs_[static_cast<size_t>(layer)];
      const bool fused = !row.slice->parts.empty();
      s.linear |= row.role == Role::kLinearAttention;
      if (row.role == Role::kRoutedExpert) a.moe.layer_is_moe[static_cast<size_t>(layer)] = true;
      if (row.role != Role::kAttention || !matrix) continue;
      s.attention = true;
      s.latent |= name.module().starts_with("kv_a_proj") && !row.slice->guessed;
      s.keys_and_values |= (row.split == Split::kKvHeads || fused) && !row.slice->guessed;
    }
    if (row.split == Split::kExpertDown && matrix) NoteExpertOutput(row);
    const bool output = row.split == Split::kExpertGate || row.split == Split::kColumn ||
                        row.split == Split::kSharedColumn;
    const bool plain = IsFloat(row.dtype) || row.dtype == DType::kF8E4M3;
    if (!matrix || !output || row.slice->dim < 0 || !plain) return;
    int64_t width = row.shape.dims[static_cast<size_t>(row.slice->dim)];
    const bool both = name.module().find("gate_up") != std::string::npos ||
                      name.module() == "input_linear" || name.module() == "w13";
    if (both) width /= 2;
    if (row.role == Role::kRoutedExpert && expert_width_ == 0) expert_width_ = width;
    if (row.role == Role::kDenseMlp && dense_width_ == 0) dense_width_ = width;
    if (row.role == Role::kSharedExpert && shared_width_ == 0) shared_width_ = width;
  }

  // Experts may work in a latent of their own: its width is what their down projections give.
  void NoteExpertOutput(const ModuleRow& row) {
    const std::vector<int64_t>& dims = row.shape.dims;
    const size_t first = row.slice->stacked ? 1 : 0;
    // Other packed formats hold several outputs in a word.
    if (dims.size() != first + 2 || row.slice->dim < 0 || row.dtype == DType::kI32) return;
    const size_t out = static_cast<size_t>(row.slice->dim) == first ? first + 1 : first;
    if (expert_output_ == 0) expert_output_ = dims[out];
  }

  void FinishShapes() {
    Architecture& a = spec_.arch;
    if (a.moe.experts > 0 && expert_output_ > 0 && expert_output_ != a.hidden) {
      a.moe.latent = expert_output_;
    }
    if (a.moe.experts > 0 && expert_width_ > 0) a.moe.intermediate = expert_width_;
    if (a.moe.experts > 0 && a.moe.intermediate == 0) a.moe.intermediate = a.dense_intermediate;
    a.moe.shared_intermediate = shared_width_;
    a.moe.shared_experts = shared_width_ > 0 ? 1 : 0;
    if (a.moe.experts == 0) a.moe.layer_is_moe.clear();
    if (dense_width_ > 0) a.dense_intermediate = dense_width_;
    for (const ModuleRow& row : spec_.table.rows) a.vision.present |= row.is_tower();
  }

  int64_t ChunkSize() const {
    ConfigReader trial = config_;
    const int64_t chunk = trial.IntOr("attention_chunk_size", 1, int64_t{1} << 32, 0);
    return trial.ok() ? chunk : 0;
  }

  std::string LargestGuesses() {
    std::stable_sort(largest_.begin(), largest_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (size_t i = 0; i < std::min(kShownGuesses, largest_.size()); ++i) {
      const ModuleRow& row = spec_.table.rows[largest_[i].second];
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", Printable(row.name, 90),
                          FormatAuto(largest_[i].first));
    }
    if (largest_.size() > kShownGuesses) {
      const size_t more = largest_.size() - kShownGuesses;
      text += fmt::format(" and {} more {}", more, more == 1 ? "name" : "names");
    }
    return text;
  }

  void AddFindings() {
    const Guesses& g = *spec_.guesses;
    const bool any = g.guessed_tensors > 0;
    std::string message = fmt::format(
        "no family covers this architecture: {} tensors ({}) have names and shapes of common "
        "decoders, ",
        FormatCount(g.recognised_tensors), FormatAuto(g.recognised_bytes));
    message += any ? fmt::format("{} ({}) are guessed: {}", FormatCount(g.guessed_tensors),
                                 FormatAuto(g.guessed_bytes), LargestGuesses())
                   : std::string("none is guessed");
    if (g.least_cache) message += "; so is what some layers cache";
    if (!from_.empty()) message += fmt::format("; not in the config: {}", fmt::join(from_, ", "));
    const char* fix =
        any || g.least_cache
            ? "the low end slices what is guessed as finely as its kind allows, the high end keeps "
              "it whole on every rank: trust a verdict on which both agree"
            : "what the engine pads or adds for this architecture is not known: compare one start "
              "with the weights row";
    spec_.findings.push_back({"model.family_unknown", Severity::kWarning,
                              Printable(spec_.arch.name), std::move(message), fix});
    spec_.findings.push_back(
        {"launch.architecture", Severity::kNote, Printable(spec_.arch.name),
         "the commands are written as for any model; the engine itself must support this "
         "architecture",
         ""});
  }

  ConfigReader& config_;
  const Inventory& headers_;
  const QuantPlan plan_;
  UnknownStack stack_;
  ModelSpec spec_;
  Guesses guesses_;
  int64_t layers_ = 0;
  int64_t expert_width_ = 0;
  int64_t expert_output_ = 0;
  int64_t dense_width_ = 0;
  int64_t shared_width_ = 0;
  std::vector<LayerSigns> signs_;
  std::vector<std::string> from_;
  std::vector<std::pair<Bytes, size_t>> largest_;  // guessed rows: their bytes and index
};

}  // namespace

Result<ModelSpec> BuildUnknown(ConfigReader& config, const Inventory& headers,
                               const Result<QuantPlan>& plan) {
  SHARDPLAN_ASSIGN_OR_RETURN(ModelSpec spec, UnknownBuilder(config, headers, plan).Build());
  spec.arch.family = "unknown";
  Totals(spec.table);  // throws where the sizes leave 64 bits
  return spec;
}

}  // namespace shardplan::families
