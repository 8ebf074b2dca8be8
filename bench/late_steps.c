/* A mechanism at 1 kHz beside an empty loop: `late FILE SECONDS REAL_TIME`.
 *
 * Turns of 100 periods go to the mechanism and to the empty loop, one after the other, until each had SECONDS. So both
 * meet what else the machine does. Every period begins at its time: sleep, then spin for the last 0.1 ms. The mechanism
 * sets an input, takes a step and reads an output. A period is late when its work ends after the next one is due; its
 * time to wake up counts: those that were late when they woke would be late without work. Later than ten periods, the
 * clock is set anew, and that is counted too. With REAL_TIME 1 it asks for SCHED_FIFO and locked memory. Prints the
 * counts and percentiles of the delay [us] of wakes and ends. */
#define _GNU_SOURCE
#include "rtmbs.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { STEPPING, EMPTY, LOOPS, TURN = 100, BACKLOG = 10 };
static const double PERIOD = 1e-3, SPIN = 1e-4;
static const char *const NAMES[] = {"stepping", "empty"};

typedef struct { long periods, late, late_wakes, moved; float *wake, *end; } counts;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void wait_until(double due) {
    double from = due - SPIN;
    struct timespec t = {(time_t)from, (long)(1e9 * (from - floor(from)))};
    if (now() < from) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    while (now() < due) {}
}
static int work(rtmbs_mechanism *it, long k) {
    static double sum;
    rtmbs_set_input(it, 0, rtmbs_input_value(it, 0) + (k % 2 ? 1e-3 : -1e-3));
    int status = rtmbs_step(it, 1);
    sum += rtmbs_output_value(it, 0);
    return rtmbs_taken(status) && isfinite(sum);
}
static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}
static void tell(const char *what, float *values, long n) {
    qsort(values, (size_t)n, sizeof *values, by_size);
    printf("  %s [us]: median %.1f, 99 %% %.1f, 99.9 %% %.1f, largest %.1f\n", what, 1e6 * values[n / 2],
           1e6 * values[n - 1 - n / 100], 1e6 * values[n - 1 - n / 1000], 1e6 * values[n - 1]);
}

int main(int count, char **words) {
    if (count != 4) return 2;
    char error[256];
    rtmbs_mechanism *it = rtmbs_load(words[1], error, sizeof error);
    if (!it) return fputs(error, stderr), 2;
    long periods = lround(atof(words[2]) / PERIOD);
    counts found[LOOPS] = {{0}};
    for (int l = 0; l < LOOPS; l++) {
        found[l].wake = calloc((size_t)periods + TURN, sizeof(float)), found[l].end = calloc((size_t)periods + TURN, sizeof(float));
        if (!found[l].wake || !found[l].end) return 2;
    }
    if (words[3][0] == '1') {
        struct sched_param priority = {.sched_priority = 80};
        if (sched_setscheduler(0, SCHED_FIFO, &priority)) fputs("no real-time priority: run as root, or set an rtprio limit\n", stderr);
        if (mlockall(MCL_CURRENT | MCL_FUTURE)) fputs("memory is not locked: raise the memlock limit\n", stderr);
    }
    for (long k = 0; k < TURN; k++) if (!work(it, k)) return fputs("a step was refused\n", stderr), 1;
    while (found[EMPTY].periods < periods) {
        for (int l = 0; l < LOOPS; l++) {
            counts *c = &found[l];
            double due = now() + PERIOD; /* what was late before does not count here */
            for (int k = 0; k < TURN; k++, due += PERIOD, c->periods++) {
                wait_until(due);
                double woke = now();
                if (l == STEPPING && !work(it, k)) return fputs("a step was refused\n", stderr), 1;
                double ended = now();
                c->wake[c->periods] = (float)(woke - due), c->end[c->periods] = (float)(ended - due);
                c->late += ended > due + PERIOD, c->late_wakes += woke > due + PERIOD;
                if (ended > due + BACKLOG * PERIOD) c->moved++, due = ended;
            }
        }
    }
    for (int l = 0; l < LOOPS; l++) {
        printf("%s: %ld of %ld periods late, %ld of them when they woke, clock set anew %ld times\n", NAMES[l],
               found[l].late, found[l].periods, found[l].late_wakes, found[l].moved);
        tell("woke behind its time by", found[l].wake, found[l].periods);
        tell("ended behind its time by", found[l].end, found[l].periods);
    }
    rtmbs_free(it);
    return 0;
}
