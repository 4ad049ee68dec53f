# The libraries that exactformer stands on. Used by our own build and, installed
# beside exactformerConfig.cmake, by programs that link exactformer::static.
#
#   xf_find_dependencies([REQUIRED])
#
# sets XF_DEPENDENCIES (link these) and XF_DEPENDENCIES_FOUND. A macro, since package results
# belong to the caller. CBLAS is not among them: src/num/blas.c loads it when it is asked for.
set(XF_FIND_MODULES ${CMAKE_CURRENT_LIST_DIR}) # FindFLINT.cmake lies beside this file

macro(xf_find_dependencies)
  find_package(PkgConfig QUIET ${ARGV})
  find_package(OpenMP QUIET ${ARGV} COMPONENTS C)
  find_package(Threads QUIET ${ARGV})
  if(PkgConfig_FOUND)
    pkg_check_modules(JANSSON QUIET ${ARGV} IMPORTED_TARGET jansson)
    pkg_check_modules(LIBZIP QUIET ${ARGV} IMPORTED_TARGET libzip)
    pkg_check_modules(NETTLE QUIET ${ARGV} IMPORTED_TARGET nettle)
    pkg_check_modules(LIBLBFGS QUIET ${ARGV} IMPORTED_TARGET liblbfgs)
  endif()

  # FLINT with Arb, for the certifier.
  list(APPEND CMAKE_MODULE_PATH ${XF_FIND_MODULES})
  find_package(FLINT QUIET ${ARGV} COMPONENTS Arb)

  set(XF_DEPENDENCIES PkgConfig::JANSSON PkgConfig::LIBZIP PkgConfig::LIBLBFGS PkgConfig::NETTLE FLINT::Arb OpenMP::OpenMP_C Threads::Threads ${CMAKE_DL_LIBS} m)
  set(XF_DEPENDENCIES_FOUND TRUE)
  foreach(xf_dependency PkgConfig::JANSSON PkgConfig::LIBZIP PkgConfig::LIBLBFGS PkgConfig::NETTLE FLINT::Arb OpenMP::OpenMP_C Threads::Threads)
    if(NOT TARGET ${xf_dependency})
      set(XF_DEPENDENCIES_FOUND FALSE)
    endif()
  endforeach()
endmacro()
