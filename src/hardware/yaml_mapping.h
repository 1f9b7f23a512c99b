// Reading YAML strictly: known keys, each once, errors with file, line and close keys. With its
// users the only code of this layer that knows yaml-cpp; none of its exceptions leave.
#ifndef SHARDPLAN_HARDWARE_YAML_MAPPING_H_
#define SHARDPLAN_HARDWARE_YAML_MAPPING_H_

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/file.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/gpu.h"

namespace shardplan::internal {

// Where a file is being read, for errors.
class Place {
 public:
  explicit Place(std::string file) : file_(std::move(file)) {}

  // "file:line: message; hint", kInvalidInput.
  tl::unexpected<Error> Fail(const YAML::Mark& mark, std::string message,
                             std::string hint = "") const;

  // "clusters/two.yaml:12"
  std::string At(const YAML::Mark& mark) const;

  // "h20-96" of "configs/gpus/h20-96.yaml".
  std::string Stem() const;

  const std::string& file() const { return file_; }

 private:
  std::string file_;
};

// A mapping all of whose keys are known and none of which is there twice.
class Mapping {
 public:
  // `name` is how errors call it: empty for the document, else "cuda_visible".
  static Result<Mapping> Read(const Place& place, const YAML::Node& node, std::string name,
                              const std::vector<std::string>& known);

  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  // The value of a key, or an error that it is missing.
  Result<YAML::Node> Get(std::string_view key) const;

  Result<std::string> Text(std::string_view key) const;

  // Lower-case letters, digits, dots and hyphens: what --gpu takes.
  Result<std::string> Word(std::string_view key, const YAML::Node& node) const;

  // A number from 0 up to `most`.
  template <typename Number>
  Result<Number> Count(std::string_view key, const YAML::Node& node, Number most) const {
    const std::string text = node.IsScalar() ? node.Scalar() : "";
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // YAML 1.1 reads 010 as eight, YAML 1.2 as ten.
    const bool octal = text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
    if (octal) return Expected(key, node, "a number without leading zeros");
    if (error != std::errc() || end != text.data() + text.size() ||
        !(value >= 0 && value <= most)) {
      return Expected(key, node, fmt::format("a number from 0 to {}", most));
    }
    return value;
  }
  template <typename Number>
  Result<Number> Count(std::string_view key, Number most) const {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get(key));
    return Count(key, node, most);
  }

  Result<Bytes> Size(std::string_view key) const;
  Result<Basis> BasisOf(std::string_view key) const;

  // The source with the date it was looked at: "data sheet (2026-11-29)".
  Result<std::string> DatedSource() const;

  tl::unexpected<Error> Expected(std::string_view key, const YAML::Node& node,
                                 std::string_view what) const;

  std::string Name(std::string_view key) const;
  const Place& place() const { return *place_; }
  YAML::Mark mark() const { return node_.Mark(); }

 private:
  struct Entry {
    std::string key;
    YAML::Mark mark;
    YAML::Node value;
  };

  Mapping(const Place& place, const YAML::Node& node, std::string name)
      : place_(&place), node_(node), name_(std::move(name)) {}

  const Entry* Find(std::string_view key) const;

  const Place* place_;
  YAML::Node node_;
  std::string name_;
  std::vector<Entry> entries_;
};

// {value} or {low, central, high}, with basis, source and date.
Result<SourcedBytes> ReadSourcedBytes(const Mapping& parent, std::string_view key);

// Reads the one document of `text` with `read(place, node)`.
template <typename Spec, typename Read>
Result<Spec> ReadDocument(std::string_view text, const std::string& file, const Read& read) {
  const Place place(file);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() != 1) {
      return place.Fail(YAML::Mark(),
                        fmt::format("expected one YAML document, found {}", documents.size()));
    }
    return read(place, documents[0]);
  } catch (const YAML::Exception& e) {
    // Of a text, yaml-cpp says so where it gives up at a depth.
    if (e.msg == YAML::ErrorMsg::BAD_FILE) {
      return place.Fail(e.mark, "expected YAML, found lists or mappings nested too deep");
    }
    return place.Fail(e.mark, "expected YAML: " + Printable(e.msg));
  }
}

}  // namespace shardplan::internal

#endif  // SHARDPLAN_HARDWARE_YAML_MAPPING_H_
