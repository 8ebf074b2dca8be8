/* What FMUs of FMI 2.0 and 3.0 share: variables, communication steps, derivatives, states, logging. See fmu.h. */
#include "fmu.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-6 /* of a step: what a communication point may be off */

static void tell(fmu *f, int status, const char *category, const char *text) {
    if (f->log && f->logging) f->log(f, status, category, text);
}
int fmu_fail(fmu *f, const char *call, const char *text) {
    if (!f) return FMU_ERROR;
    snprintf(f->text, sizeof f->text, "%s: %s", call, text);
    tell(f, FMU_ERROR, "logStatusError", f->text);
    return FMU_ERROR;
}
/* Refuses a variable by its name and value reference. */
static int refuse_variable(fmu *f, const char *call, uint32_t vr, const char *why) {
    int64_t inputs = f->it->input_count;
    const char *name = vr && vr <= inputs ? rtmbs_input_name(f->it, (int)vr - 1) : NULL;
    if (vr > inputs && vr <= f->it->port_count) name = rtmbs_output_name(f->it, (int)(vr - 1 - inputs));
    char text[256];
    snprintf(text, sizeof text, "%.120s (value reference %u) %s", name ? name : vr ? "a variable" : "time", vr, why);
    return fmu_fail(f, call, text);
}

fmu *fmu_load(fmu *f, const char *path, const char *token, const char *token_name, int logging, int exchanged) {
    char error[256] = "";
    f->logging = 1;
    if (!path) snprintf(error, sizeof error, "the place of the resources is missing or too long");
    else f->it = rtmbs_load(path, error, sizeof error);
    if (f->it && (!token || strcmp(token, rtmbs_token(f->it)))) {
        snprintf(error, sizeof error, "the %s is not that of this FMU", token_name);
    } else if (f->it) {
        f->seed = calloc((size_t)f->it->port_count + 1, sizeof(double));
        f->scratch = malloc(rtmbs_derivative_bytes(f->it) + 8);
        if (exchanged) f->x = exchange_new(f->it);
        f->spare = malloc(f->x ? exchange_bytes(f->x) : rtmbs_state_size(f->it));
        int status = f->x ? exchange_start(f->x, rtmbs_time(f->it)) : 0;
        if (!f->spare || !f->seed || !f->scratch || (exchanged && !f->x)) snprintf(error, sizeof error, "no memory");
        else if (status) snprintf(error, sizeof error, "the start has no independent coordinates: %s", rtmbs_status_text(status));
    }
    if (error[0]) {
        tell(f, FMU_ERROR, "logStatusError", error);
        fmu_free(f);
        return NULL;
    }
    f->logging = logging;
    return f;
}
void fmu_free(fmu *f) {
    if (!f) return;
    exchange_free(f->x);
    rtmbs_free(f->it);
    free(f->spare);
    free(f->seed);
    free(f->scratch);
    free(f->name);
    free(f);
}

int fmu_start(fmu *f, const char *call, double time) {
    if (!f || f->mode != INSTANTIATED) return fmu_fail(f, call, "the FMU is not just instantiated or reset");
    if (rtmbs_set_start(f->it, time))
        return fmu_fail(f, call, "functions of time act in this model, so it starts at 0 s only");
    return FMU_OK;
}
int fmu_change(fmu *f, const char *call, fmu_mode from, fmu_mode to) {
    static const char *const wrong[] = {"the FMU is not just instantiated or reset", "the FMU is not in initialization mode",
                                        "the FMU is not in step mode", "the FMU is not terminated",
                                        "the FMU is not in event mode", "the FMU is not in continuous-time mode"};
    if (!f || f->mode != from) return fmu_fail(f, call, wrong[from]);
    f->mode = to;
    return FMU_OK;
}
static int followed(fmu *f, const char *call, int status) {
    if (!status) return FMU_OK;
    snprintf(f->text, sizeof f->text, "%s: at %.17g s: %s", call, f->x->time, rtmbs_status_text(status));
    tell(f, FMU_DISCARD, "logStatusDiscard", f->text);
    return FMU_DISCARD;
}
int fmu_begin(fmu *f, const char *call) {
    int status = fmu_change(f, call, INSTANTIATED, INITIALIZATION);
    return status || !f->x ? status : followed(f, call, exchange_start(f->x, rtmbs_time(f->it)));
}
int fmu_initialized(fmu *f, const char *call) {
    return fmu_change(f, call, INITIALIZATION, f && f->x ? EVENT_MODE : STEP_MODE);
}
int fmu_end(fmu *f, const char *call) {
    if (!f || !f->x) return fmu_change(f, call, STEP_MODE, TERMINATED);
    return fmu_change(f, call, f->mode == EVENT_MODE ? EVENT_MODE : CONTINUOUS_MODE, TERMINATED);
}
int fmu_reset(fmu *f) {
    if (!f) return FMU_ERROR;
    rtmbs_reset(f->it);
    if (f->x) exchange_start(f->x, rtmbs_time(f->it));
    f->mode = INSTANTIATED;
    return FMU_OK;
}

