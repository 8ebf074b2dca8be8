/* Continuous states of a mechanism for an integrator of the host: see model_exchange.c. */
#ifndef RTMBS_MODEL_EXCHANGE_H
#define RTMBS_MODEL_EXCHANGE_H
#include "linear.h"

typedef struct exchange {
    rtmbs_mechanism *it;
    linear l;               /* the chart: independent coordinates are the columns behind `rank` */
    char *scratch;
    double *numbers;
    double *at, *along;     /* (states) of a derivative */
    double *here;           /* (states + outputs) what was found */
    double *given;          /* (inputs) and scratch */
    double time, next;      /* now, the next jump of a function of time [s] */
    double jumped;          /* the last jump that was passed, or the start [s] */
    int done;               /* how far the present state is evaluated */
} exchange;

exchange *exchange_new(rtmbs_mechanism *it); /* NULL without memory */
void exchange_free(exchange *x);
int64_t exchange_states(const exchange *x);
/* These return 0 or a status of rtmbs.h. */
int exchange_start(exchange *x, double time);
int exchange_set_states(exchange *x, const double *values);
int exchange_derivatives(exchange *x, double *values);
int exchange_output(exchange *x, int64_t k, double *value);
int exchange_step_done(exchange *x, int *enter);
int exchange_event(exchange *x, int *changed);
int exchange_direction(exchange *x);
void exchange_get_states(const exchange *x, double *values);
void exchange_nominals(const exchange *x, double *values);
void exchange_set_input(exchange *x, int64_t k, double value);
void exchange_set_time(exchange *x, double time);
size_t exchange_bytes(const exchange *x);
int exchange_write(exchange *x, char *bytes); /* 0: a kernel failed */
int exchange_read(exchange *x, const char *bytes); /* 0: they are no state of this mechanism */
#endif
