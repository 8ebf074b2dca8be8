/* A host in C: a mechanism with a controller that is sampled every 10 ms.
 *
 *   python apps/hosts/crank.py build/crank
 *   cc -O2 -ffp-contract=off -Ibuild/crank apps/hosts/c/main.c -Lbuild/crank -lrtmbs -Wl,-rpath,build/crank -o build/host
 *   build/host build/crank/spatial_slider_crank.rtm
 *
 * With --real-time it sleeps until each sample is due, and tells the latest one. It asks for a real-time priority and locks
 * its memory, and goes on without them where the system refuses. */
#define _GNU_SOURCE
#include "rtmbs.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif

#define EVERY 0.01 /* [s] */
#define SAMPLES 200
#define REFERENCE 8.0 /* [rad/s] */
#define KP 0.6
#define KI 2.0

static void ask_for_real_time(void) {
#if defined(__linux__)
    struct sched_param priority = {.sched_priority = 80};
    if (sched_setscheduler(0, SCHED_FIFO, &priority)) fputs("no real-time priority: run as root, or set an rtprio limit\n", stderr);
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) fputs("memory is not locked: raise the memlock limit\n", stderr);
#endif
}

/* Sleep until `due` and return by how many seconds it is late. */
static double wait_until(const struct timespec *due) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double left = (double)(due->tv_sec - now.tv_sec) + 1e-9 * (double)(due->tv_nsec - now.tv_nsec);
    if (left > 0.0) {
        struct timespec rest = {(time_t)left, (long)(1e9 * (left - floor(left)))};
        nanosleep(&rest, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return (double)(now.tv_sec - due->tv_sec) + 1e-9 * (double)(now.tv_nsec - due->tv_nsec);
}

static int run(rtmbs_mechanism *crank, int real_time) {
    int torque = rtmbs_input(crank, "motor.torque"), rate = rtmbs_output(crank, "pivot.rate");
    int place = rtmbs_output(crank, "slider.position[x]");
    if (torque < 0 || rate < 0 || place < 0) {
        fputs("the mechanism file has other inputs or outputs\n", stderr);
        return 1;
    }
    double integral = 0.0, latest = 0.0;
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (int k = 0; k < SAMPLES; k++) {
        if (real_time) latest = fmax(latest, wait_until(&due));
        double error = REFERENCE - rtmbs_output_value(crank, rate);
        rtmbs_set_input(crank, torque, KP * error + KI * integral);
        integral += error * EVERY;
        int status = rtmbs_step(crank, llround(EVERY / rtmbs_step_size(crank)));
        if (!rtmbs_taken(status)) {
            fprintf(stderr, "t = %g s: %s\n", rtmbs_time(crank), rtmbs_status_text(status));
            return 1;
        }
        due.tv_nsec += (long)(1e9 * EVERY);
        if (due.tv_nsec >= 1000000000) due.tv_nsec -= 1000000000, due.tv_sec++;
    }
    double speed = rtmbs_output_value(crank, rate);
    printf("t = %.17g s, speed = %.17g rad/s, slider at %.17g m\n", rtmbs_time(crank), speed, rtmbs_output_value(crank, place));
    if (real_time) fprintf(stderr, "latest sample: %.3f ms behind its time\n", 1e3 * latest);
    return fabs(speed - REFERENCE) < 0.25 * REFERENCE ? 0 : 1;
}

int main(int count, char **words) {
    char error[256];
    rtmbs_mechanism *crank = count > 1 ? rtmbs_load(words[1], error, sizeof error) : NULL;
    if (!crank) {
        fprintf(stderr, "%s\n", count > 1 ? error : "name the mechanism file");
        return 2;
    }
    int real_time = count > 2 && !strcmp(words[2], "--real-time");
    if (real_time) ask_for_real_time();
    int status = run(crank, real_time);
    rtmbs_free(crank);
    return status;
}
