#include "preflight/command_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "engine/visible_cards.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

std::optional<std::string> Variable(const Deployment& d, std::string_view name) {
  for (const auto& [known, value] : d.settings.env) {
    if (known == name) return value;
  }
  return std::nullopt;
}

bool IsIndices(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789,") == std::string::npos;
}

void NoteDevices(const Deployment& d, std::vector<Finding>* out) {
  const std::optional<std::string> visible = VisibleDevices(d.settings);
  if (!visible) return;
  const auto cards = static_cast<int64_t>(ShownCards(*visible).size());
  const std::string subject = "CUDA_VISIBLE_DEVICES=" + Printable(*visible, 40);
  const int64_t used = RanksOfNode(d);
  if (used > 0 && used < cards) {
    out->push_back(
        {"command.idle_gpus", Severity::kWarning, subject,
         fmt::format("shows {} cards, and the layout uses {}: visible is not used", cards, used),
         "a larger layout, or fewer cards"});
  }
  const bool by_bus = Variable(d, "CUDA_DEVICE_ORDER").value_or("") == "PCI_BUS_ID";
  if (IsIndices(*visible) && !by_bus) {
    out->push_back({"command.device_order", Severity::kNote, subject,
                    "counts in CUDA's order, the fastest card first: with cards of several kinds "
                    "these are not the indices of nvidia-smi",
                    "CUDA_DEVICE_ORDER=PCI_BUS_ID, or UUIDs"});
  }
}

std::vector<std::string_view> WordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r\n\\";
  for (size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

// vLLM's documentation of its image: --ipc=host or --shm-size lets the processes share memory.
void NoteContainer(std::string_view text, const Deployment& d, std::vector<Finding>* out) {
  const std::vector<std::string_view> words = WordsOf(text);
  bool container = false;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const bool program = words[i] == "docker" || words[i] == "podman" || words[i] == "nerdctl";
    container = container || (program && words[i + 1] == "run");
  }
  const bool shares = std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return word.starts_with("--ipc") || word.starts_with("--shm-size");
  });
  if (!container || shares || RanksOfNode(d) == 1) return;
  out->push_back({"container.ipc", Severity::kWarning, "docker run",
                  "without --ipc=host or --shm-size the ranks have 64 MiB of shared memory between "
                  "them, and custom all-reduce, which maps the memory of other cards, may fail "
                  "with 'invalid argument'",
                  "--ipc=host; --disable-custom-all-reduce where IPC is not allowed"});
}

// What text processors and chats make of a command. A shell takes each for a part of a word.
struct Character {
  std::string_view bytes;
  const char* name;
  const char* instead;
};
constexpr std::array<Character, 14> kCharacters = {{
    {"\xe2\x80\x9c", "a typographic quote (U+201C)", "a straight quote (\")"},
    {"\xe2\x80\x9d", "a typographic quote (U+201D)", "a straight quote (\")"},
    {"\xe2\x80\x9e", "a typographic quote (U+201E)", "a straight quote (\")"},
    {"\xe2\x80\x98", "a typographic quote (U+2018)", "a straight quote (')"},
    {"\xe2\x80\x99", "a typographic quote (U+2019)", "a straight quote (')"},
    {"\xe2\x80\x9a", "a typographic quote (U+201A)", "a straight quote (')"},
    {"\xc2\xa0", "a no-break space (U+00A0)", "a space"},
    {"\xe2\x80\xaf", "a narrow no-break space (U+202F)", "a space"},
    {"\xe3\x80\x80", "an ideographic space (U+3000)", "a space"},
    {"\xc2\xad", "a soft hyphen (U+00AD)", "nothing"},
    {"\xe2\x80\x8b", "an invisible space (U+200B)", "nothing, or a space"},
    {"\xe2\x81\xa0", "an invisible joiner (U+2060)", "nothing"},
    {"\xe2\x80\xa8", "a line separator (U+2028)", "a space"},
    {"\xef\xbb\xbf", "a byte order mark (U+FEFF)", "nothing"},
}};

