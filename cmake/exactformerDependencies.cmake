# The libraries that exactformer stands on. Used by our own build and, installed
# beside exactformerConfig.cmake, by programs that link exactformer::static.
#
#   xf_find_dependencies([REQUIRED])
#
# sets XF_DEPENDENCIES (link these), XF_DEPENDENCIES_FOUND and XF_BLAS_LIBS (for
# the pkg-config file). A macro, since package results belong to the caller.
set(XF_FIND_MODULES ${CMAKE_CURRENT_LIST_DIR}) # FindFLINT.cmake lies beside this file

macro(xf_find_dependencies)
  find_package(PkgConfig QUIET ${ARGV})
  find_package(OpenMP QUIET ${ARGV} COMPONENTS C)
  if(PkgConfig_FOUND)
    pkg_check_modules(JANSSON QUIET ${ARGV} IMPORTED_TARGET jansson)
    pkg_check_modules(LIBZIP QUIET ${ARGV} IMPORTED_TARGET libzip)
    pkg_check_modules(NETTLE QUIET ${ARGV} IMPORTED_TARGET nettle)
    pkg_check_modules(LIBLBFGS QUIET ${ARGV} IMPORTED_TARGET liblbfgs)
    pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
  endif()

  # OpenBLAS through pkg-config, else any BLAS that brings cblas.h.
  if(NOT TARGET exactformer::blas)
    if(OPENBLAS_FOUND)
      add_library(exactformer::blas INTERFACE IMPORTED)
      set_target_properties(exactformer::blas PROPERTIES INTERFACE_LINK_LIBRARIES PkgConfig::OPENBLAS)
      set(XF_BLAS_LIBS -lopenblas)
    else()
      find_package(BLAS QUIET ${ARGV})
      find_path(XF_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas ${ARGV})
      if(BLAS_FOUND AND XF_CBLAS_INCLUDE_DIR)
        add_library(exactformer::blas INTERFACE IMPORTED)
        set_target_properties(exactformer::blas PROPERTIES
          INTERFACE_LINK_LIBRARIES "${BLAS_LIBRARIES}"
          INTERFACE_INCLUDE_DIRECTORIES "${XF_CBLAS_INCLUDE_DIR}")
        string(REPLACE ";" " " XF_BLAS_LIBS "${BLAS_LIBRARIES}")
      endif()
    endif()
  endif()

  # FLINT with Arb, for the certifier.
  list(APPEND CMAKE_MODULE_PATH ${XF_FIND_MODULES})
  find_package(FLINT QUIET ${ARGV} COMPONENTS Arb)

  set(XF_DEPENDENCIES exactformer::blas PkgConfig::JANSSON PkgConfig::LIBZIP PkgConfig::LIBLBFGS PkgConfig::NETTLE FLINT::Arb OpenMP::OpenMP_C m)
  set(XF_DEPENDENCIES_FOUND TRUE)
  foreach(xf_dependency exactformer::blas PkgConfig::JANSSON PkgConfig::LIBZIP PkgConfig::LIBLBFGS PkgConfig::NETTLE FLINT::Arb OpenMP::OpenMP_C)
    if(NOT TARGET ${xf_dependency})
      set(XF_DEPENDENCIES_FOUND FALSE)
    endif()
  endforeach()
endmacro()
