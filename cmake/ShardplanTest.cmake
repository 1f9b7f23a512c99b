include(GoogleTest)

# shardplan_layer_test(<layer> <sources...>): one binary per layer, one file per source under test.
# Tests see the test data as SHARDPLAN_TEST_DATA and the program as SHARDPLAN_BINARY.
function(shardplan_layer_test layer)
  add_executable(${layer}_test ${ARGN})
  target_include_directories(${layer}_test PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${layer}_test PRIVATE shardplan shardplan_warnings GTest::gmock
    GTest::gtest_main fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_definitions(${layer}_test PRIVATE
    SHARDPLAN_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    SHARDPLAN_EXAMPLES="${PROJECT_SOURCE_DIR}/examples"
    SHARDPLAN_SOURCE="${PROJECT_SOURCE_DIR}"
    SHARDPLAN_BINARY="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/shardplan")
  gtest_discover_tests(${layer}_test DISCOVERY_TIMEOUT 60)
endfunction()
