// Nothing but the headers that the tests share, compiled once (cmake/ShardplanTest.cmake).
#include <gtest/gtest.h>
