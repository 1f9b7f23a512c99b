# The library with its headers and the program, and a package for find_package(shardplan).
if(SHARDPLAN_FETCHED)
  message(STATUS "shardplan: built with fetched dependencies, which a package could not find again: "
                 "no install target")
  return()
endif()
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shardplan)
install(TARGETS shardplan EXPORT shardplan ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET shardplan_cli)
  install(TARGETS shardplan_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/shardplan DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT shardplan NAMESPACE shardplan:: FILE shardplanTargets.cmake
  DESTINATION ${package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/shardplanConfig.cmake.in
  ${PROJECT_BINARY_DIR}/shardplanConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/shardplanConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/shardplanConfig.cmake
              ${PROJECT_BINARY_DIR}/shardplanConfigVersion.cmake
  DESTINATION ${package_dir})