/* Variables behind the ports: continuous states, then their derivatives. */
static size_t last_variable(const fmu *f) {
    return (size_t)f->it->port_count + (f->x ? 2 * (size_t)exchange_states(f->x) : 0);
}
static int exchanged_value(fmu *f, int64_t variable, double *value) {
    int64_t inputs = f->it->input_count, ports = f->it->port_count, states = exchange_states(f->x), k = variable - ports - 1;
    double *all = f->x->here;
    if (variable == 0) *value = f->x->time;
    else if (variable <= inputs) *value = rtmbs_input_value(f->it, (int)variable - 1);
    else if (variable <= ports) return exchange_output(f->x, variable - 1 - inputs, value);
    else if (k < states) exchange_get_states(f->x, all), *value = all[k];
    else {
        int status = exchange_derivatives(f->x, all);
        if (status) return status;
        *value = all[k - states];
    }
    return 0;
}
int fmu_get(fmu *f, const char *call, const uint32_t *vr, size_t n, double *v) {
    if (!f || (n && (!vr || !v))) return fmu_fail(f, call, "an argument is missing");
    int64_t inputs = f->it->input_count;
    for (size_t k = 0; k < n; k++) {
        if (vr[k] > last_variable(f)) return refuse_variable(f, call, vr[k], "does not exist");
        if (f->x) {
            int status = exchanged_value(f, vr[k], &v[k]);
            if (status) return followed(f, call, status);
        } else if (vr[k] == 0) v[k] = rtmbs_time(f->it);
        else if (vr[k] <= inputs) v[k] = rtmbs_input_value(f->it, (int)vr[k] - 1);
        else v[k] = rtmbs_output_value(f->it, (int)(vr[k] - 1 - inputs));
        if (isnan(v[k])) return fmu_fail(f, call, "no accelerations were found for the changed inputs");
    }
    return FMU_OK;
}
int fmu_set(fmu *f, const char *call, const uint32_t *vr, size_t n, const double *v) {
    if (!f || (n && (!vr || !v))) return fmu_fail(f, call, "an argument is missing");
    if (f->mode == TERMINATED) return fmu_fail(f, call, "the FMU is terminated");
    for (size_t k = 0; k < n; k++) {
        if (vr[k] == 0 || vr[k] > f->it->input_count)
            return refuse_variable(f, call, vr[k], "cannot be set; only inputs and parameters can");
        if (!(fabs(v[k]) <= 1e100))
            return refuse_variable(f, call, vr[k], "is given a value that is not finite, or beyond 1e100");
    }
    for (size_t k = 0; k < n; k++) {
        if (f->x) exchange_set_input(f->x, vr[k] - 1, v[k]);
        else rtmbs_set_input(f->it, (int)vr[k] - 1, v[k]);
    }
    return FMU_OK;
}

int fmu_step(fmu *f, const char *call, double now, double size) {
    if (f->mode != STEP_MODE) return fmu_fail(f, call, "the FMU is not in step mode");
    double h = rtmbs_step_size(f->it), here = rtmbs_time(f->it);
    int single = fabs(size - h) <= ROUNDING * h, status = RTMBS_BAD_VALUE;
    if (!single) rtmbs_get_state(f->it, f->spare);
    if (fabs(now - here) <= ROUNDING * h) status = rtmbs_advance(f->it, now + size - here);
    if (status == RTMBS_BAD_VALUE)
        snprintf(f->text, sizeof f->text, "%s: no step goes from %.15g s by %.15g s; now is %.15g s, and steps go from "
                 "%.3g s to %.3g s", call, now, size, here, 1e-3 * h, 1e6 * h);
    else if (!rtmbs_taken(status))
        snprintf(f->text, sizeof f->text, "%s: the step at %.17g s was refused: %s", call, rtmbs_time(f->it), rtmbs_status_text(status));
    if (!rtmbs_taken(status)) {
        if (!single) rtmbs_set_state(f->it, f->spare, rtmbs_state_size(f->it));
        tell(f, FMU_DISCARD, "logStatusDiscard", f->text);
        return FMU_DISCARD;
    }
    if (status == RTMBS_CONVERGED) return FMU_OK;
    tell(f, FMU_WARNING, "logStatusWarning", rtmbs_status_text(status));
    return FMU_WARNING;
}

