// shardplan search: which layouts fit on this cluster?
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/base_command.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/log.h"
#include "cli/output_options.h"
#include "cli/terminal.h"
#include "cli/variants.h"
#include "plan/cluster_use.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/plan/layout_search.h"
#include "shardplan/report/search.h"

namespace shardplan::cli {
namespace {

constexpr size_t kMostCandidates = 1000;
constexpr size_t kMostSettings = 64;

struct SearchOptions {
  DeploymentOptions what;
  BaseCommand base;
  OutputOptions output;
  std::vector<std::string> engines;
  std::vector<std::string> vary;
  std::vector<Objective> objectives;
  int64_t limit = 3;
};

Status ReadObjectives(const std::string& text, std::vector<Objective>* out) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::optional<Objective> objective = ObjectiveOf(word);
    if (!objective) {
      std::vector<std::string> names;
      for (const Objective known : AllObjectives()) names.emplace_back(ToString(known));
      return Fail(ErrorCode::kUsage, "--objective " + Printable(word),
                  fmt::format("expected {}", JoinWithOr(names)),
                  "several are separated by commas, the first decides");
    }
    if (std::find(out->begin(), out->end(), *objective) == out->end()) out->push_back(*objective);
    begin = end + 1;
  }
  return {};
}

// Options of the line or of a command on it, or an axis over them.
class Given {
 public:
  Given(const OptionSet& set, const std::vector<Axis>& axes,
        const std::vector<std::string>& of_command)
      : set_(set), axes_(axes), of_command_(of_command) {}

  bool operator()(std::initializer_list<std::string_view> names) const {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      const OptionSet::Known* const option = set_.Find(name);
      if (option == nullptr) return false;
      const auto is_option = [&](const std::string& other) { return set_.Find(other) == option; };
      return option->given() || std::any_of(of_command_.begin(), of_command_.end(), is_option) ||
             std::any_of(axes_.begin(), axes_.end(),
                         [&](const Axis& axis) { return is_option(axis.option); });
    });
  }

 private:
  const OptionSet& set_;
  const std::vector<Axis>& axes_;
  const std::vector<std::string>& of_command_;
};

GivenSizes GivenBy(const Given& given, const std::string& engine) {
  GivenSizes sizes;
  sizes.tp = given({"tp"});
  sizes.partition = given({"pp-partition"});
  sizes.pp = given({"pp"}) || sizes.partition;
  sizes.dp = given({"dp"});
  sizes.dcp = given({"dcp"});
  sizes.experts =
      engine == "sglang" ? given({"ep-size", "enable-ep-moe"}) : given({"enable-expert-parallel"});
  sizes.attention_dp = given({"enable-dp-attention"});
  sizes.offload = given({"cpu-offload-gb", "offload-backend", "offload-group-size"});
  sizes.sequences = given({"max-num-seqs"});
  sizes.chunk = given({"max-num-batched-tokens", "enable-chunked-prefill"});
  sizes.graphs = given({"enforce-eager", "compilation-config", "cudagraph-capture-sizes",
                        "max-cudagraph-capture-size", "optimization-level"});
  sizes.fraction = given({"mem-fraction-static"});
  sizes.cache_dtype = given({"kv-cache-dtype"});
  sizes.moe_backend = given({"moe-runner-backend", "moe-backend"});
  return sizes;
}

// Told of every candidate as sizes of its layout, or of no meaning for a plan.
bool IsToldApart(const OptionSet& set, const OptionSet::Known& option) {
  for (const char* name : {"nodes", "tp", "pp", "pp-partition", "dp", "dcp",
                           "enable-expert-parallel", "ep-size", "enable-dp-attention", "objective",
                           "limit", "vary", "format", "output", "verbose", "no-color"}) {
    if (set.Find(name) == &option) return true;
  }
  return false;
}

