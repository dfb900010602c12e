/* table.c - see table.h. */
#include "table.h"

#include <stdio.h>
#include <time.h>

#include "common/bytes.h"

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

void table_head(void)
{
    printf("%-16s %14s %10s %9s %9s %9s %9s %9s %9s\n", "strategy", "peak bytes", "", "% of all",
           "extra %", "bound %", "gap %", "replays", "plan ms");
}

void table_row(const outcome *o, size_t whole)
{
    char bytes[24];
    printf("%-16s %14zu %10s %9.1f %9.2f ", o->name, o->peak_bytes,
           bytes_text(o->peak_bytes, bytes), percent((double)o->peak_bytes, (double)whole),
           percent(o->cost.extra, o->cost.step));
    if (o->no_bound)
        printf("%9s %9s ", "-", "-");
    else
        printf("%9.2f %9.2f ", percent(o->cost.bound, o->cost.step), 100 * o->cost.gap);
    printf("%9zu %9.1f\n", o->replays, 1e3 * o->seconds);
}

void table_failure(const char *name, const char *why)
{
    printf("%-16s %s\n", name, why);
}

void table_smallest(size_t bytes, size_t whole)
{
    char text[24];
    printf("smallest budget: %zu bytes (%s, %.1f %% of keep-all's)\n", bytes,
           bytes_text(bytes, text), percent((double)bytes, (double)whole));
}

double seconds_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
