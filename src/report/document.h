// Machine-readable answers: one document, printed as JSON or as YAML.
#ifndef SHARDPLAN_REPORT_DOCUMENT_H_
#define SHARDPLAN_REPORT_DOCUMENT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace shardplan {

// Keys keep the order in which they were set: the order of the contract.
using Document = nlohmann::ordered_json;

// Two spaces of indentation and a newline at the end. Bytes that are not UTF-8 become U+FFFD, so
// that a hostile file name cannot break the document.
std::string DumpJson(const Document& document);

// The same document as block YAML. String values are always quoted, and keys where they need
// it, so that none is taken for a number, a boolean or null.
std::string DumpYaml(const Document& document);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_DOCUMENT_H_
