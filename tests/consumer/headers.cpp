/* headers.cpp - every public header compiles as C++17, and its C names link from C++. */
#include <remat/op.h>
#include <remat/plan.h>
#include <remat/remat.h>

extern "C" const char *version_seen_by_cpp();

const char *version_seen_by_cpp()
{
    const remat_shape shape = REMAT_SHAPE(2, 3);
    const remat_exec_options options = REMAT_EXEC_OPTIONS_INIT;
    const remat_chain_settings settings = REMAT_CHAIN_SETTINGS_INIT;
    const remat_schedule_options schedule = REMAT_SCHEDULE_OPTIONS_INIT;
    const remat_task_spec task = REMAT_TASK_SPEC_INIT;
    uint64_t extra = 0;
    if (remat_revolve_extra_forward(10, 3, &extra, nullptr) != REMAT_OK || extra != 15 ||
        settings.persistent || schedule.budget_bytes != 0 || task.n_reads != 0)
        return "";
    return remat_shape_count(&shape) == 6 && options.budget_bytes == 0 ? REMAT_VERSION_STRING : "";
}
