/* measure.c - see measure.h. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "bench/support/measure.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double bench_cpu_seconds(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

long bench_page_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

size_t bench_peak_resident_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_spread bench_spread_of(double *samples, size_t n)
{
    qsort(samples, n, sizeof *samples, compare_numbers);
    return (bench_spread){(samples[(n - 1) / 2] + samples[n / 2]) / 2, samples[0], samples[n - 1]};
}

void bench_require(remat_status status, const char *message)
{
    if (status == REMAT_OK)
        return;
    fprintf(stderr, "%s: %s\n", remat_status_name(status),
            message && message[0] ? message : remat_status_text(status));
    exit(EXIT_FAILURE);
}

void *bench_allocate(size_t count, size_t item_bytes)
{
    void *block = calloc(count ? count : 1, item_bytes);
    bench_require(block ? REMAT_OK : REMAT_OUT_OF_MEMORY, NULL);
    return block;
}

long bench_number(const char *option, const char *text, long least)
{
    char *end = NULL;
    long number = text ? strtol(text, &end, 10) : LONG_MIN;
    if (end && end != text && *end == '\0' && number >= least && number < INT_MAX)
        return number;
    fprintf(stderr, "%s needs a whole number of at least %ld\n", option, least);
    exit(EXIT_FAILURE);
}
