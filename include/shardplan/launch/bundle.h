// Files that are handed over together: one directory, all of it or nothing.
#ifndef SHARDPLAN_LAUNCH_BUNDLE_H_
#define SHARDPLAN_LAUNCH_BUNDLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan {

struct Artefact {
  std::string path;  // below the directory: "node-0.sh", "stage-0/model.safetensors.index.json"
  std::string text;
  bool executable = false;
  std::string purpose = {};  // what it is for, in half a sentence
};

// A fact that no plan can know and without which nothing starts.
struct SiteVariable {
  std::string name;     // "MASTER_ADDR": of the environment, or a placeholder "<MASTER_ADDR>"
  std::string what;     // "address of node 0 on the network of the ranks"
  std::string example;  // "10.0.0.1"
  // As given: none, where the place has to say it; one for all nodes, or one for each.
  std::vector<std::string> values = {};
  bool per_host = false;  // another one on every node
  bool exported = true;   // the engine reads it itself
  bool secret = false;    // a key: its value is in no file and in no text that is printed

  bool known() const { return !values.empty(); }
  // Of a node; empty where it is not known.
  std::string ValueOf(int64_t node) const;
};

struct Bundle {
  std::vector<Artefact> files;  // as the maker lists them; paths are all different
  // What the files need to know of the place, known or not.
  std::vector<SiteVariable> variables = {};
  // Arguments as the files hand them to the engine, program first; placeholders stand as they are.
  // Empty: those of the plan.
  std::vector<std::vector<std::string>> commands = {};
  // Figures of the files that rest on an assumption, a sentence each.
  std::vector<std::string> assumptions = {};
  // What to know before using them, a sentence each.
  std::vector<std::string> notes = {};
};

// Writes every file into a hidden sibling of `directory` and renames that, so that the directory
// appears complete or not at all. `directory` must not be there or be empty. Fails with kIo, and
// with kInternal for a path that leaves the directory.
Status WriteBundle(const Bundle& bundle, const std::string& directory);

// All files as one text, each under a line "==> PATH <==": what a person reads before writing.
std::string RenderBundle(const Bundle& bundle);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_BUNDLE_H_
