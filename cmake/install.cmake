# Install rules: headers, libraries, man pages, pkg-config and CMake package files.

set(XF_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/exactformer)

install(DIRECTORY include/exactformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS exactformer_shared EXPORT exactformerTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS exactformer_static EXPORT exactformerStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT exactformerTargets NAMESPACE exactformer:: DESTINATION ${XF_CMAKE_DIR})
install(EXPORT exactformerStaticTargets NAMESPACE exactformer:: DESTINATION ${XF_CMAKE_DIR})

configure_package_config_file(cmake/exactformerConfig.cmake.in exactformerConfig.cmake
  INSTALL_DESTINATION ${XF_CMAKE_DIR})
write_basic_package_version_file(exactformerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/exactformerConfig.cmake
  ${PROJECT_BINARY_DIR}/exactformerConfigVersion.cmake
  cmake/exactformerDependencies.cmake cmake/FindFLINT.cmake
  DESTINATION ${XF_CMAKE_DIR})

# The .pc file finds its prefix from its own place, so the tree can be moved.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(XF_OPENMP_LIBS -lgomp)
else()
  set(XF_OPENMP_LIBS ${OpenMP_C_FLAGS})
endif()
if(FLINT_ARB_LIBRARY STREQUAL FLINT_LIBRARY)
  set(XF_FLINT_LIBS "-lflint -lmpfr -lgmp")
else()
  get_filename_component(arb ${FLINT_ARB_LIBRARY} NAME_WE)
  string(REGEX REPLACE "^lib" "-l" arb ${arb})
  set(XF_FLINT_LIBS "${arb} -lflint -lmpfr -lgmp")
endif()
file(RELATIVE_PATH XF_PC_UP
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" XF_PC_UP "${XF_PC_UP}")
configure_file(cmake/exactformer.pc.in exactformer.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/exactformer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

file(GLOB XF_MAN_PAGES CONFIGURE_DEPENDS docs/man/*.1)
install(FILES ${XF_MAN_PAGES} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
