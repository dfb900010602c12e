# Finds OpenBLAS with its C interface: target OpenBLAS::OpenBLAS. pkg-config only gives hints, so a
# system without it (or with another layout: set OpenBLAS_ROOT) works as well.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(PC_OpenBLAS QUIET openblas)
endif()

find_path(OpenBLAS_INCLUDE_DIR cblas.h HINTS ${PC_OpenBLAS_INCLUDE_DIRS}
          PATH_SUFFIXES openblas openblas-pthread)
find_library(OpenBLAS_LIBRARY openblas HINTS ${PC_OpenBLAS_LIBRARY_DIRS}
             PATH_SUFFIXES openblas openblas-pthread)
mark_as_advanced(OpenBLAS_INCLUDE_DIR OpenBLAS_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLAS REQUIRED_VARS OpenBLAS_LIBRARY OpenBLAS_INCLUDE_DIR
                                  VERSION_VAR PC_OpenBLAS_VERSION)

if(OpenBLAS_FOUND AND NOT TARGET OpenBLAS::OpenBLAS)
    add_library(OpenBLAS::OpenBLAS UNKNOWN IMPORTED)
    set_target_properties(OpenBLAS::OpenBLAS PROPERTIES
        IMPORTED_LOCATION "${OpenBLAS_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${OpenBLAS_INCLUDE_DIR}")
    if(OpenBLAS_LIBRARY MATCHES "\\.a$") # an archive brings none of its own needs
        list(REMOVE_ITEM PC_OpenBLAS_STATIC_LIBRARIES openblas)
        set_target_properties(OpenBLAS::OpenBLAS PROPERTIES
            INTERFACE_LINK_LIBRARIES "${PC_OpenBLAS_STATIC_LIBRARIES}")
    endif()
endif()
