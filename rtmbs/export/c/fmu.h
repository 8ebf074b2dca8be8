/* An FMU on librtmbs: what FMI 2.0 and 3.0 share. Variables by value reference: 0 is the time, then
 * come inputs, parameters and outputs in the order of the mechanism file, then continuous states and their derivatives
 * (model exchange only). Numbers of a status are those of both versions. */
#ifndef RTMBS_FMU_H
#define RTMBS_FMU_H
#include "model_exchange.h"

typedef enum { INSTANTIATED, INITIALIZATION, STEP_MODE, TERMINATED, EVENT_MODE, CONTINUOUS_MODE } fmu_mode;
enum { FMU_OK, FMU_WARNING, FMU_DISCARD, FMU_ERROR };

typedef struct fmu {
    rtmbs_mechanism *it;
    exchange *x;             /* of model exchange, else NULL */
    char *spare;             /* the state before a communication step */
    double *seed;            /* (inputs) and behind them derivatives (outputs) */
    char *scratch;           /* of rtmbs_derivative */
    void (*log)(const struct fmu *f, int status, const char *category, const char *text);
    const void *callbacks;   /* of the importer */
    void (*message)(void);   /* a function of the importer */
    void *environment;
    char *name;
    int logging;
    fmu_mode mode;
    char text[320];
} fmu;

/* Load the mechanism file at `path`, or behind the folder `path` that ends in no slash. Returns f, or NULL: it is freed. */
fmu *fmu_load(fmu *f, const char *path, const char *token, const char *token_name, int logging, int exchanged);
void fmu_free(fmu *f);
int fmu_fail(fmu *f, const char *call, const char *text); /* FMU_ERROR; f may be NULL */
int fmu_start(fmu *f, const char *call, double time);
int fmu_change(fmu *f, const char *call, fmu_mode from, fmu_mode to);
int fmu_begin(fmu *f, const char *call);      /* initialization mode */
int fmu_initialized(fmu *f, const char *call);
int fmu_end(fmu *f, const char *call);
int fmu_reset(fmu *f);
int fmu_get(fmu *f, const char *call, const uint32_t *vr, size_t n, double *values);
int fmu_set(fmu *f, const char *call, const uint32_t *vr, size_t n, const double *values);
int fmu_step(fmu *f, const char *call, double now, double size);
int fmu_derivative(fmu *f, const char *call, const uint32_t *unknown, size_t unknowns, const uint32_t *known, size_t knowns,
                   const double *seed, double *sensitivity);
/* Model exchange. */
int fmu_set_time(fmu *f, const char *call, double time);
int fmu_set_states(fmu *f, const char *call, const double *x, size_t n);
int fmu_get_states(fmu *f, const char *call, double *x, size_t n);
int fmu_derivatives(fmu *f, const char *call, double *dx, size_t n);
int fmu_nominals(fmu *f, const char *call, double *x, size_t n);
int fmu_events(fmu *f, const char *call);      /* event mode */
int fmu_discrete(fmu *f, const char *call, int *changed, double *next); /* next: INFINITY when there is none */
int fmu_completed(fmu *f, const char *call, int *enter);

int fmu_get_state(fmu *f, const char *call, void **state);
int fmu_set_state(fmu *f, const char *call, const void *state);
int fmu_free_state(void **state);
int fmu_state_size(fmu *f, const char *call, const void *state, size_t *size);
int fmu_write_state(fmu *f, const char *call, const void *state, void *bytes, size_t size);
int fmu_read_state(fmu *f, const char *call, const void *bytes, size_t size, void **state);
#endif
