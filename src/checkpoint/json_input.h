// What headers and index share in reading JSON: strict on top of simdjson's lenient on-demand API.
#ifndef SHARDPLAN_CHECKPOINT_JSON_INPUT_H_
#define SHARDPLAN_CHECKPOINT_JSON_INPUT_H_

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "checkpoint/padded_text.h"
#include "shardplan/base/result.h"

namespace shardplan {

// On-demand parsing checks only what is visited, so a reader here must visit everything: values
// that it does not want go through Skip, and after the root object comes FinishJson.

// Opens `text` as a JSON object. `path` and `what` ("a JSON header") are for the errors. A document
// keeps pointers into the parser and the text.
Result<simdjson::ondemand::object> OpenJsonObject(const std::string& path, std::string_view what,
                                                  const PaddedText& text,
                                                  simdjson::ondemand::parser& parser,
                                                  simdjson::ondemand::document& document);

// Fails when anything but blanks follows the root object.
Status FinishJson(const std::string& path, std::string_view what,
                  simdjson::ondemand::document& document);

// The error for text that is not JSON, with the place when simdjson knows it: `document` is null
// when not even its first pass succeeded.
tl::unexpected<Error> MalformedJson(const std::string& path, std::string_view what,
                                    simdjson::error_code code, const PaddedText& text,
                                    simdjson::ondemand::document* document);

// A key or string value without its quotes. Unescapes only when there is something to unescape:
// simdjson's own functions copy every string into a second buffer. Call at most once per string.
simdjson::error_code KeyOf(simdjson::ondemand::field& field, std::string_view* out);
simdjson::error_code StringOf(simdjson::ondemand::value& value, std::string_view* out);

// The start of a value as it stands in the text, without trailing blanks; for error messages.
std::string_view TokenOf(simdjson::ondemand::value& value);

// An integer from 0 to 2^63 - 1. INCORRECT_TYPE for any other value.
simdjson::error_code NaturalOf(simdjson::ondemand::value& value, int64_t* out);

// Visits and validates a value that is not wanted. DEPTH_ERROR beyond 64 levels.
simdjson::error_code Skip(simdjson::ondemand::value value, int depth = 64);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_JSON_INPUT_H_
