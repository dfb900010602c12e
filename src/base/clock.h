/* clock.h - a clock for measuring durations. */
#ifndef REMAT_BASE_CLOCK_H
#define REMAT_BASE_CLOCK_H

/* Seconds since some moment in the past; never goes back. */
double remat_clock_seconds(void);

#endif
