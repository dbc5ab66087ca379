# SPDX-License-Identifier: Apache-2.0
#
# Targets for developers: `tidy` (clang-tidy over the library, tenure::io and the program; its
# command lines come from this build, which should be clang's), `format`, `format-check`.

find_program(TENURE_CLANG_TIDY clang-tidy)
find_program(TENURE_CLANG_FORMAT clang-format)
mark_as_advanced(TENURE_CLANG_TIDY TENURE_CLANG_FORMAT)

if(TENURE_CLANG_TIDY AND CMAKE_EXPORT_COMPILE_COMMANDS)
  set(tidied "")
  foreach(target tenure tenure_io tenure_commands tenure_cli)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    foreach(source IN LISTS sources)
      # Never made, so that every run looks again; one command a file, so that they run in parallel.
      set(mark ${CMAKE_CURRENT_BINARY_DIR}/tidy/${source})
      set_source_files_properties(${mark} PROPERTIES SYMBOLIC ON)
      add_custom_command(OUTPUT ${mark}
        COMMAND ${TENURE_CLANG_TIDY} -p ${CMAKE_CURRENT_BINARY_DIR} --quiet --warnings-as-errors=*
          ${CMAKE_CURRENT_SOURCE_DIR}/${source}
        COMMENT "clang-tidy ${source}" VERBATIM)
      list(APPEND tidied ${mark})
    endforeach()
  endforeach()
  add_custom_target(tidy DEPENDS ${tidied})
  if(TARGET tenure_schemas)
    add_dependencies(tidy tenure_schemas)
  endif()
endif()

if(TENURE_CLANG_FORMAT AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/.git)
  set(tracked ${CMAKE_CURRENT_BINARY_DIR}/tracked_sources)
  foreach(mode "format -i" "format-check --dry-run -Werror")
    separate_arguments(mode)
    list(POP_FRONT mode name)
    list(JOIN mode " " flags)
    add_custom_target(${name}
      COMMAND git ls-files -z *.h *.cpp > ${tracked}
      COMMAND xargs -0 -a ${tracked} ${TENURE_CLANG_FORMAT} ${mode}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} VERBATIM)
  endforeach()
endif()
