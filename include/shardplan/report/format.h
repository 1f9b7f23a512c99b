// How an answer is printed.
#ifndef SHARDPLAN_REPORT_FORMAT_H_
#define SHARDPLAN_REPORT_FORMAT_H_

namespace shardplan {

enum class Format {
  kTable,  // for people; may change
  kJson,   // for programs; stable, with "schema_version"
  kYaml,   // the same document
};

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_FORMAT_H_
