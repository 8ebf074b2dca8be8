/* Costs of the native library in a C host: `embedding FILE TOKEN FOLDER STEPS`. It is linked with the sources of the
 * library, so that it can call the kernel alone. Prints, as medians of ROUNDS turns over the same stretch of the motion:
 * load time [ms]; a step by the kernel alone [us], and what rtmbs_step in one call of many, in a call of its own, and
 * fmi3DoStep add to it [us]; the growth of memory over STEPS steps [kB]. */
#include "fmi3FunctionTypes.h"
#include "fmi3Functions.h"
#include "mechanism.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { ROUNDS = 41, KERNEL = 0, MANY, SINGLE, FMU, WAYS };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static long memory(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}
static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

/* Time of a step [us] over the first `count` of a motion; negative when one is refused. */
static double timed(int way, rtmbs_mechanism *it, fmi3Instance fmu, long count) {
    bool event, terminate, early;
    double h = rtmbs_step_size(it), last, *clock = DOUBLES(it, L_clock);
    rtmbs_reset(it);
    fmi3Reset(fmu), fmi3EnterInitializationMode(fmu, false, 0.0, 0.0, false, 0.0), fmi3ExitInitializationMode(fmu);
    int bad = 0;
    double begin = now();
    if (way == MANY) bad = rtmbs_step(it, count);
    for (long k = 0; way != MANY && k < count; k++) {
        if (way == KERNEL) clock[0] = (double)k * h, clock[1] = (double)(k + 1) * h, bad |= rtmbs_kernel_step(it->words);
        else if (way == SINGLE) bad |= rtmbs_step(it, 1);
        else bad |= fmi3DoStep(fmu, (double)k * h, h, false, &event, &terminate, &early, &last);
    }
    double used = 1e6 * (now() - begin) / (double)count;
    return bad ? -1.0 : used;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    static double loads[ROUNDS], times[WAYS][ROUNDS];
    char error[256];
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now();
        rtmbs_mechanism *it = rtmbs_load(words[1], error, sizeof error);
        loads[r] = 1e3 * (now() - begin);
        if (!it) return puts(error), 1;
        rtmbs_free(it);
    }
    rtmbs_mechanism *it = rtmbs_load(words[1], error, sizeof error);
    fmi3Instance fmu = fmi3InstantiateCoSimulation("one", words[2], words[3], false, false, false, false, NULL, 0, NULL, NULL, NULL);
    if (!it || !fmu) return puts("not started"), 1;
    long steps = atol(words[4]), each = steps < 2000 ? steps : 2000;
    for (int way = 0; way < WAYS; way++) timed(way, it, fmu, each);
    for (int r = 0; r < ROUNDS; r++) {
        for (int k = 0; k < WAYS; k++) { /* each way goes first in turn */
            int way = (k + r) % WAYS;
            if ((times[way][r] = timed(way, it, fmu, each)) < 0.0) return puts("a step was refused"), 1;
        }
        for (int way = 1; way < WAYS; way++) times[way][r] -= times[KERNEL][r];
    }
    long before = memory();
    for (long k = 0; k < steps; k += each) rtmbs_reset(it), rtmbs_step(it, each);
    printf("%.4f", median(loads, ROUNDS));
    for (int way = 0; way < WAYS; way++) printf(" %.4f", median(times[way], ROUNDS));
    printf(" %ld\n", memory() - before);
    fmi3FreeInstance(fmu);
    rtmbs_free(it);
    return 0;
}
