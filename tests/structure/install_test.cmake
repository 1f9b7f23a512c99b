# Installs BUILD below WORK, then configures, builds and runs the project in CONSUMER against it.
file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}")
run(${CMAKE_COMMAND} -S "${CONSUMER}" -B "${WORK}/build" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build "${WORK}/build")
run("${WORK}/build/consumer")
if(NOT output STREQUAL "NVIDIA H20: 95.577 GiB\n")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()

# Where the program is part of the build, it is installed and runs from there.
if(EXISTS "${BUILD}/bin/shardplan")
  run("${prefix}/bin/shardplan" --help)
endif()
