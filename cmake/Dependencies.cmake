# Everything comes from the system's packages; FetchContent is the way out on systems without them.
include(FetchContent)
find_package(Threads REQUIRED)
set(SHARDPLAN_FETCHED OFF)  # whether anything was built from source: such a build is not installed

# shardplan_dependency(<package> <target> <git url> <tag>): find_package first, source second.
macro(shardplan_dependency package target url tag)
  find_package(${package} QUIET)
  if(NOT TARGET ${target})
    message(STATUS "${package}: not installed, fetching ${tag}")
    FetchContent_Declare(${package} GIT_REPOSITORY ${url} GIT_TAG ${tag} GIT_SHALLOW ON)
    FetchContent_MakeAvailable(${package})
    set(SHARDPLAN_FETCHED ON)
  endif()
endmacro()

shardplan_dependency(fmt fmt::fmt https://github.com/fmtlib/fmt 9.1.0)
shardplan_dependency(nlohmann_json nlohmann_json::nlohmann_json
  https://github.com/nlohmann/json v3.11.2)
shardplan_dependency(simdjson simdjson::simdjson https://github.com/simdjson/simdjson v3.0.1)
shardplan_dependency(tl-expected tl::expected https://github.com/TartanLlama/expected v1.0.0)
shardplan_dependency(CLI11 CLI11::CLI11 https://github.com/CLIUtils/CLI11 v2.1.2)
shardplan_dependency(spdlog spdlog::spdlog https://github.com/gabime/spdlog v1.10.0)

# yaml-cpp 0.7 exports an un-namespaced target, newer ones yaml-cpp::yaml-cpp: one name for both, and
# SHARDPLAN_YAML_TARGET for the one that an installed package finds.
find_package(yaml-cpp QUIET)
if(NOT TARGET yaml-cpp AND NOT TARGET yaml-cpp::yaml-cpp)
  message(STATUS "yaml-cpp: not installed, fetching 0.7.0")
  FetchContent_Declare(yaml-cpp GIT_REPOSITORY https://github.com/jbeder/yaml-cpp
    GIT_TAG yaml-cpp-0.7.0 GIT_SHALLOW ON)
  FetchContent_MakeAvailable(yaml-cpp)
  set(SHARDPLAN_FETCHED ON)
endif()
set(SHARDPLAN_YAML_TARGET yaml-cpp)
if(TARGET yaml-cpp::yaml-cpp)
  set(SHARDPLAN_YAML_TARGET yaml-cpp::yaml-cpp)
endif()
add_library(shardplan_yaml INTERFACE)
target_link_libraries(shardplan_yaml INTERFACE ${SHARDPLAN_YAML_TARGET})

# RE2 comes without a CMake package on Debian 12.
find_path(SHARDPLAN_RE2_INCLUDE re2/re2.h)
find_library(SHARDPLAN_RE2_LIBRARY re2)
add_library(shardplan_re2 INTERFACE)
if(SHARDPLAN_RE2_INCLUDE AND SHARDPLAN_RE2_LIBRARY)
  target_include_directories(shardplan_re2 SYSTEM INTERFACE ${SHARDPLAN_RE2_INCLUDE})
  target_link_libraries(shardplan_re2 INTERFACE ${SHARDPLAN_RE2_LIBRARY})
else()
  message(STATUS "re2: not installed, fetching 2022-06-01")
  FetchContent_Declare(re2 GIT_REPOSITORY https://github.com/google/re2
    GIT_TAG 2022-06-01 GIT_SHALLOW ON)
  FetchContent_MakeAvailable(re2)
  target_link_libraries(shardplan_re2 INTERFACE re2::re2)
  set(SHARDPLAN_FETCHED ON)
endif()

if(SHARDPLAN_TESTS)
  shardplan_dependency(GTest GTest::gtest_main https://github.com/google/googletest release-1.12.1)
endif()
if(SHARDPLAN_BENCHMARKS)
  shardplan_dependency(benchmark benchmark::benchmark https://github.com/google/benchmark v1.7.1)
endif()
