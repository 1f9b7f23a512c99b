# Compiles data files into a target. This file is both the function and, run with `cmake -P`, the
# script that writes the source file at build time.
#
# shardplan_embed_configs(<target> <directory>): every .yaml and .tsv below <directory> becomes an
# entry of shardplan::internal::EmbeddedFiles() (src/base/embedded_files.h). Files that come, go or
# change are noticed by the next build.
function(shardplan_embed_configs target directory)
  file(GLOB_RECURSE files RELATIVE ${directory} CONFIGURE_DEPENDS
    ${directory}/*.yaml ${directory}/*.tsv)
  list(SORT files)
  set(listing ${CMAKE_CURRENT_BINARY_DIR}/embedded_files.txt)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_files.cc)
  list(JOIN files "\n" lines)
  file(CONFIGURE OUTPUT ${listing} CONTENT "${lines}\n" @ONLY)
  list(TRANSFORM files PREPEND "${directory}/" OUTPUT_VARIABLE paths)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} "-DDIRECTORY=${directory}" "-DLISTING=${listing}" "-DSOURCE=${source}"
            -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${listing} ${paths} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding ${directory}" VERBATIM)
  # ISO C++ promises 65,536 characters a literal; the compilers take any length.
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${source})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  return()
endif()

# Bytes travel as hexadecimal escapes, so that no content can break the literal (or CMake's lists).
file(STRINGS ${LISTING} names)
set(entries "")
string(REPEAT "[0-9a-f]" 48 line)
foreach(name IN LISTS names)
  file(READ "${DIRECTORY}/${name}" bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
  string(REGEX REPLACE "([^\n]+)" "     \"\\1\"" bytes "${bytes}")
  if(size EQUAL 0)
    set(bytes "     \"\"")
  endif()
  string(APPEND entries "    {\"${name}\", {\n${bytes},\n     ${size}}},\n")
endforeach()
list(LENGTH names count)
file(WRITE ${SOURCE} "// Written by cmake/EmbedConfigs.cmake: do not edit.
// NOLINTBEGIN
#include \"base/embedded_files.h\"

#include <array>

namespace shardplan::internal {

std::span<const EmbeddedFile> EmbeddedFiles() {
  static constexpr std::array<EmbeddedFile, ${count}> kFiles = {{
${entries}  }};
  return kFiles;
}

}  // namespace shardplan::internal
// NOLINTEND
")
