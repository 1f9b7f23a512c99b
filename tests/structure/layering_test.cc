// The folders under src/ and include/shardplan/ are layers, and this file holds their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A file may include its own layer and those with a smaller number. Siblings share a number and
// don't know each other.
const std::map<std::string, int>& Layers() {
  static const std::map<std::string, int> layers = {
      {"base", 0},      {"hardware", 1}, {"checkpoint", 1}, {"model", 2}, {"layout", 3},
      {"sharding", 4},  {"ledger", 5},   {"engine", 6},     {"plan", 7},  {"launch", 8},
      {"preflight", 8}, {"report", 9},   {"cli", 10}};
  return layers;
}

// Headers that only some files may include: the prefix of the header and of the file.
struct Fence {
  std::string_view header;
  std::string_view inside;
};
constexpr Fence kFences[] = {
    {"CLI/", "src/cli/"},
    {"spdlog/", "src/cli/"},
};

struct Include {
  std::string header;
  bool quoted = false;
};

std::vector<Include> IncludesOf(std::string_view text) {
  std::vector<Include> includes;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::erase(line, ' ');
    constexpr std::string_view kDirective = "#include";
    if (!line.starts_with(kDirective) || line.size() < kDirective.size() + 2) continue;
    const bool quoted = line[kDirective.size()] == '"';
    const size_t begin = kDirective.size() + 1;
    includes.push_back({line.substr(begin, line.find(quoted ? '"' : '>', begin) - begin), quoted});
  }
  return includes;
}

// "engine" of "src/engine/vllm/x.cc", of "shardplan/engine/x.h" and of "engine/x.h".
std::string LayerOf(std::string_view path) {
  for (const std::string_view root : {"src/", "include/", "shardplan/"}) {
    if (path.starts_with(root)) path.remove_prefix(root.size());
  }
  return std::string(path.substr(0, path.find('/')));
}

// What is wrong with the includes of one file; `path` is relative to the repository.
std::vector<std::string> Violations(const std::string& path, std::string_view text) {
  std::vector<std::string> out;
  const auto complain = [&](const Include& include, const std::string& why) {
    out.push_back(path + " includes " + include.header + ": " + why);
  };
  const std::string layer = LayerOf(path);
  if (!Layers().contains(layer)) return {path + ": " + layer + " is not a layer"};
  for (const Include& include : IncludesOf(text)) {
    for (const Fence& fence : kFences) {
      if (include.header.starts_with(fence.header) && !path.starts_with(fence.inside)) {
        complain(include, "only for " + std::string(fence.inside));
      }
    }
    if (!include.quoted) {
      if (include.header.starts_with("shardplan/")) complain(include, "write it with quotes");
      continue;
    }
    const bool beside = include.header.find('/') == std::string::npos;
    if (beside && path.starts_with("src/")) continue;  // a private header of the same folder
    const bool is_public = include.header.starts_with("shardplan/");
    const std::string target = LayerOf(include.header);
    if (!Layers().contains(target)) {
      complain(include, "neither of this folder nor shardplan/<layer>/ nor <layer>/");
    } else if (target != layer && Layers().at(target) >= Layers().at(layer)) {
      complain(include, layer + " is not above " + target);
    } else if (path.starts_with("include/") && !is_public) {
      complain(include, "a public header cannot include a private one");
    } else if ((path.starts_with("src/engine/vllm/") &&
                include.header.find("engine/sglang/") != std::string::npos) ||
               (path.starts_with("src/engine/sglang/") &&
                include.header.find("engine/vllm/") != std::string::npos)) {
      complain(include, "an engine does not know the other one");
    }
  }
  return out;
}

struct SourceFile {
  std::string path;  // relative to the repository
  std::string text;
};

const std::vector<SourceFile>& SourceFiles() {
  static const std::vector<SourceFile> files = [] {
    std::vector<SourceFile> found;
    const std::filesystem::path root = SHARDPLAN_SOURCE;
    for (const std::filesystem::path folder : {"include", "src"}) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
        const std::string extension = entry.path().extension().string();
        if (extension != ".h" && extension != ".cc") continue;
        std::ostringstream text;
        text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
        found.push_back({entry.path().lexically_relative(root).string(), text.str()});
      }
    }
    std::sort(found.begin(), found.end(),
              [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
    return found;
  }();
  return files;
}

TEST(LayeringTest, IncludesPointDown) {
  ASSERT_GT(SourceFiles().size(), 20U);
  for (const SourceFile& file : SourceFiles()) {
    EXPECT_THAT(Violations(file.path, file.text), IsEmpty());
  }
}

