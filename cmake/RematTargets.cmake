# The targets that make up libremat.a, and the flags they are compiled with.

# Every target of this project links this; nothing of it reaches users of the library.
add_library(remat_warnings INTERFACE)
target_compile_options(remat_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<BOOL:${REMAT_WARNINGS_AS_ERRORS}>:-Werror>)

# Loops over tensors vectorise only if errno and traps need not be kept. Sums are not reassociated
# (no -ffast-math): the bits of a result are the source's matter.
set(REMAT_KERNEL_FLAGS $<$<NOT:$<CONFIG:Debug>>:-O3> -fopenmp-simd -fno-math-errno
    -fno-trapping-math -ffp-contract=fast
    # Optimised by clang, a loop that is marked `omp simd` and stays scalar is a warning; unoptimised
    # all of them would be.
    $<$<AND:$<CONFIG:Debug>,$<C_COMPILER_ID:Clang,AppleClang>>:-Wno-pass-failed>)

# Each src/cpu/simd_*.c is compiled once per level with REMAT_SIMD=<level>.
set(REMAT_SIMD_LEVELS generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    list(APPEND REMAT_SIMD_LEVELS avx2 avx512)
endif()
set(REMAT_SIMD_FLAGS_generic "")
set(REMAT_SIMD_FLAGS_avx2 -mavx2 -mfma)
set(REMAT_SIMD_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma
    -mprefer-vector-width=512)

# remat_add_objects(<target> <sources>): compiled but not linked; the pieces of an archive.
function(remat_add_objects target)
    add_library(${target} OBJECT ${ARGN})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include"
                                                 "${PROJECT_SOURCE_DIR}/src")
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    target_link_libraries(${target} PRIVATE remat_warnings)
endfunction()

# remat_add_wing(<target> <sources>): objects that handle tensor data.
function(remat_add_wing target)
    remat_add_objects(${target} ${ARGN})
    target_compile_options(${target} PRIVATE ${REMAT_KERNEL_FLAGS})
    target_link_libraries(${target} PRIVATE OpenBLAS::OpenBLAS Threads::Threads)
    if("avx512" IN_LIST REMAT_SIMD_LEVELS)
        target_compile_definitions(${target} PRIVATE REMAT_HAVE_X86_SIMD=1)
    endif()
endfunction()

# remat_add_archive(<target> <object targets>): a static library that users can include and link.
function(remat_add_archive target)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
    add_library(${target} STATIC ${objects})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${target} PUBLIC c_std_11)
    target_link_libraries(${target} PRIVATE m)
endfunction()

function(remat_add_library)
    set(source "${PROJECT_SOURCE_DIR}/src")
    file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/remat/*.h")
    file(GLOB_RECURSE core CONFIGURE_DEPENDS "${source}/base/*.c" "${source}/tape/*.c"
         "${source}/plan/*.c" "${source}/exec/*.c" "${source}/report/*.c")
    file(GLOB_RECURSE wing CONFIGURE_DEPENDS "${source}/ops/*.c" "${source}/cpu/*.c"
         "${source}/train/*.c")
    file(GLOB simd CONFIGURE_DEPENDS "${source}/cpu/simd_*.c")
    list(REMOVE_ITEM wing ${simd})

    remat_add_objects(remat_core ${core} ${headers})
    remat_add_wing(remat_wing ${wing} ${headers})
    set(parts remat_core remat_wing)
    if(simd)
        foreach(level IN LISTS REMAT_SIMD_LEVELS)
            remat_add_wing(remat_simd_${level} ${simd})
            target_compile_options(remat_simd_${level} PRIVATE ${REMAT_SIMD_FLAGS_${level}})
            target_compile_definitions(remat_simd_${level} PRIVATE REMAT_SIMD=${level})
            list(APPEND parts remat_simd_${level})
        endforeach()
    endif()

    remat_add_archive(remat ${parts})
    target_link_libraries(remat PRIVATE OpenBLAS::OpenBLAS Threads::Threads)
    add_library(remat::remat ALIAS remat)
    # Without the wing, and so without BLAS: what links this proves that the core needs neither.
    remat_add_archive(remat_core_static remat_core)
endfunction()
