# Installs headers, archive, CMake package and pkg-config file. Everything finds the rest of the
# library relative to itself, so an installed tree may be moved.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/remat")
install(DIRECTORY include/remat DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING
        PATTERN "*.h")
install(TARGETS remat EXPORT rematTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT rematTargets NAMESPACE remat:: DESTINATION "${package_dir}")

configure_package_config_file(cmake/rematConfig.cmake.in rematConfig.cmake
    INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO
    NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(rematConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/rematConfig.cmake"
              "${PROJECT_BINARY_DIR}/rematConfigVersion.cmake" cmake/FindOpenBLAS.cmake
        DESTINATION "${package_dir}")

# The archive always needs OpenBLAS, so `pkg-config --libs` names it even without --static.
if(PC_OpenBLAS_FOUND)
    set(pc_requires openblas)
    set(pc_openblas "")
else()
    get_filename_component(openblas_dir "${OpenBLAS_LIBRARY}" DIRECTORY)
    set(pc_requires "")
    set(pc_openblas "-L${openblas_dir} -lopenblas")
endif()
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
           OUTPUT_VARIABLE pc_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${pc_libdir}/pkgconfig"
           OUTPUT_VARIABLE pc_prefix)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "\${prefix}"
           OUTPUT_VARIABLE pc_includedir)
configure_file(cmake/remat.pc.in remat.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/remat.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