/* Along seeds of inputs and, in model exchange, of states. */
static int seeded(fmu *f, const char *call, const uint32_t *known, size_t knowns, const double *seed) {
    int64_t inputs = f->it->input_count, ports = f->it->port_count, states = f->x ? exchange_states(f->x) : 0;
    double *given = f->x ? f->x->given : f->seed;
    memset(given, 0, (size_t)inputs * sizeof(double));
    for (int64_t k = 0; k < states; k++) f->x->along[k] = 0.0;
    for (size_t k = 0; k < knowns; k++) {
        if (!(fabs(seed[k]) <= 1e100)) return refuse_variable(f, call, known[k], "has a seed that is not finite, or beyond 1e100");
        if (known[k] > 0 && known[k] <= inputs) given[known[k] - 1] += seed[k];
        else if (known[k] > ports && known[k] <= ports + states) f->x->along[known[k] - ports - 1] += seed[k];
        else return refuse_variable(f, call, known[k], states ? "is no input, parameter or state" : "is no input or parameter");
    }
    return FMU_OK;
}
int fmu_derivative(fmu *f, const char *call, const uint32_t *unknown, size_t unknowns, const uint32_t *known, size_t knowns,
                   const double *seed, double *sensitivity) {
    if (!f || (unknowns && (!unknown || !sensitivity)) || (knowns && (!known || !seed)))
        return fmu_fail(f, call, "an argument is missing");
    int64_t inputs = f->it->input_count, ports = f->it->port_count, states = f->x ? exchange_states(f->x) : 0;
    for (size_t k = 0; k < unknowns; k++) {
        int output = unknown[k] > inputs && unknown[k] <= ports;
        int derivative = states && unknown[k] > ports + states && unknown[k] <= last_variable(f);
        if (!output && !derivative)
            return refuse_variable(f, call, unknown[k], states ? "is no output or derivative of a state" : "is no output");
    }
    if (seeded(f, call, known, knowns, seed)) return FMU_ERROR;
    double *found = f->x ? f->x->here + states : f->seed + inputs;
    if (f->x) {
        int status = followed(f, call, exchange_direction(f->x));
        if (status) return status;
    } else if (rtmbs_derivative(f->it, f->seed, found, f->scratch)) {
        return fmu_fail(f, call, "no accelerations were found for changed inputs");
    }
    for (size_t k = 0; k < unknowns; k++)
        sensitivity[k] = unknown[k] <= ports ? found[unknown[k] - 1 - inputs] : f->x->here[unknown[k] - ports - 1 - states];
    return FMU_OK;
}

/* ---- model exchange ---------------------------------------------------------------------------------------------- */

