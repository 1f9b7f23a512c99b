#include "cli/expert_load_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

constexpr int64_t kLargestFile = 64 * kMiB;
constexpr int64_t kMostOfAKind = 100'000;  // layers, and experts of one
constexpr size_t kMostLoads = 10'000'000;
constexpr double kLargestLoad = 1e15;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> LoadIn(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (!std::isfinite(value) || std::signbit(value) || value > kLargestLoad) return std::nullopt;
  return value;
}

std::optional<int64_t> IndexIn(std::string_view word) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (value < 0 || value >= kMostOfAKind) return std::nullopt;
  return value;
}

class Refusal {
 public:
  explicit Refusal(std::string name) : name_(std::move(name)) {}

  tl::unexpected<Error> operator()(int64_t line, std::string message) const {
    return Fail(ErrorCode::kInvalidInput, "--expert-load " + Printable(name_),
                fmt::format("line {}: {}", line, message),
                "JSON of arrays, or a table with the columns layer, expert and load");
  }

 private:
  std::string name_;
};

std::string NoLoad(std::string_view word) {
  return fmt::format("expected a load from 0 to 1e15, found {}",
                     word.empty() ? "nothing" : Printable(word, 40));
}

// JSON of numbers alone: arrays of them, in an array or under keys. Nothing nests deeper than the
// reader does, so that no stack can run out.
class JsonReader {
 public:
  JsonReader(std::string_view text, const Refusal& refuse) : text_(text), refuse_(refuse) {}

  Result<std::vector<ExpertLoads::Layer>> Read() {
    std::vector<ExpertLoads::Layer> layers;
    SHARDPLAN_RETURN_IF_ERROR(ReadLayers(/*may_wrap=*/true, &layers));
    Skip();
    if (at_ < text_.size()) return Refuse("expected the end of the file");
    return layers;
  }

 private:
  tl::unexpected<Error> Refuse(std::string message) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<int64_t>(at_), '\n');
    return refuse_(line, std::move(message));
  }
  void Skip() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Values between `close` and commas, each read by `one`.
  template <typename One>
  Status List(char close, const One& one) {
    if (Take(close)) return {};
    do {
      SHARDPLAN_RETURN_IF_ERROR(one());
    } while (Take(','));
    if (!Take(close)) return Refuse(fmt::format("expected a comma or {}", close));
    return {};
  }

  Status ReadLayers(bool may_wrap, std::vector<ExpertLoads::Layer>* layers) {
    if (Take('[')) {
      return List(']', [&]() -> Status { return ReadLayer(std::nullopt, layers); });
    }
    if (!Take('{')) return Refuse("expected an array or an object of arrays");
    bool wrapped = false;
    return List('}', [&]() -> Status {
      SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view key, ReadKey());
      if (wrapped) return Refuse("expected nothing beside layers");
      if (may_wrap && key == "layers" && layers->empty()) {
        wrapped = true;
        return ReadLayers(false, layers);
      }
      const std::optional<int64_t> layer = IndexIn(key);
      if (!layer) {
        return Refuse(fmt::format("expected the number of a layer, found {}", Printable(key, 40)));
      }
      return ReadLayer(layer, layers);
    });
  }

  Result<std::string_view> ReadKey() {
    if (!Take('"')) return Refuse("expected a key in quotes");
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) return Refuse("a key without its closing quote");
    const std::string_view key = text_.substr(at_, end - at_);
    at_ = end + 1;
    if (!Take(':')) return Refuse("expected a colon after a key");
    return key;
  }

  Status ReadLayer(std::optional<int64_t> layer, std::vector<ExpertLoads::Layer>* layers) {
    if (static_cast<int64_t>(layers->size()) >= kMostOfAKind) return Refuse("too many layers");
    if (!Take('[')) return Refuse("expected an array of loads");
    ExpertLoads::Layer read;
    read.layer = layer;
    SHARDPLAN_RETURN_IF_ERROR(List(']', [&]() -> Status {
      Skip();
      const size_t begin = at_;
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ']' && !IsBlank(text_[at_])) {
        ++at_;
      }
      const std::string_view word = text_.substr(begin, at_ - begin);
      const std::optional<double> load = LoadIn(word);
      if (!load) return Refuse(NoLoad(word));
      read.loads.push_back(*load);
      if (static_cast<int64_t>(read.loads.size()) > kMostOfAKind || ++loads_ > kMostLoads) {
        return Refuse("too many experts");
      }
      return {};
    }));
    layers->push_back(std::move(read));
    return {};
  }

  std::string_view text_;
  const Refusal& refuse_;
  size_t at_ = 0;
  size_t loads_ = 0;
};

class TableReader {
 public:
  TableReader(std::string_view text, const Refusal& refuse) : text_(text), refuse_(refuse) {}

