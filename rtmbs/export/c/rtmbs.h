/* librtmbs: a mechanism with closed loops in a native host, without Python.
 *
 * A mechanism file (car.rtm, written by rtmbs.export_library) holds one mechanism with its step, its inputs and its
 * outputs. A host loads it, sets inputs, takes steps and reads outputs:
 *
 *     char error[256];
 *     rtmbs_mechanism *car = rtmbs_load("car.rtm", error, sizeof error);
 *     int steer = rtmbs_input(car, "rack.position"), x = rtmbs_output(car, "chassis.position[x]");
 *     rtmbs_set_input(car, steer, 0.01);
 *     int status = rtmbs_step(car, 10);
 *     double value = rtmbs_output_value(car, x);
 *     rtmbs_free(car);
 *
 * Memory is allocated by rtmbs_load and freed by rtmbs_free, and nowhere between. There is no global state: one thread
 * at a time may use a mechanism, several mechanisms may be used by several threads. Nothing prints, nothing exits.
 * Numbers are in SI units; the unit of each stands in the file. */
#ifndef RTMBS_H
#define RTMBS_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define RTMBS_API __declspec(dllexport)
#else
#define RTMBS_API __attribute__((visibility("default")))
#endif

#define RTMBS_ABI 2 /* changes when a host must be compiled again */

typedef struct rtmbs_mechanism rtmbs_mechanism;

/* How a step, or another call, ended. Up to RTMBS_NEAR the numbers are those of the step's kernel. */
enum {
    RTMBS_CONVERGED = 0,      /* taken */
    RTMBS_NOT_CONVERGED = 1,  /* refused: Newton's iteration and its further tries failed */
    RTMBS_SMALL_PIVOT = 2,    /* refused: the Newton matrix is singular */
    RTMBS_NOT_FINITE = 3,     /* refused: a number is not finite, or out of all range */
    RTMBS_LOOP_OPEN = 4,      /* refused: a loop does not close */
    RTMBS_UNFINISHED = 5,     /* taken: fixed iterations did not meet Newton's test */
    RTMBS_UNPROJECTED = 6,    /* taken: projections left more than their bound */
    RTMBS_UNBALANCED = 7,     /* taken: multipliers left more than their bound */
    RTMBS_NEAR = 8,           /* taken: loops lose a direction here */
    RTMBS_HALF_TURN = 9,      /* refused: a bushing passed half a turn */
    RTMBS_NOT_FOLLOWED = 10,  /* refused: no accelerations for the changed inputs were found */
    RTMBS_KERNEL = 11,        /* refused: the kernel raised */
    RTMBS_DRIVER_JUMP = 12,   /* refused: the value or the rate of a driver jumps */
    RTMBS_SINGULAR = 13,      /* not linearised: the pose is singular */
    RTMBS_BAD_HANDLE = 20,    /* no such input or output */
    RTMBS_BAD_VALUE = 21,     /* not finite, or beyond 1e100 */
    RTMBS_BAD_COUNT = 22,     /* a negative number of steps, or one beyond 2^53 in all */
    RTMBS_BAD_STATE = 23      /* not a state of this mechanism */
};

/* 1 when a step with this status was taken. */
RTMBS_API int rtmbs_taken(int status);
/* A sentence about a status; never NULL. */
RTMBS_API const char *rtmbs_status_text(int status);
/* Version of the library, such as "0.2.0". */
RTMBS_API const char *rtmbs_version(void);
/* Processor and system that the library was made for: "x86_64_v2-linux" runs on every x86-64 since 2009,
 * "x86_64_v3-linux" needs AVX2, and rtmbs_load refuses elsewhere. The numbers of both are the same, bit for bit. */
RTMBS_API const char *rtmbs_target(void);
RTMBS_API int rtmbs_abi(void);

/* Load a mechanism file. NULL on failure: then `error` (size bytes, may be NULL) holds one sentence. The path is UTF-8,
 * on Windows too. */
RTMBS_API rtmbs_mechanism *rtmbs_load(const char *path, char *error, size_t size);
/* The same from memory, which may be freed afterwards. */
RTMBS_API rtmbs_mechanism *rtmbs_load_memory(const void *bytes, size_t count, char *error, size_t size);
RTMBS_API void rtmbs_free(rtmbs_mechanism *it);
/* Go back to the state of the file, inputs included. */
RTMBS_API void rtmbs_reset(rtmbs_mechanism *it);

/* Inputs and outputs: a handle is a number from 0, or -1 for a name that is not there. */
RTMBS_API int rtmbs_input(const rtmbs_mechanism *it, const char *name);
RTMBS_API int rtmbs_output(const rtmbs_mechanism *it, const char *name);
RTMBS_API int rtmbs_input_count(const rtmbs_mechanism *it);
RTMBS_API int rtmbs_output_count(const rtmbs_mechanism *it);
RTMBS_API const char *rtmbs_input_name(const rtmbs_mechanism *it, int input); /* NULL without one */
RTMBS_API const char *rtmbs_output_name(const rtmbs_mechanism *it, int output);
RTMBS_API const char *rtmbs_input_unit(const rtmbs_mechanism *it, int input);
RTMBS_API const char *rtmbs_output_unit(const rtmbs_mechanism *it, int output);
/* Set an input. It takes effect at once and holds; value, rate and acceleration of a driver are those at the end of the
 * next step. Returns 0, RTMBS_BAD_HANDLE or RTMBS_BAD_VALUE. */