static int exchanging(fmu *f, const char *call, const void *values, size_t n) {
    if (!f || !f->x) return fmu_fail(f, call, "the FMU was not instantiated for model exchange");
    if (f->mode != EVENT_MODE && f->mode != CONTINUOUS_MODE && f->mode != INITIALIZATION)
        return fmu_fail(f, call, "the FMU is in no mode of model exchange");
    if ((n && !values) || n != (size_t)exchange_states(f->x)) return fmu_fail(f, call, "another number of states was given");
    return FMU_OK;
}
int fmu_set_time(fmu *f, const char *call, double time) {
    if (!f || !f->x || (f->mode != EVENT_MODE && f->mode != CONTINUOUS_MODE))
        return fmu_fail(f, call, "the FMU is not in event or continuous-time mode");
    if (!(fabs(time) <= 1e100)) return fmu_fail(f, call, "the time is not finite");
    exchange_set_time(f->x, time);
    return FMU_OK;
}
int fmu_set_states(fmu *f, const char *call, const double *x, size_t n) {
    if (exchanging(f, call, x, n)) return FMU_ERROR;
    if (f->mode != CONTINUOUS_MODE) return fmu_fail(f, call, "the FMU is not in continuous-time mode");
    return exchange_set_states(f->x, x) ? fmu_fail(f, call, "a state is not finite, or beyond 1e100") : FMU_OK;
}
int fmu_get_states(fmu *f, const char *call, double *x, size_t n) {
    if (exchanging(f, call, x, n)) return FMU_ERROR;
    exchange_get_states(f->x, x);
    return FMU_OK;
}
int fmu_derivatives(fmu *f, const char *call, double *dx, size_t n) {
    if (exchanging(f, call, dx, n)) return FMU_ERROR;
    return followed(f, call, exchange_derivatives(f->x, dx));
}
int fmu_nominals(fmu *f, const char *call, double *x, size_t n) {
    if (exchanging(f, call, x, n)) return FMU_ERROR;
    exchange_nominals(f->x, x);
    return FMU_OK;
}
int fmu_events(fmu *f, const char *call) {
    if (!f || !f->x || (f->mode != EVENT_MODE && f->mode != CONTINUOUS_MODE))
        return fmu_fail(f, call, "the FMU is not in continuous-time mode");
    f->mode = EVENT_MODE;
    return FMU_OK;
}
int fmu_discrete(fmu *f, const char *call, int *changed, double *next) {
    *changed = 0;
    if (!f || !f->x || f->mode != EVENT_MODE) return fmu_fail(f, call, "the FMU is not in event mode");
    int status = followed(f, call, exchange_event(f->x, changed));
    *next = f->x->next;
    return status;
}
int fmu_completed(fmu *f, const char *call, int *enter) {
    if (!f || !f->x || f->mode != CONTINUOUS_MODE || !enter)
        return fmu_fail(f, call, "the FMU is not in continuous-time mode");
    return followed(f, call, exchange_step_done(f->x, enter));
}

/* A state: the mode, then the state of the mechanism. */
static size_t bytes_of(const fmu *f) { return 8 + (f->x ? exchange_bytes(f->x) : rtmbs_state_size(f->it)); }
static int adopt(fmu *f, const char *bytes, fmu_mode *mode) {
    int64_t number;
    memcpy(&number, bytes, 8);
    if (number < INSTANTIATED || number > CONTINUOUS_MODE || (!f->x && number > TERMINATED)) return 0;
    *mode = (fmu_mode)number;
    if (f->x) return exchange_read(f->x, bytes + 8);
    return !rtmbs_set_state(f->it, bytes + 8, rtmbs_state_size(f->it));
}

int fmu_get_state(fmu *f, const char *call, void **state) {
    if (!f || !state || (!*state && !(*state = malloc(bytes_of(f))))) return fmu_fail(f, call, "no memory");
    int64_t mode = f->mode;
    memcpy(*state, &mode, 8);
    if (f->x) return exchange_write(f->x, (char *)*state + 8) ? FMU_OK : fmu_fail(f, call, "a kernel failed");
    rtmbs_get_state(f->it, (char *)*state + 8);
    return FMU_OK;
}
int fmu_set_state(fmu *f, const char *call, const void *state) {
    if (!f || !state) return fmu_fail(f, call, "no state was given");
    return adopt(f, state, &f->mode) ? FMU_OK : fmu_fail(f, call, "these bytes are no state of this FMU");
}
int fmu_free_state(void **state) {
    if (state) free(*state), *state = NULL;
    return FMU_OK;
}
int fmu_state_size(fmu *f, const char *call, const void *state, size_t *size) {
    if (!f || !state || !size) return fmu_fail(f, call, "an argument is missing");
    *size = bytes_of(f);
    return FMU_OK;
}
int fmu_write_state(fmu *f, const char *call, const void *state, void *bytes, size_t size) {
    if (!f || !state || !bytes || size < bytes_of(f)) return fmu_fail(f, call, "too few bytes");
    memcpy(bytes, state, bytes_of(f));
    return FMU_OK;
}
int fmu_read_state(fmu *f, const char *call, const void *bytes, size_t size, void **state) {
    if (!f || !bytes || !state || size != bytes_of(f)) return fmu_fail(f, call, "these bytes are no state of this FMU");
    fmu_mode mode;
    if (f->x) exchange_write(f->x, f->spare);
    else rtmbs_get_state(f->it, f->spare);
    int right = adopt(f, bytes, &mode);
    if (f->x) exchange_read(f->x, f->spare);
    else rtmbs_set_state(f->it, f->spare, rtmbs_state_size(f->it));
    if (!right) return fmu_fail(f, call, "these bytes are no state of this FMU");
    if (!*state && !(*state = malloc(size))) return fmu_fail(f, call, "no memory");
    memcpy(*state, bytes, size);
    return FMU_OK;
}
