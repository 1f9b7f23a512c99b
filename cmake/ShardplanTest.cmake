include(GoogleTest)

# shardplan_layer_test(<layer> <sources...>): one binary per layer, one file per source under test.
# Tests see the test data as SHARDPLAN_TEST_DATA and the program as SHARDPLAN_BINARY.
#
# With SHARDPLAN_UNITY_TESTS several sources are compiled as one, which a whole build gains by; an
# edit then compiles its neighbours too. Names of anonymous namespaces have to differ in a folder.
#
# Heavy headers are compiled once for all of them, and the tests themselves with little optimization:
# compiling them is most of a build, running them a few seconds.
add_executable(test_headers ${CMAKE_CURRENT_LIST_DIR}/test_headers.cc)
target_precompile_headers(test_headers PRIVATE
  <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>
  <filesystem> <fstream> <map> <optional> <string> <vector>)
function(shardplan_test_settings target)
  target_link_libraries(${target} PRIVATE shardplan_warnings GTest::gmock GTest::gtest_main
    fmt::fmt nlohmann_json::nlohmann_json simdjson::simdjson shardplan)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)
endfunction()
shardplan_test_settings(test_headers)

function(shardplan_layer_test layer)
  add_executable(${layer}_test ${ARGN})
  target_include_directories(${layer}_test PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  shardplan_test_settings(${layer}_test)
  target_precompile_headers(${layer}_test REUSE_FROM test_headers)
  set_target_properties(${layer}_test PROPERTIES
    UNITY_BUILD ${SHARDPLAN_UNITY_TESTS} UNITY_BUILD_BATCH_SIZE 6)
  target_compile_definitions(${layer}_test PRIVATE
    SHARDPLAN_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    SHARDPLAN_EXAMPLES="${PROJECT_SOURCE_DIR}/examples"
    SHARDPLAN_SOURCE="${PROJECT_SOURCE_DIR}"
    SHARDPLAN_BINARY="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/shardplan")
  gtest_discover_tests(${layer}_test DISCOVERY_TIMEOUT 60)
endfunction()
