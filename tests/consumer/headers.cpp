/* headers.cpp - every public header compiles as C++17, and its C names link from C++. */
#include <remat/op.h>
#include <remat/plan.h>
#include <remat/remat.h>

extern "C" const char *version_seen_by_cpp();

const char *version_seen_by_cpp()
{
    const remat_shape shape = REMAT_SHAPE(2, 3);
    const remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    return remat_shape_count(&shape) == 6 && options.budget_bytes == 0 ? REMAT_VERSION_STRING : "";
}