// What stands behind `shardplan plan` for a variant, but for the sizes of a layout.
std::vector<std::string> WordsOf(const SearchOptions& options, const OptionSet& set,
                                 const std::vector<OptionValue>& settings) {
  std::vector<std::string> words = {options.what.model};
  const auto add = [&](const OptionSet::Known& option, const std::string& name,
                       const std::string& value) {
    if (!option.is_flag()) {
      words.insert(words.end(), {"--" + name, value});
    } else if (value == "true") {
      words.push_back("--" + name);
    } else if (set.Find("no-" + name) != nullptr) {
      words.push_back("--no-" + name);
    }
  };
  for (const OptionSet::Known& option : set.known()) {
    if (!option.given() || IsToldApart(set, option)) continue;
    if (options.engines.size() > 1 && &option == set.Find("engine")) continue;
    if (option.is_flag()) {
      add(option, option.names[0], "true");
      continue;
    }
    const bool command = &option == set.Find("from-command");
    for (const std::string& value : option.texts()) {
      add(option, option.names[0], command ? options.base.text : value);
    }
  }
  // A command that spreads its ranks thinly says how many cards a node has.
  const std::optional<int64_t>& cards = options.what.deployment.gpus_per_node;
  if (!options.base.text.empty() && cards && !options.what.deployment.cluster &&
      !set.Find("gpus-per-node")->given()) {
    words.insert(words.end(), {"--gpus-per-node", std::to_string(*cards)});
  }
  for (const auto& [name, value] : settings) {
    const OptionSet::Known* const option = set.Find(name);
    if (option != nullptr && !IsToldApart(set, *option)) add(*option, name, value);
  }
  return words;
}

// One cluster and one model for all variants: an axis over either is `compare`'s.
Status CheckVariants(const DeploymentOptions& base, const std::vector<VariantOptions>& variants) {
  for (const VariantOptions& variant : variants) {
    const Deployment& d = variant.what.deployment;
    if (d.gpu == base.deployment.gpu && d.cluster == base.deployment.cluster &&
        d.nodes == base.deployment.nodes && d.gpus_per_node == base.deployment.gpus_per_node &&
        SameModel(base, variant.what)) {
      continue;
    }
    return Fail(ErrorCode::kUsage, "--vary",
                "expected one model, precision and cluster for all variants: --gpu, --cluster, "
                "--nodes, --precision and the like cannot vary",
                "search once for each of them");
  }
  return {};
}

// As many as there are, or of a cluster those that have as many cards as the first ones.
int64_t NodesOf(const Deployment& d) {
  if (!d.cluster) return d.nodes.value_or(1);
  return ShareOf(*d.cluster, d.nodes, std::numeric_limits<int64_t>::max()).nodes;
}

std::string Render(const SearchResult& result, const SearchRequest& request,
                   const OutputOptions& output) {
  switch (output.format) {
    case Format::kJson:
      return RenderSearchJson(result);
    case Format::kYaml:
      return RenderSearchYaml(result);
    case Format::kTable:
      break;
  }
  TableOptions options;
  options.color = WantsColor(output);
  options.verbose = output.verbose;
  return RenderSearchTable(result, request, options);
}

Result<Answer> Run(const SearchOptions& options, const OptionSet& set) {
  SHARDPLAN_RETURN_IF_ERROR(CheckModelGiven(options.what.model, "search MODEL --gpu ID --nodes N"));
  SearchRequest request;
  request.nodes = NodesOf(options.what.deployment);
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<Axis> axes,
                             ParseAxes(options.engines, options.vary));
  SHARDPLAN_ASSIGN_OR_RETURN(std::vector<VariantOptions> variants,
                             MakeVariants(options.what, set, axes, kMostSettings));
  SHARDPLAN_RETURN_IF_ERROR(CheckVariants(options.what, variants));
  for (VariantOptions& variant : variants) {
    // One engine sets nothing apart: whoever plans a candidate has it on the line already.
    if (options.engines.size() == 1) variant.options.erase(variant.options.begin());
    Deployment& d = variant.what.deployment;
    if (d.partition) d.sizes.pp = static_cast<int64_t>(d.partition->size());
    const GivenSizes given = GivenBy(Given(set, axes, options.base.options), d.engine);
    std::vector<std::string> words = WordsOf(options, set, variant.options);
    request.variants.push_back({std::move(variant.options), std::move(words), std::move(d), given});
  }
  request.today = options.base.today;
  request.freed = options.base.freed;
  request.objectives = options.objectives;
  if (request.objectives.empty()) {
    request.objectives = {Objective::kMinOffload, Objective::kMaxConcurrency, Objective::kMinGpus};
  }
  request.threads = ReaderThreads();
  request.limit = static_cast<size_t>(options.limit);
  SHARDPLAN_ASSIGN_OR_RETURN(const Context context, LoadContext(options.what, options.output));
  const ProgressNote note("searching layouts");
  SHARDPLAN_ASSIGN_OR_RETURN(const SearchResult result,
                             SearchLayouts(context.model, context.catalog, context.store, request));
  Log(fmt::format("searched {} layouts", result.layouts));
  return Answer{Render(result, request, options.output),
                result.candidates.empty() ? kExitNo : kExitYes, options.output.file};
}

}  // namespace

