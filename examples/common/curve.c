/* curve.c - see curve.h. */
#include "common/curve.h"

#include "common/bytes.h"

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_point(const memory_curve *c, const remat_plan_point *p)
{
    char bytes[24];
    printf("%14zu %10s %9.1f %9.2f ", p->arena_bytes, bytes_text(p->arena_bytes, bytes),
           percent((double)p->arena_bytes, (double)c->points[c->n - 1].arena_bytes),
           percent(p->extra_cost, c->step_cost));
    if (c->unbounded)
        printf("%9s %9s ", "-", "-");
    else
        printf("%9.2f %9.2f ", percent(p->bound, c->step_cost),
               percent(p->extra_cost - p->bound, c->step_cost + p->bound));
    printf("%8zu  %s\n", p->replays,
           c->unbounded ? c->unbounded : remat_strategy_name(p->strategy));
}

void curve_print(const memory_curve *c)
{
    printf("%14s %10s %9s %9s %9s %9s %8s  %s\n", "bytes", "", "% of all", "extra %", "bound %",
           "gap %", "replays", "strategy");
    for (size_t i = 0; i < c->n; i++)
        print_point(c, &c->points[i]);
}

remat_status curve_svg(FILE *out, const void *what)
{
    const memory_curve *c = what;
    return remat_sweep_write_svg(c->points, c->n, c->step_cost, out);
}

remat_status curve_csv(FILE *out, const void *what)
{
    const memory_curve *c = what;
    return remat_sweep_write_csv(c->points, c->n, c->step_cost, out);
}