  Result<std::vector<ExpertLoads::Layer>> Read() {
    while (at_ < text_.size()) {
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view line = Trim(text_.substr(at_, end - at_));
      at_ = end + 1;
      ++line_;
      if (line.empty() || line.front() == '#') continue;
      SHARDPLAN_RETURN_IF_ERROR(ReadLine(Split(line)));
    }
    for (auto& [layer, loads] : by_layer_) layers_.push_back({layer, std::move(loads)});
    return std::move(layers_);
  }

 private:
  std::vector<std::string_view> Split(std::string_view line) {
    if (separator_ == 0) separator_ = line.find('\t') != std::string_view::npos ? '\t' : ',';
    std::vector<std::string_view> words;
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find(separator_, begin), line.size());
      words.push_back(Trim(line.substr(begin, end - begin)));
      begin = end + 1;
    }
    return words;
  }

  Status ReadLine(const std::vector<std::string_view>& words) {
    if (std::exchange(first_, false) && !LoadIn(words[0])) return ReadHeader(words);
    return columns_ ? ReadRow(words) : ReadMixture(words);
  }

  Status ReadHeader(const std::vector<std::string_view>& words) {
    columns_.emplace();
    for (const char* name : {"layer", "expert", "load"}) {
      const auto at = std::find(words.begin(), words.end(), name);
      if (at == words.end()) {
        return refuse_(line_, fmt::format("expected a header with layer, expert and load: {} is "
                                          "missing",
                                          name));
      }
      columns_->push_back(static_cast<size_t>(at - words.begin()));
    }
    width_ = words.size();
    return {};
  }

  Status ReadRow(const std::vector<std::string_view>& words) {
    if (words.size() != width_) {
      return refuse_(line_, fmt::format("expected {} columns, found {}", width_, words.size()));
    }
    const std::optional<int64_t> layer = IndexIn(words[(*columns_)[0]]);
    const std::optional<int64_t> expert = IndexIn(words[(*columns_)[1]]);
    const std::string_view word = words[(*columns_)[2]];
    const std::optional<double> load = LoadIn(word);
    if (!layer || !expert) {
      return refuse_(line_, fmt::format("expected numbers of a layer and an expert below {}",
                                        FormatCount(kMostOfAKind)));
    }
    if (!load) return refuse_(line_, NoLoad(word));
    std::vector<double>& loads = by_layer_[*layer];
    const auto index = static_cast<size_t>(*expert);
    if (index >= loads.size()) {
      size_ += index + 1 - loads.size();
      if (size_ > kMostLoads) return refuse_(line_, "too many experts");
      loads.resize(index + 1, 0);
    }
    if (!seen_.emplace(std::pair(*layer, *expert), true).second) {
      return refuse_(line_, fmt::format("expert {} of layer {} stands twice", *expert, *layer));
    }
    loads[index] = *load;
    return {};
  }

  Status ReadMixture(const std::vector<std::string_view>& words) {
    ExpertLoads::Layer layer;
    for (const std::string_view word : words) {
      const std::optional<double> load = LoadIn(word);
      if (!load) return refuse_(line_, NoLoad(word));
      layer.loads.push_back(*load);
    }
    size_ += layer.loads.size();
    if (size_ > kMostLoads || static_cast<int64_t>(layer.loads.size()) > kMostOfAKind) {
      return refuse_(line_, "too many experts");
    }
    if (static_cast<int64_t>(layers_.size()) >= kMostOfAKind) {
      return refuse_(line_, "too many layers");
    }
    layers_.push_back(std::move(layer));
    return {};
  }

  std::string_view text_;
  const Refusal& refuse_;
  size_t at_ = 0;
  int64_t line_ = 0;
  bool first_ = true;
  char separator_ = 0;
  std::optional<std::vector<size_t>> columns_;  // of layer, expert and load
  size_t width_ = 0;
  size_t size_ = 0;
  std::map<int64_t, std::vector<double>> by_layer_;
  std::map<std::pair<int64_t, int64_t>, bool> seen_;
  std::vector<ExpertLoads::Layer> layers_;
};

}  // namespace

Result<ExpertLoads> ParseExpertLoads(const std::string& name, std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const Refusal refuse(name);
  const std::string_view content = Trim(text);
  ExpertLoads out;
  out.file = name;
  if (content.starts_with('[') || content.starts_with('{')) {
    SHARDPLAN_ASSIGN_OR_RETURN(out.layers, JsonReader(text, refuse).Read());
  } else {
    SHARDPLAN_ASSIGN_OR_RETURN(out.layers, TableReader(text, refuse).Read());
  }
  if (out.layers.empty()) return refuse(1, "expected loads of at least one layer, found none");
  return out;
}

Result<std::shared_ptr<const ExpertLoads>> ReadExpertLoads(const std::string& path) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, Bytes(kLargestFile)));
  SHARDPLAN_ASSIGN_OR_RETURN(ExpertLoads loads, ParseExpertLoads(path, text));
  return std::make_shared<const ExpertLoads>(std::move(loads));
}

}  // namespace shardplan::cli
