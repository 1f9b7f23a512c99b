// The files that a launch command prints, as a bundle.
#ifndef SHARDPLAN_TESTS_CLI_LAUNCH_FILES_H_
#define SHARDPLAN_TESTS_CLI_LAUNCH_FILES_H_

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_program.h"
#include "shardplan/launch/bundle.h"

namespace shardplan::testing_support {

// Of `arguments` behind "launch", run among the small configs.
inline Bundle LaunchFiles(const std::string& arguments, int code = 0) {
  const Outcome outcome = RunProgram("launch " + arguments + " --format json");
  EXPECT_EQ(outcome.code, code) << outcome.err;
  Bundle bundle;
  const auto document = nlohmann::json::parse(outcome.out, nullptr, false);
  if (document.is_discarded()) return bundle;
  for (const auto& file : document["files"]) {
    bundle.files.push_back({file["path"], file["text"], file["executable"]});
  }
  return bundle;
}

inline std::string TextOf(const Bundle& bundle, const std::string& path) {
  for (const Artefact& file : bundle.files) {
    if (file.path == path) return file.text;
  }
  ADD_FAILURE() << "no " << path;
  return "";
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_CLI_LAUNCH_FILES_H_
