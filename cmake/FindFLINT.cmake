# Finds FLINT 2.9 (with Arb as a library of its own) or FLINT 3 (which contains Arb).
#
#   FLINT::FLINT   FLINT with GMP and MPFR, for integers and rationals
#   FLINT::Arb     ball arithmetic; the same as FLINT::FLINT from FLINT 3 on
#   FLINT_VERSION, FLINT_FOUND, FLINT_Arb_FOUND
#
# Arb's headers are <arb.h> before FLINT 3 and <flint/arb.h> since; FLINT::Arb defines
# FLINT_ARB_SEPARATE to 1 or 0 to tell them apart.

find_path(FLINT_INCLUDE_DIR flint/flint.h)
find_library(FLINT_LIBRARY flint)
find_library(FLINT_GMP_LIBRARY gmp)
find_library(FLINT_MPFR_LIBRARY mpfr)

set(FLINT_VERSION "")
if(FLINT_INCLUDE_DIR)
  # FLINT 3 names the parts in flint.h, FLINT 2 writes a string there.
  file(STRINGS ${FLINT_INCLUDE_DIR}/flint/flint.h flint_lines REGEX "define +(__FLINT_|FLINT_)VERSION")
  if("${flint_lines}" MATCHES "FLINT_VERSION +\"([0-9.]+)")
    set(FLINT_VERSION ${CMAKE_MATCH_1})
  elseif("${flint_lines}" MATCHES "__FLINT_VERSION +([0-9]+)")
    set(FLINT_VERSION ${CMAKE_MATCH_1})
    foreach(part _MINOR _PATCHLEVEL)
      if("${flint_lines}" MATCHES "__FLINT_VERSION${part} +([0-9]+)")
        string(APPEND FLINT_VERSION .${CMAKE_MATCH_1})
      endif()
    endforeach()
  endif()

  if(EXISTS ${FLINT_INCLUDE_DIR}/flint/arb.h)
    set(FLINT_ARB_LIBRARY ${FLINT_LIBRARY})
    set(flint_arb_separate 0)
  else()
    find_path(FLINT_ARB_INCLUDE_DIR arb.h)
    find_library(FLINT_ARB_LIBRARY NAMES flint-arb arb)
    set(flint_arb_separate 1)
  endif()
  if(FLINT_ARB_LIBRARY)
    set(FLINT_Arb_FOUND TRUE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FLINT
  REQUIRED_VARS FLINT_LIBRARY FLINT_INCLUDE_DIR FLINT_GMP_LIBRARY FLINT_MPFR_LIBRARY
  VERSION_VAR FLINT_VERSION
  HANDLE_COMPONENTS)

if(FLINT_FOUND AND NOT TARGET FLINT::FLINT)
  add_library(FLINT::FLINT INTERFACE IMPORTED)
  set_target_properties(FLINT::FLINT PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${FLINT_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES "${FLINT_LIBRARY};${FLINT_MPFR_LIBRARY};${FLINT_GMP_LIBRARY}")
endif()
if(FLINT_FOUND AND FLINT_Arb_FOUND AND NOT TARGET FLINT::Arb)
  add_library(FLINT::Arb INTERFACE IMPORTED)
  set_target_properties(FLINT::Arb PROPERTIES
    INTERFACE_COMPILE_DEFINITIONS FLINT_ARB_SEPARATE=${flint_arb_separate}
    INTERFACE_LINK_LIBRARIES "${FLINT_ARB_LIBRARY};FLINT::FLINT")
endif()
mark_as_advanced(FLINT_INCLUDE_DIR FLINT_LIBRARY FLINT_GMP_LIBRARY FLINT_MPFR_LIBRARY
  FLINT_ARB_INCLUDE_DIR FLINT_ARB_LIBRARY)
