#include "cli/sweep_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

using Number = std::variant<int64_t, double>;

Result<Number> ReadCount(const std::string& text) {
  SHARDPLAN_ASSIGN_OR_RETURN(const int64_t count, ParseCount(text, 0));
  return Number(count);
}

Result<Number> ReadTokens(const std::string& text) {
  SHARDPLAN_ASSIGN_OR_RETURN(const int64_t count, ParseTokenCount(text));
  return Number(count);
}

Result<Number> ReadBytes(const std::string& text) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Bytes bytes, ParseBytes(text));
  return Number(bytes.count());
}

// Whole where it is written so.
Result<Number> ReadDecimal(const std::string& text) {
  if (text.find('.') == std::string::npos) return ReadCount(text);
  SHARDPLAN_ASSIGN_OR_RETURN(const double value, ParseDecimal(text));
  return Number(value);
}

// How the values of an option read, by what stands for them in the help.
struct Kind {
  std::string_view value;
  Result<Number> (*read)(const std::string& text);
};
constexpr std::array<Kind, 7> kKinds = {{{"N", ReadCount},
                                         {"TOKENS", ReadTokens},
                                         {"BYTES", ReadTokens},
                                         {"SIZE", ReadBytes},
                                         {"FRACTION", ReadDecimal},
                                         {"RATIO", ReadDecimal},
                                         {"GIB", ReadDecimal}}};

const Kind* KindOf(const OptionSet::Known& option) {
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                 [&](const Kind& k) { return k.value == option.value; });
  return kind == kKinds.end() ? nullptr : &*kind;
}

// Looked at before the values are taken apart: those of a list hold commas themselves, and no
// other separator makes numbers of them.
Status CheckIsNumber(const std::string& text, const OptionSet& known) {
  const std::string name = text.substr(0, text.find('='));
  const OptionSet::Known* const option = known.Find(name);
  if (option == nullptr || KindOf(*option) != nullptr) return {};
  const bool list = option->is_list();
  return Fail(ErrorCode::kUsage, "--sweep " + name,
              fmt::format("expected an option that takes a number, such as max-model-len, "
                          "max-num-batched-tokens, gpu-memory-utilization or "
                          "tensor-parallel-size{}",
                          list ? ", found one that takes lists" : ""),
              list ? fmt::format("shardplan compare --vary '{}=A,B;C,D' takes lists, with a "
                                 "semicolon between them",
                                 name)
                   : fmt::format("shardplan compare --vary {}=… takes any", name));
}

Result<SweepAxis> ToNumbers(const Axis& axis, const Kind& kind) {
  SweepAxis out;
  out.option = axis.option;
  for (const std::string& text : axis.values) {
    const std::string subject = fmt::format("--sweep {}={}", axis.option, Printable(text));
    Result<Number> number = kind.read(text);
    if (!number) {
      Error error = std::move(number).error();
      error.subject = subject;
      return tl::unexpected<Error>(std::move(error));
    }
    for (const SweepValue& value : out.values) {
      if (value.number != *number) continue;
      return Fail(
          ErrorCode::kUsage, subject,
          fmt::format("expected different values, found {} as well", Printable(value.text)));
    }
    out.values.push_back({text, *number});
  }
  return out;
}

}  // namespace

Result<SweepRequest> ParseSweep(const std::vector<std::string>& texts) {
  if (texts.size() > kMostAxes) {
    return Fail(ErrorCode::kUsage, "--sweep",
                fmt::format("expected at most {} options, found {}", kMostAxes, texts.size()),
                "shardplan compare --vary takes more");
  }
  DeploymentOptions unused;
  const std::shared_ptr<CLI::App> app = DetachedApp();
  OptionSet known(app.get());
  AddDeploymentOptions(&known, &unused);
  SweepRequest request;
  for (const std::string& text : texts) {
    SHARDPLAN_RETURN_IF_ERROR(CheckIsNumber(text, known));
    SHARDPLAN_ASSIGN_OR_RETURN(Axis axis, ParseAxis(text, "--sweep"));
    SHARDPLAN_ASSIGN_OR_RETURN(SweepAxis numbers,
                               ToNumbers(axis, *KindOf(*known.Find(axis.option))));
    request.axes.push_back(std::move(axis));
    request.as_numbers.push_back(std::move(numbers));
  }
  return request;
}

}  // namespace shardplan::cli
