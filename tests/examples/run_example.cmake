# Runs SCRIPT with PROGRAM and compares what it prints with the .txt file beside it, whose last line
# is the exit code.
string(REGEX REPLACE "\\.sh$" ".txt" expected_file "${SCRIPT}")
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env "SHARDPLAN=${PROGRAM}" NO_COLOR=1 "${SCRIPT}"
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
set(actual "${output}${errors}exit ${status}\n")
if(DEFINED ENV{SHARDPLAN_UPDATE})
  file(WRITE "${expected_file}" "${actual}")
  return()
endif()
file(READ "${expected_file}" expected)
if(NOT actual STREQUAL expected)
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/example_actual.txt" "${actual}")
  execute_process(COMMAND diff -u "${expected_file}"
    "${CMAKE_CURRENT_BINARY_DIR}/example_actual.txt")
  message(FATAL_ERROR "${SCRIPT} prints something else than ${expected_file}")
endif()
