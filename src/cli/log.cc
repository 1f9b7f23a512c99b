#include "cli/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "shardplan/base/file.h"

namespace shardplan::cli {
namespace {

std::shared_ptr<spdlog::logger>& Logger() {
  static std::shared_ptr<spdlog::logger> logger;
  return logger;
}

}  // namespace

void EnableLog() {
  if (Logger()) return;
  Logger() = std::make_shared<spdlog::logger>("shardplan",
                                              std::make_shared<spdlog::sinks::stderr_sink_mt>());
  Logger()->set_level(spdlog::level::debug);
  Logger()->set_pattern("%n: %H:%M:%S.%e %v");
}

void Log(const std::string& message) {
  if (Logger()) Logger()->debug("{}", Printable(message, 1000));
}

}  // namespace shardplan::cli