Command AddSearchCommand(CLI::App* parent) {
  const auto options = std::make_shared<SearchOptions>();
  CLI::App* const app = AddSubcommand(
      parent, "search",
      "Which layouts fit on this cluster, best first, and why the others don't\n\n"
      "Examples:\n"
      "  shardplan search /models/Kimi-K3 --gpu h20-96 --nodes 2 --max-model-len 512K \\\n"
      "      --require-concurrency 2\n"
      "  shardplan search DeepSeek-V3/config.json --gpu h20-141 --nodes 2 --engine vllm \\\n"
      "      --engine sglang --objective min-gpus,max-concurrency\n"
      "  shardplan search DeepSeek-V3/config.json --gpu h200-141 --max-model-len auto \\\n"
      "      --objective max-window --vary kv-cache-dtype=auto,fp8\n"
      "  shardplan search /models/Kimi-K3 --gpu h20-96 --nodes 4 \\\n"
      "      --from-command 'vllm serve moonshotai/Kimi-K3 -tp 8 -pp 4 --max-model-len 128K'",
      "TP, PP, DP, expert parallelism, DCP, the partition and the offload are searched where they "
      "are not\ngiven. What is short may get fewer sequences, a smaller chunk, no graphs or "
      "another fraction, then an\nFP8 cache, unless these are given; all other options are as "
      "given. --nodes is how many there are\n(default: 1, or all of --cluster).\n\n"
      "Exit code: 0 something fits, 1 nothing does, 2 usage, 3 bad input, 4 I/O.");
  const auto set = std::make_shared<OptionSet>(app);
  set->Group("What is searched for");
  set->Value(
      "--objective", "A,B,…",
      "What is best: max-concurrency, max-window, min-gpus, min-offload, min-internode-traffic; "
      "the first decides, the next where it is equal (default: "
      "min-offload,max-concurrency,min-gpus)",
      [options](const std::string& text) { return ReadObjectives(text, &options->objectives); });
  set->Value("--limit", "N", "Candidates to tell (default: 3)",
             [options](const std::string& text) -> Status {
               SHARDPLAN_ASSIGN_OR_RETURN(options->limit, ParseCount(text, 1));
               if (options->limit <= static_cast<int64_t>(kMostCandidates)) return {};
               return Fail(ErrorCode::kUsage, "",
                           fmt::format("expected at most {}", kMostCandidates));
             });
  set->Repeated(
      "--vary", "OPTION=A,B,…",
      "Values to try of an option below that is no fact of the model or the cluster, without its "
      "dashes; repeated: every combination",
      [options](const std::string& text) -> Status {
        options->vary.push_back(text);
        return {};
      });
  AddDeploymentOptions(set.get(), &options->what);
  set->Describe("--nodes", "Servers at most (default: 1, or all of --cluster)");
  set->Collect("engine", &options->engines);
  AddBaseCommand(set.get(), &options->engines, &options->what, &options->base);
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options, set] { return Run(*options, *set); }};
}

}  // namespace shardplan::cli
