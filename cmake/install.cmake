# SPDX-License-Identifier: Apache-2.0
#
# Install rules: find_package(tenure [COMPONENTS core io]) and pkg-config, both relocatable.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenure)

install(TARGETS tenure EXPORT tenure_core FILE_SET HEADERS)
install(EXPORT tenure_core NAMESPACE tenure:: FILE tenure-core.cmake DESTINATION ${package_dir})
if(TENURE_BUILD_IO)
  install(TARGETS tenure_io EXPORT tenure_io FILE_SET HEADERS)
  install(EXPORT tenure_io NAMESPACE tenure:: FILE tenure-io.cmake DESTINATION ${package_dir})
  install(TARGETS tenure_cli)
endif()

write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tenure-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/tenure-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tenure-config-version.cmake
  DESTINATION ${package_dir})

set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pkgconfig_to_prefix /prefix/${pkgconfig_dir} /prefix)
configure_file(cmake/tenure.pc.in tenure.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenure.pc DESTINATION ${pkgconfig_dir})
