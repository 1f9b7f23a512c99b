// The catalogue's files: compiled in, replaceable from a directory.
#ifndef SHARDPLAN_BASE_CONFIG_STORE_H_
#define SHARDPLAN_BASE_CONFIG_STORE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"

namespace shardplan {

// Maps "gpus/h20-96.yaml" to its text. The default store holds the repository's configs/ folder as
// it was when the program was built; a directory given with --configs adds to it and overrides it
// file by file.
class ConfigStore {
 public:
  // The compiled-in files only.
  static ConfigStore BuiltIn();

  // The compiled-in files, overridden by those below `directory`. Fails when it cannot be read.
  static Result<ConfigStore> WithOverrides(const std::string& directory);

  // Fails with kInvalidInput when there is no such file.
  Result<std::string_view> Get(std::string_view name) const;

  bool Has(std::string_view name) const { return files_.contains(name); }

  // Names that begin with `prefix`, sorted: List("gpus/").
  std::vector<std::string> List(std::string_view prefix) const;

  // Where a file came from: "built in" or its path. For error messages.
  std::string Origin(std::string_view name) const;

 private:
  struct Entry {
    std::string text;
    std::string origin;
  };
  std::map<std::string, Entry, std::less<>> files_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_BASE_CONFIG_STORE_H_
