# Warnings of our own sources, all fatal. Never exported: a consumer's compiler is its own affair.
add_library(shardplan_warnings INTERFACE)
target_compile_options(shardplan_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Werror
  # GCC 12 sees overlapping and overlong copies in std::string's own functions (its bug 105651), the
  # more so when they come from a precompiled header.
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
