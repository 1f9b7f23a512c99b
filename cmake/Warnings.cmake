# Warnings of our own sources, all fatal. Never exported: a consumer's compiler is its own affair.
add_library(shardplan_warnings INTERFACE)
target_compile_options(shardplan_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Werror
  # GCC 12 sees overlapping copies in std::string::insert and operator+ (its bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
