/* Costs of the native library in a C host: `embedding LIBRARY FILE TOKEN FOLDER STEPS`. Prints load time [ms], time of a
 * step alone in one call of many, of a step a call, and of an FMI 3 communication step [us], and growth of memory [kB]. */
#include "fmi3FunctionTypes.h"
#include "rtmbs.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

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

int main(int count, char **words) {
    if (count != 6) return 2;
    void *library = dlopen(words[1], RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    rtmbs_mechanism *(*load)(const char *, char *, size_t);
    int (*step)(rtmbs_mechanism *, int64_t);
    void (*forget)(rtmbs_mechanism *);
    void (*reset)(rtmbs_mechanism *);
    *(void **)&load = dlsym(library, "rtmbs_load"), *(void **)&step = dlsym(library, "rtmbs_step");
    *(void **)&forget = dlsym(library, "rtmbs_free"), *(void **)&reset = dlsym(library, "rtmbs_reset");
    fmi3InstantiateCoSimulationTYPE *instantiate;
    fmi3EnterInitializationModeTYPE *enter;
    fmi3ExitInitializationModeTYPE *leave;
    fmi3DoStepTYPE *do_step;
    *(void **)&instantiate = dlsym(library, "fmi3InstantiateCoSimulation");
    *(void **)&enter = dlsym(library, "fmi3EnterInitializationMode");
    *(void **)&leave = dlsym(library, "fmi3ExitInitializationMode"), *(void **)&do_step = dlsym(library, "fmi3DoStep");
    double (*size)(const rtmbs_mechanism *);
    *(void **)&size = dlsym(library, "rtmbs_step_size");

    enum { ROUNDS = 21 };
    double loads[ROUNDS], many[ROUNDS], single[ROUNDS], fmu_steps[ROUNDS];
    char error[256];
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now();
        rtmbs_mechanism *it = load(words[2], error, sizeof error);
        loads[r] = 1e3 * (now() - begin);
        if (!it) return puts(error), 1;
        forget(it);
    }
    long steps = atol(words[5]), each = 2000;
    rtmbs_mechanism *it = load(words[2], error, sizeof error);
    fmi3Instance fmu = instantiate("one", words[3], words[4], false, false, false, false, NULL, 0, NULL, NULL, NULL);
    if (!it || !fmu || enter(fmu, false, 0.0, 0.0, false, 0.0) || leave(fmu)) return puts("not started"), 1;
    double h = size(it), last;
    step(it, each);
    bool event, terminate, early;
    long done = 0;
    for (long k = 0; k < each; k++, done++) do_step(fmu, (double)done * h, h, false, &event, &terminate, &early, &last);
    for (int r = 0; r < ROUNDS; r++) { /* in turns, each over the same stretch of the motion */
        reset(it);
        double begin = now();
        if (step(it, each)) return puts("step"), 1;
        many[r] = 1e6 * (now() - begin) / (double)each;
        reset(it);
        begin = now();
        for (long k = 0; k < each; k++) step(it, 1);
        single[r] = 1e6 * (now() - begin) / (double)each;
        fmi3ResetTYPE *fmu_reset;
        *(void **)&fmu_reset = dlsym(library, "fmi3Reset");
        fmu_reset(fmu), enter(fmu, false, 0.0, 0.0, false, 0.0), leave(fmu);
        begin = now();
        for (long k = 0; k < each; k++) do_step(fmu, (double)k * h, h, false, &event, &terminate, &early, &last);
        fmu_steps[r] = 1e6 * (now() - begin) / (double)each;
    }
    long before = memory();
    for (long k = 0; k < steps; k += each) {
        reset(it);
        step(it, each);
    }
    qsort(loads, ROUNDS, sizeof *loads, by_size), qsort(many, ROUNDS, sizeof *many, by_size);
    qsort(single, ROUNDS, sizeof *single, by_size), qsort(fmu_steps, ROUNDS, sizeof *fmu_steps, by_size);
    printf("%.3f %.3f %.3f %.3f %ld\n", loads[ROUNDS / 2], many[ROUNDS / 2], single[ROUNDS / 2], fmu_steps[ROUNDS / 2],
           memory() - before);
    return 0;
}
