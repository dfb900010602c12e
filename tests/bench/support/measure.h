/* measure.h - what the benchmarks share: clocks, counters of the process, order statistics. */
#ifndef REMAT_BENCH_MEASURE_H
#define REMAT_BENCH_MEASURE_H

#include <remat/remat.h>

double bench_seconds(void);     /* monotonic */
double bench_cpu_seconds(void); /* processor time of the process: steadier on a busy machine */
long bench_page_faults(void);   /* of the process so far, those that needed no disk */
size_t bench_peak_resident_bytes(void);

typedef struct bench_spread {
    double median, min, max;
} bench_spread;

/* Sorts the samples; n >= 1. */
bench_spread bench_spread_of(double *samples, size_t n);

/* Ends the program with the message unless the status is REMAT_OK. */
void bench_require(remat_status status, const char *message);

/* calloc that ends the program if there is no memory. */
void *bench_allocate(size_t count, size_t item_bytes);

/* The number that stands for `text`, at least `least`; ends the program if there is none. */
long bench_number(const char *option, const char *text, long least);

#endif
