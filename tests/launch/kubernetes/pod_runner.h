// Runs the container of a manifest as a kubelet would, with a program that records what it got in
// the engine's place.
#ifndef SHARDPLAN_TESTS_LAUNCH_KUBERNETES_POD_RUNNER_H_
#define SHARDPLAN_TESTS_LAUNCH_KUBERNETES_POD_RUNNER_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "launch/kubernetes/scripts.h"
#include "shardplan/launch/shell.h"
#include "support/temp_dir.h"

namespace shardplan::testing_support {

// "$(NAME)" and "$$" in a variable's value: k8s.io/kubernetes third_party/forked/golang/expansion.
inline std::string ExpandVariable(const std::string& text,
                                  const std::map<std::string, std::string>& known) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[i + 1] == '$') {
      out += text[i++];
    } else if (const size_t end = text.find(')', i); text[i + 1] == '(' && end != text.npos) {
      const std::string name = text.substr(i + 2, end - i - 2);
      out += known.contains(name) ? known.at(name) : text.substr(i, end + 1 - i);
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct PodRun {
  int code = -1;
  std::string err;
  std::vector<std::string> argv;           // of the engine, from its name on
  std::map<std::string, std::string> env;  // that it saw
};

// Fields of the pod by fieldPath, and what LWS sets.
struct PodFields {
  std::map<std::string, std::string> by_path;
  std::map<std::string, std::string> injected;
};

class PodRunner {
 public:
  // `data` are the ConfigMap's.
  explicit PodRunner(const nlohmann::json& data) {
    for (const auto& [name, text] : data.items()) {
      dir_.Write("scripts/" + name, text.get<std::string>());
    }
    const std::string record = "#!/bin/bash\nprintf '%s\\0' \"${0##*/}\" \"$@\" > \"" +
                               dir_.Path("argv") + "\"\nenv -0 > \"" + dir_.Path("env") + "\"\n";
    for (const char* name : {"vllm", "python3"}) Stub(name, record);
    Stub("getent", "#!/bin/sh\necho \"$2\" >> \"" + dir_.Path("resolved") + "\"\n");
    Stub("sleep", "#!/bin/sh\n");
  }

  void Stub(const std::string& name, const std::string& text) {
    const std::string path = dir_.Write("bin/" + name, text);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  const TempDir& dir() const { return dir_; }

  PodRun Run(const nlohmann::json& container, const PodFields& fields) {
    std::map<std::string, std::string> env = fields.injected;
    std::string line =
        "cd '" + dir_.path() + "' && env -i PATH='" + dir_.Path("bin") + "':\"$PATH\"";
    for (const auto& entry : container.value("env", nlohmann::json::array())) {
      const std::string name = entry["name"];
      if (entry.contains("valueFrom")) {
        const std::string path = entry["valueFrom"]["fieldRef"]["fieldPath"];
        EXPECT_TRUE(fields.by_path.contains(path)) << path;
        env[name] = fields.by_path.contains(path) ? fields.by_path.at(path) : "";
      } else {
        env[name] = ExpandVariable(entry["value"].get<std::string>(), env);
      }
    }
    for (const auto& [name, value] : env) line += " " + ShellQuote(name + "=" + value);
    for (const auto& word : container["command"]) {
      std::string text = word.get<std::string>();
      const std::string scripts = kubernetes::kScriptsPath;
      if (text.starts_with(scripts)) text = dir_.Path("scripts") + text.substr(scripts.size());
      line += " " + ShellQuote(text);
    }
    line += " > out 2> err";
    const std::string script = dir_.Write("run.sh", line + "\n");
    const int status = std::system(("bash '" + script + "'").c_str());
    PodRun run;
    run.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    run.err = ReadText(dir_.Path("err"));
    if (std::filesystem::exists(dir_.Path("argv"))) {
      run.argv = Split(ReadText(dir_.Path("argv")));
      for (const std::string& entry : Split(ReadText(dir_.Path("env")))) {
        const size_t equals = entry.find('=');
        run.env[entry.substr(0, equals)] = entry.substr(equals + 1);
      }
    }
    return run;
  }

 private:
  static std::vector<std::string> Split(const std::string& text) {
    std::vector<std::string> out;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\0', begin);
      out.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return out;
  }

  TempDir dir_;
};

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_LAUNCH_KUBERNETES_POD_RUNNER_H_