TEST(LayeringTest, AnUpwardIncludeIsFound) {
  EXPECT_THAT(Violations("src/base/x.cc", "#include \"shardplan/plan/plan.h\"\n"),
              ElementsAre("src/base/x.cc includes shardplan/plan/plan.h: base is not above plan"));
  EXPECT_THAT(Violations("src/model/x.cc", "  #  include \"engine/vllm/kv.h\"  // why\n"),
              ElementsAre("src/model/x.cc includes engine/vllm/kv.h: model is not above engine"));
  EXPECT_THAT(Violations("include/shardplan/layout/x.h", "#include \"shardplan/ledger/ledger.h\""),
              ElementsAre("include/shardplan/layout/x.h includes shardplan/ledger/ledger.h: layout "
                          "is not above ledger"));
}

TEST(LayeringTest, SiblingsDoNotKnowEachOther) {
  EXPECT_THAT(Violations("src/hardware/x.cc", "#include \"shardplan/checkpoint/dtype.h\""),
              ElementsAre("src/hardware/x.cc includes shardplan/checkpoint/dtype.h: hardware is "
                          "not above checkpoint"));
  EXPECT_EQ(Violations("src/checkpoint/x.cc", "#include \"shardplan/hardware/gpu.h\"").size(), 1U);
  EXPECT_EQ(Violations("src/launch/x.cc", "#include \"report/table.h\"").size(), 1U);
  EXPECT_THAT(Violations("src/report/x.cc", "#include \"launch/quote.h\""), IsEmpty());
  EXPECT_THAT(Violations("src/engine/vllm/x.cc", "#include \"engine/sglang/pool.h\""),
              ElementsAre("src/engine/vllm/x.cc includes engine/sglang/pool.h: an engine does not "
                          "know the other one"));
}

TEST(LayeringTest, OtherRulesOfIncludes) {
  EXPECT_THAT(Violations("src/plan/x.cc",
                         "#include <vector>\n#include <fmt/format.h>\n#include \"plan/y.h\"\n"
                         "#include \"y.h\"\n#include \"shardplan/base/bytes.h\"\n"),
              IsEmpty());
  EXPECT_THAT(Violations("src/plan/x.cc", "#include \"../base/y.h\""),
              ElementsAre("src/plan/x.cc includes ../base/y.h: neither of this folder nor "
                          "shardplan/<layer>/ nor <layer>/"));
  EXPECT_EQ(Violations("include/shardplan/plan/x.h", "#include \"y.h\"").size(), 1U);
  EXPECT_THAT(Violations("src/plan/x.cc", "#include <shardplan/base/bytes.h>"),
              ElementsAre("src/plan/x.cc includes shardplan/base/bytes.h: write it with quotes"));
  EXPECT_THAT(Violations("src/plan/x.cc", "#include <CLI/CLI.hpp>"),
              ElementsAre("src/plan/x.cc includes CLI/CLI.hpp: only for src/cli/"));
  EXPECT_THAT(Violations("include/shardplan/plan/x.h", "#include \"plan/y.h\""),
              ElementsAre("include/shardplan/plan/x.h includes plan/y.h: a public header cannot "
                          "include a private one"));
  EXPECT_THAT(Violations("src/utils/x.cc", ""),
              ElementsAre("src/utils/x.cc: utils is not a layer"));
}

TEST(SourceTest, NoFileIsLongerThan500Lines) {
  for (const SourceFile& file : SourceFiles()) {
    EXPECT_LE(std::count(file.text.begin(), file.text.end(), '\n'), 500) << file.path;
  }
}

// The entry point has nothing to test that the golden runs do not.
TEST(SourceTest, EverySourceHasItsTest) {
  for (const SourceFile& file : SourceFiles()) {
    if (!file.path.ends_with(".cc") || file.path == "src/cli/main.cc") continue;
    const std::string stem =
        file.path.substr(std::string_view("src/").size(), file.path.size() - 7);
    const std::filesystem::path test = std::filesystem::path(SHARDPLAN_SOURCE) / "tests";
    EXPECT_TRUE(std::filesystem::exists(test / (stem + "_test.cc"))) << file.path;
  }
}

TEST(SourceTest, IncludeGuardsNameTheFile) {
  for (const SourceFile& file : SourceFiles()) {
    if (!file.path.ends_with(".h")) continue;
    std::string guard = file.path;
    if (guard.starts_with("include/")) guard.erase(0, std::string_view("include/").size());
    if (guard.starts_with("src/")) guard.replace(0, std::string_view("src").size(), "shardplan");
    std::transform(guard.begin(), guard.end(), guard.begin(), [](unsigned char c) {
      return static_cast<char>(std::isalnum(c) ? std::toupper(c) : '_');
    });
    guard += '_';
    EXPECT_NE(file.text.find("#ifndef " + guard + "\n#define " + guard + "\n"), std::string::npos)
        << file.path << " has no guard " << guard;
  }
}

}  // namespace
}  // namespace shardplan