// Characters in front of a byte.
int64_t CharactersBefore(std::string_view text, size_t at) {
  return std::count_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

// "at character 12", "at characters 12, 30 and 41", "at characters 12, 30, 41 and 5 more places".
std::string PlacesOf(std::string_view text, std::string_view bytes) {
  constexpr size_t kMost = 4;
  std::vector<int64_t> places;
  for (size_t at = text.find(bytes); at != std::string_view::npos;
       at = text.find(bytes, at + bytes.size())) {
    places.push_back(CharactersBefore(text, at) + 1);
  }
  if (places.size() == 1) return fmt::format("at character {}", places[0]);
  const size_t more = places.size() > kMost ? places.size() - (kMost - 1) : 0;
  const std::string last =
      more > 0 ? fmt::format("{} more places", more) : std::to_string(places.back());
  places.resize(more > 0 ? kMost - 1 : places.size() - 1);
  return fmt::format("at characters {} and {}", fmt::join(places, ", "), last);
}

void NoteTypography(std::string_view text, std::vector<Finding>* out) {
  for (const Character& character : kCharacters) {
    if (text.find(character.bytes) == std::string_view::npos) continue;
    out->push_back({"command.typography", Severity::kWarning, character.name,
                    fmt::format("stands in the command, {}: a shell takes it for a part of a word",
                                PlacesOf(text, character.bytes)),
                    fmt::format("write {} in its place", character.instead)});
  }
}

void NoteStages(const Plan& plan, std::vector<Finding>* out) {
  if (plan.sizes.pp == 1 || !plan.kv) return;
  std::map<int64_t, int64_t> blocks;  // of a stage, on its fullest rank
  for (const RankPlan& rank : plan.ranks) {
    if (rank.bytes_per_block <= Bytes()) continue;
    const int64_t own = FloorDiv(rank.kv_available.central, rank.bytes_per_block);
    const auto [known, is_new] = blocks.emplace(rank.place.stage, own);
    if (!is_new) known->second = std::min(known->second, own);
  }
  const auto least =
      std::min_element(blocks.begin(), blocks.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (least == blocks.end() || least->second <= 0) return;  // what is short is told elsewhere
  std::string all;
  for (const auto& [stage, count] : blocks) {
    const StageRange& range = plan.stages[static_cast<size_t>(stage)];
    all += fmt::format("{}stage {} of {} layers {}", all.empty() ? "" : ", ", stage, range.count,
                       FormatCount(count));
  }
  out->push_back({"kv.least_stage", Severity::kNote, fmt::format("stage {}", least->first),
                  fmt::format("sizes the cache of all stages, which share it between the batches "
                              "under way; blocks that each has room for: {}",
                              all),
                  ""});
}

void NoteTokens(const Architecture& arch, const Plan& plan, std::vector<Finding>* out) {
  if (!plan.kv || !arch.is_hybrid() || plan.engine != "vllm" || plan.kv->num_blocks == 0) return;
  out->push_back({"kv.printed_tokens", Severity::kNote, "GPU KV cache size",
                  fmt::format("the {} tokens that vLLM prints of a hybrid model are no capacity: "
                              "{:.2f} windows of {} fit at once",
                              FormatCount(plan.kv->tokens), plan.kv->max_concurrency,
                              FormatCount(plan.window.max_model_len)),
                  "read the line of the concurrency"});
}

void NoteExperts(const Architecture& arch, const Plan& plan, std::vector<Finding>* out) {
  if (arch.moe.experts == 0 || plan.engine != "vllm") return;
  if (plan.sizes.dp == 1 || plan.sizes.expert_parallel) return;
  out->push_back(
      {"layout.experts_sliced", Severity::kNote,
       fmt::format("--data-parallel-size {}", plan.sizes.dp),
       fmt::format(
           "without --enable-expert-parallel every rank holds a slice of all {} experts, one "
           "of TP × DP = {}; only attention is there once a data-parallel rank",
           arch.moe.experts, plan.sizes.tp * plan.sizes.dp),
       "--enable-expert-parallel for whole experts"});
}

}  // namespace

int64_t RanksOfNode(const Deployment& d) {
  const bool inside = d.engine == "sglang" && d.sglang.enable_dp_attention;
  const int64_t ranks = d.sizes.tp * d.sizes.pp * (inside ? 1 : d.sizes.dp);
  const int64_t nodes = d.nodes.value_or(1);
  return ranks % nodes == 0 ? ranks / nodes : 0;
}

void NoteOwnCode(const Architecture& arch, const Deployment& d, std::vector<Finding>* out) {
  constexpr std::string_view kFlag = "--trust-remote-code";
  const std::vector<GivenFlag>& flags = d.settings.command_flags;
  const bool given = std::any_of(flags.begin(), flags.end(),
                                 [&](const GivenFlag& flag) { return flag.name == kFlag; });
  if (!arch.trust_remote_code || given) return;
  const bool vllm = d.engine == "vllm";
  out->push_back(
      {"command.own_code", Severity::kNote, std::string(kFlag),
       fmt::format(
           "is not in the command, and the model's config names code of its own "
           "(auto_map): {} reads it with a class of its own or of transformers where its "
           "version has one, and refuses it otherwise{}; a tokenizer may need its code, too",
           vllm ? "vLLM" : "SGLang",
           vllm ? " ('Failed to load the model config. If the model is a custom model not "
                  "yet available in the HuggingFace transformers library, …')"
                : ""),
       "--trust-remote-code, if you trust the publisher; launch writes it for such models"});
}

std::vector<Finding> NoteSurroundings(std::string_view text, const Deployment& deployment) {
  std::vector<Finding> out;
  NoteTypography(text, &out);
  NoteDevices(deployment, &out);
  NoteContainer(text, deployment, &out);
  return out;
}

std::vector<Finding> NoteReadings(const Architecture& arch, const Plan& plan) {
  std::vector<Finding> out;
  NoteStages(plan, &out);
  NoteTokens(arch, plan, &out);
  NoteExperts(arch, plan, &out);
  return out;
}

}  // namespace shardplan
