/* progress.c - see progress.h. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH      20
#define REDRAW_SECONDS 0.1
#define PLAIN_LINES    10
#define LOSS_STEPS     50 /* that the loss shown is a mean of, roughly */

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(progress *p, size_t total_steps, size_t steps_per_epoch, size_t batch)
{
    *p = (progress){.total_steps = total_steps,
                    .steps_per_epoch = steps_per_epoch,
                    .batch = batch,
                    .is_terminal = isatty(STDOUT_FILENO) == 1,
                    .begun = seconds_now()};
}

static void print_figures(const progress *p, size_t steps, double now)
{
    double elapsed = now - p->begun;
    double rate = elapsed > 0 ? (double)steps / elapsed : 0;
    double left = rate > 0 ? (double)(p->total_steps - steps) / rate : 0;
    unsigned long eta = (unsigned long)(left + 0.5);
    printf(" %zu/%zu  loss %.4f  %.0f images/s  ETA %lu:%02lu", steps, p->total_steps, p->loss,
           rate * (double)p->batch, eta / 60, eta % 60);
}

static void print_epoch(const progress *p, size_t steps)
{
    size_t epochs = (p->total_steps + p->steps_per_epoch - 1) / p->steps_per_epoch;
    printf("epoch %zu/%zu", (steps - 1) / p->steps_per_epoch + 1, epochs);
}

static void draw_bar(const progress *p, size_t steps, double now)
{
    size_t filled = steps * BAR_WIDTH / p->total_steps;
    putchar('\r');
    print_epoch(p, steps);
    fputs(" [", stdout);
    for (size_t i = 0; i < BAR_WIDTH; i++)
        putchar(i < filled ? '#' : '.');
    putchar(']');
    print_figures(p, steps, now);
    fputs("\033[K", stdout); /* clears what a longer line left behind */
    fflush(stdout);
}

static void print_line(const progress *p, size_t steps, double now)
{
    print_epoch(p, steps);
    fputs("  step", stdout);
    print_figures(p, steps, now);
    putchar('\n');
    fflush(stdout);
}

void progress_update(progress *p, size_t steps, double loss)
{
    p->loss += (loss - p->loss) / (double)(steps < LOSS_STEPS ? steps : LOSS_STEPS);
    double now = seconds_now();
    if (p->is_terminal) {
        if (now - p->drawn < REDRAW_SECONDS && steps < p->total_steps)
            return;
        p->drawn = now;
        draw_bar(p, steps, now);
    } else if (steps * PLAIN_LINES / p->total_steps > p->lines) {
        p->lines = steps * PLAIN_LINES / p->total_steps;
        print_line(p, steps, now);
    }
}

void progress_end(const progress *p)
{
    if (p->is_terminal)
        putchar('\n');
}