RTMBS_API int rtmbs_set_input(rtmbs_mechanism *it, int input, double value);
RTMBS_API double rtmbs_input_value(const rtmbs_mechanism *it, int input); /* NaN without such an input */
/* An output of the present state; NaN without such an output. */
RTMBS_API double rtmbs_output_value(rtmbs_mechanism *it, int output);
/* All outputs in the order of their handles (rtmbs_output_count numbers). Returns 0 or RTMBS_NOT_FOLLOWED. */
RTMBS_API int rtmbs_read_outputs(rtmbs_mechanism *it, double *values);

/* Take up to `count` steps. A step that is refused leaves the state as it was, and ends the call; its status is
 * returned. Otherwise the worst status of the steps is returned: RTMBS_CONVERGED when all is well. */
RTMBS_API int rtmbs_step(rtmbs_mechanism *it, int64_t count);
/* Advance by `span` seconds: in steps of h when it is a whole number of them, else in the fewest equal steps that are no
 * longer than h. Steps are counted from there on. A step that is refused ends the call before it, as in rtmbs_step.
 * RTMBS_BAD_VALUE for a span below h / 1000 or above a million h, or none at all. */
RTMBS_API int rtmbs_advance(rtmbs_mechanism *it, double span);
RTMBS_API double rtmbs_step_size(const rtmbs_mechanism *it); /* [s] */
RTMBS_API double rtmbs_time(const rtmbs_mechanism *it);      /* [s] */
RTMBS_API int64_t rtmbs_steps(const rtmbs_mechanism *it);    /* taken since the start */
/* Let the time of the start be `time`; refused (RTMBS_BAD_VALUE) after a step, and where functions of time act. */
RTMBS_API int rtmbs_set_start(rtmbs_mechanism *it, double time);

/* Linear equations about the present state: x' = A x + B u, y = C x + D u of small variations. x = (dq, dv, ds) are
 * those of f independent coordinates, of their rates, and of the states of force laws; nx = 2 f + ns. u are the inputs
 * that the exporter named (rtmbs_chosen_count), y all outputs. Small turns of balls and free bodies are in body axes. */
RTMBS_API int rtmbs_freedom(const rtmbs_mechanism *it);      /* f */
RTMBS_API int rtmbs_order(const rtmbs_mechanism *it);        /* nx */
RTMBS_API int rtmbs_chosen_count(const rtmbs_mechanism *it); /* numbers in u */
RTMBS_API int rtmbs_chosen(const rtmbs_mechanism *it, int k); /* handle of input k in u, or -1 */
RTMBS_API size_t rtmbs_linearise_bytes(const rtmbs_mechanism *it); /* of `scratch` */
/* Fill A (nx, nx), B (nx, nu), C (ny, nx) and D (ny, nu), row by row, and `independent` (f): the coordinates of the
 * tree that q is made of. Any of them may be NULL; `scratch` has rtmbs_linearise_bytes. The mechanism stays as it is.
 * Derivatives are differences of order four: about nine digits. Returns 0, RTMBS_SINGULAR or RTMBS_NOT_FOLLOWED. */
RTMBS_API int rtmbs_linearise(rtmbs_mechanism *it, double *A, double *B, double *C, double *D, int *independent,
                              void *scratch);
/* Derivatives of all outputs (rtmbs_output_count numbers) along a change of inputs, one number `seed` an input
 * (rtmbs_input_count), at the present positions and rates. A driver acts from the next step on, so its derivative is
 * zero. `scratch` has rtmbs_derivative_bytes. Returns 0 or RTMBS_NOT_FOLLOWED. */
RTMBS_API size_t rtmbs_derivative_bytes(const rtmbs_mechanism *it);
RTMBS_API int rtmbs_derivative(rtmbs_mechanism *it, const double *seed, double *derivative, void *scratch);

/* The whole state: everything that later results depend on. */
RTMBS_API size_t rtmbs_state_size(const rtmbs_mechanism *it); /* bytes */
RTMBS_API void rtmbs_get_state(const rtmbs_mechanism *it, void *state);
RTMBS_API int rtmbs_set_state(rtmbs_mechanism *it, const void *state, size_t size); /* 0 or RTMBS_BAD_STATE */

/* Numbers of the mechanism file: its checksum, and its bytes in memory. */
RTMBS_API uint64_t rtmbs_checksum(const rtmbs_mechanism *it);
RTMBS_API size_t rtmbs_memory(const rtmbs_mechanism *it);
RTMBS_API const char *rtmbs_model_name(const rtmbs_mechanism *it);
RTMBS_API const char *rtmbs_token(const rtmbs_mechanism *it); /* identity of the FMU */

#ifdef __cplusplus
}
#endif
#endif
