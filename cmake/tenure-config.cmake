# SPDX-License-Identifier: Apache-2.0
#
# find_package(tenure [COMPONENTS core io]): tenure::tenure is always there, tenure::io when it was
# installed.

include(${CMAKE_CURRENT_LIST_DIR}/tenure-core.cmake)
set(tenure_core_FOUND TRUE)
include(${CMAKE_CURRENT_LIST_DIR}/tenure-io.cmake OPTIONAL RESULT_VARIABLE tenure_io_FOUND)
foreach(component IN LISTS tenure_FIND_COMPONENTS)
  if(tenure_FIND_REQUIRED_${component} AND NOT tenure_${component}_FOUND)
    set(tenure_FOUND FALSE)
    set(tenure_NOT_FOUND_MESSAGE "tenure was installed without the component ${component}")
  endif()
endforeach()
