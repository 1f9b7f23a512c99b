// Outputs of tools on two H200s (driver 580.159.04, 2026-11-29), and what tests of their readers
// share.
#ifndef SHARDPLAN_TESTS_HARDWARE_FACTS_SUPPORT_H_
#define SHARDPLAN_TESTS_HARDWARE_FACTS_SUPPORT_H_

#include <string>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/base/units.h"
#include "support/temp_dir.h"

namespace shardplan::testing_support {

inline std::string SamplePath(const std::string& name) {
  return std::string(SHARDPLAN_TEST_DATA) + "/hardware/h200/" + name;
}

inline std::string Sample(const std::string& name) { return ReadText(SamplePath(name)); }

template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result ? "parsed" : result.error().ToString();
}

// The text cut at every place, with a byte changed, and bytes that are no text.
inline std::vector<std::string> Mutations(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size(); at += 7) {
    out.push_back(text.substr(0, at));
    std::string changed = text;
    for (const char c : {'\0', '\xff', '9', ',', '\t', '\n', '\x1b'}) {
      changed[at] = c;
      out.push_back(changed);
    }
  }
  std::string binary;
  for (int i = 0; i < 4096; ++i) binary += static_cast<char>(i * 37 + i / 11);
  out.push_back(binary);
  out.push_back(text + binary);
  return out;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_HARDWARE_FACTS_SUPPORT_H_
