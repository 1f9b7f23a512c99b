#include "cli/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::cli {
namespace {

using Readers = DeploymentReaders;

tl::unexpected<Error> Refuse(const std::string& flag, std::string_view text, std::string message,
                             std::string hint = "") {
  return Fail(ErrorCode::kUsage, fmt::format("{} {}", flag, Printable(text)), std::move(message),
              std::move(hint));
}

std::string UnknownOptionHint(const std::string& name, const OptionSet& known) {
  std::vector<std::string> names;
  for (const OptionSet::Known& option : known.known()) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  const std::vector<std::string> close = CloseNames(name, names);
  return close.empty() ? "every option of `shardplan plan` about the deployment can vary"
                       : "did you mean " + JoinWithOr(close) + "?";
}

// Sets one option of `what` as the line would have.
Status Apply(const Axis& axis, const std::string& value, const OptionSet& readers) {
  const OptionSet::Known* option = readers.Find(axis.option);
  std::string text = value;
  // An option with an opposite is off by that, not by being left out.
  if (option->is_flag() && text == "false") {
    if (const OptionSet::Known* opposite = readers.Find("no-" + axis.option)) {
      option = opposite;
      text = "true";
    }
  }
  const Status status = option->read(text);
  if (status) return {};
  Error error = status.error();
  error.subject = axis.is_own_flag()
                      ? fmt::format("{} {}", axis.flag, Printable(value))
                      : fmt::format("{} {}={}", axis.flag, axis.option, Printable(value));
  return tl::unexpected<Error>(std::move(error));
}

// The option is on the line once, and on one axis.
Status CheckOnce(const std::vector<Axis>& axes, const OptionSet& given, const OptionSet& readers) {
  std::vector<const OptionSet::Known*> seen;
  for (const Axis& axis : axes) {
    const OptionSet::Known* option = readers.Find(axis.option);
    if (std::find(seen.begin(), seen.end(), option) != seen.end()) {
      return Refuse(axis.flag, axis.option, "expected once, found twice",
                    "list all its values together");
    }
    seen.push_back(option);
    for (const std::string& name : {axis.option, "no-" + axis.option}) {
      const OptionSet::Known* on_line = given.Find(name);
      if (axis.is_own_flag() || on_line == nullptr || !on_line->given()) continue;
      return Refuse(axis.flag, axis.option, fmt::format("--{} is given as well", Printable(name)),
                    "leave one of them out");
    }
  }
  return {};
}

Status CheckCount(const std::vector<Axis>& axes, size_t most) {
  size_t count = 1;
  std::string product;
  for (const Axis& axis : axes) {
    count *= axis.values.size();
    product += fmt::format("{}{}", product.empty() ? "" : " × ", axis.values.size());
    if (count > 1'000'000) break;  // far enough for the message
  }
  if (count <= most) return {};
  return Fail(
      ErrorCode::kUsage, "variants",
      fmt::format("expected at most {}, found {}{}", FormatCount(static_cast<int64_t>(most)),
                  FormatCount(static_cast<int64_t>(count)),
                  axes.size() > 1 ? fmt::format(" ({})", product) : ""),
      "give fewer values at a time");
}

}  // namespace

Result<Axis> ParseAxis(const std::string& text, const std::string& flag) {
  DeploymentOptions unused;
  const Readers known(&unused);
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Refuse(flag, text, "expected OPTION=A,B,…", "such as tensor-parallel-size=8,16");
  }
  Axis axis;
  axis.flag = flag;
  axis.option = text.substr(0, equals);
  const OptionSet::Known* option = known.set().Find(axis.option);
  if (option == nullptr) {
    return Refuse(flag, axis.option, "unknown option", UnknownOptionHint(axis.option, known.set()));
  }
  std::string values = text.substr(equals + 1);
  const bool semicolons = values.find(';') != std::string::npos;
  if (!semicolons && option->is_list() && values.find(',') != std::string::npos) {
    return Refuse(flag, text, "its values hold commas themselves: separate them by semicolons",
                  fmt::format("{} '{}={};…'", flag, axis.option, Printable(values)));
  }
  if (values.ends_with(';')) values.pop_back();
  const char separator = semicolons ? ';' : ',';
  for (size_t begin = 0; begin <= values.size();) {
    const size_t end = std::min(values.find(separator, begin), values.size());
    const std::string value = values.substr(begin, end - begin);
    if (value.empty()) return Refuse(flag, text, "expected a value, found nothing");
    if (std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end()) {
      return Refuse(flag, text, fmt::format("expected different values, found {} twice", value));
    }
    axis.values.push_back(value);
    begin = end + 1;
  }
  return axis;
}

Result<std::vector<Axis>> ParseAxes(const std::vector<std::string>& engines,
                                    const std::vector<std::string>& vary) {
  std::vector<Axis> axes;
  for (const std::string& engine : engines) {
    if (std::count(engines.begin(), engines.end(), engine) == 1) continue;
    return Refuse("--engine", engine, "expected different engines, found it twice");
  }
  if (!engines.empty()) axes.push_back({"engine", engines, "--engine"});
  for (const std::string& text : vary) {
    SHARDPLAN_ASSIGN_OR_RETURN(Axis axis, ParseAxis(text));
    axes.push_back(std::move(axis));
  }
  return axes;
}

Result<std::vector<VariantOptions>> MakeVariants(const DeploymentOptions& base,
                                                 const OptionSet& given,
                                                 const std::vector<Axis>& axes, size_t most) {
  SHARDPLAN_RETURN_IF_ERROR(CheckCount(axes, most));
  DeploymentOptions unused;
  SHARDPLAN_RETURN_IF_ERROR(CheckOnce(axes, given, Readers(&unused).set()));
  std::vector<VariantOptions> variants;
  std::vector<size_t> at(axes.size());
  while (true) {
    VariantOptions variant;
    variant.what = base;
    const Readers readers(&variant.what);
    for (size_t i = 0; i < axes.size(); ++i) {
      const std::string& value = axes[i].values[at[i]];
      SHARDPLAN_RETURN_IF_ERROR(Apply(axes[i], value, readers.set()));
      variant.options.emplace_back(axes[i].option, value);
    }
    variants.push_back(std::move(variant));
    size_t axis = axes.size();
    while (axis > 0 && ++at[axis - 1] == axes[axis - 1].values.size()) at[--axis] = 0;
    if (axis == 0) return variants;
  }
}

}  // namespace shardplan::cli
