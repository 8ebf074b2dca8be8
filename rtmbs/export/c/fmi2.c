/* FMI 2.0 co-simulation on librtmbs: value references as in fmi3.c. */
#include "mechanism.h"
#include "fmi2Functions.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { INSTANTIATED, INITIALIZATION, STEP, TERMINATED } fmu_mode;
typedef struct {
    rtmbs_mechanism *it;
    char *spare; /* the state before a communication step */
    const fmi2CallbackFunctions *callbacks;
    char *name;
    int logging;
    fmu_mode mode;
    char text[320];
} fmu;
#define ROUNDING 1e-6 /* of a step: what a communication point may be off */

static void tell(fmu *f, fmi2Status status, const char *category, const char *text) {
    if (f->callbacks && f->callbacks->logger && f->logging)
        f->callbacks->logger(f->callbacks->componentEnvironment, f->name ? f->name : "rtmbs", status, category, "%s", text);
}
static fmi2Status fail(void *c, const char *text) {
    if (c) tell(c, fmi2Error, "logStatusError", text);
    return fmi2Error;
}
static fmi2Status discard(fmu *f, const char *text) {
    tell(f, fmi2Discard, "logStatusDiscard", text);
    return fmi2Discard;
}

FMI2_Export const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
FMI2_Export const char *fmi2GetVersion(void) { return fmi2Version; }
FMI2_Export fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]) {
    (void)n; (void)categories;
    if (!c) return fmi2Error;
    ((fmu *)c)->logging = on;
    return fmi2OK;
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The path of a file URI with its percent signs resolved, and the name of the mechanism file behind it; 0 on failure. */
static int path_of(const char *uri, char *path, size_t size) {
    static const char file[] = "/mechanism.rtm";
    size_t k = 0;
    if (!uri) return 0;
    if (!strncmp(uri, "file:", 5)) {
        uri += 5;
        if (!strncmp(uri, "//", 2)) {
            uri += 2;
            while (*uri && *uri != '/') uri++; /* the host: this one */
        }
#if defined(_WIN32)
        if (uri[0] == '/' && uri[1] && uri[2] == ':') uri++;
#endif
    }
    for (; *uri; uri++) {
        int high = *uri == '%' ? digit(uri[1]) : -1, low = high < 0 ? -1 : digit(uri[2]);
        if (k + sizeof file + 1 > size) return 0;
        if (low < 0) path[k++] = *uri;
        else path[k++] = (char)(16 * high + low), uri += 2;
    }
    while (k && (path[k - 1] == '/' || path[k - 1] == '\\')) k--;
    memcpy(path + k, file, sizeof file);
    return 1;
}

FMI2_Export fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
    const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
    (void)visible;
    char path[4096], error[256] = "";
    fmu *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->callbacks = callbacks, f->logging = 1, f->name = malloc(name ? strlen(name) + 1 : 1);
    if (f->name) strcpy(f->name, name ? name : "");
    if (type != fmi2CoSimulation) snprintf(error, sizeof error, "this FMU is for co-simulation");
    else if (!path_of(resources, path, sizeof path)) snprintf(error, sizeof error, "the location of the resources is missing or too long");
    else f->it = rtmbs_load(path, error, sizeof error);
    if (f->it && (!guid || strcmp(guid, rtmbs_token(f->it)))) snprintf(error, sizeof error, "the guid is not that of this FMU");
    else if (f->it && !(f->spare = malloc(rtmbs_state_size(f->it)))) snprintf(error, sizeof error, "no memory");
    if (!f->it || !f->spare) {
        fail(f, error);
        rtmbs_free(f->it);
        free(f->name);
        free(f);
        return NULL;
    }
    f->logging = logging;
    return f;
}
FMI2_Export void fmi2FreeInstance(fmi2Component c) {
    fmu *f = c;
    if (!f) return;
    rtmbs_free(f->it);
    free(f->spare);
    free(f->name);
    free(f);
}
FMI2_Export fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_defined, fmi2Real tolerance, fmi2Real start,
    fmi2Boolean stop_defined, fmi2Real stop) {
    (void)tolerance_defined; (void)tolerance; (void)stop_defined; (void)stop;
    fmu *f = c;
    if (!f || f->mode != INSTANTIATED) return fail(f, "fmi2SetupExperiment: the FMU is not just instantiated or reset");
    if (rtmbs_set_start(f->it, start))
        return fail(f, "fmi2SetupExperiment: functions of time act in this model, so it starts at 0 s only");
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    fmu *f = c;
    if (!f || f->mode != INSTANTIATED) return fail(f, "fmi2EnterInitializationMode: the FMU is not just instantiated or reset");
    f->mode = INITIALIZATION;
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
    fmu *f = c;
    if (!f || f->mode != INITIALIZATION) return fail(f, "fmi2ExitInitializationMode: the FMU is not in initialization mode");
    f->mode = STEP;
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2Terminate(fmi2Component c) {
    fmu *f = c;
    if (!f || f->mode != STEP) return fail(f, "fmi2Terminate: the FMU is not in step mode");
    f->mode = TERMINATED;
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2Reset(fmi2Component c) {
    fmu *f = c;
    if (!f) return fmi2Error;
    rtmbs_reset(f->it);
    f->mode = INSTANTIATED;
    return fmi2OK;
}

FMI2_Export fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real v[]) {
    fmu *f = c;
    if (!f) return fmi2Error;
    int64_t inputs = f->it->input_count;
    for (size_t k = 0; k < n; k++) {
        if (vr[k] > f->it->port_count) return fail(f, "fmi2GetReal: unknown value reference");
        if (vr[k] == 0) v[k] = rtmbs_time(f->it);
        else if (vr[k] <= inputs) v[k] = rtmbs_input_value(f->it, (int)vr[k] - 1);
        else v[k] = rtmbs_output_value(f->it, (int)(vr[k] - 1 - inputs));
        if (isnan(v[k])) return fail(f, "fmi2GetReal: no accelerations were found for the changed inputs");
    }
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real v[]) {
    fmu *f = c;
    if (!f) return fmi2Error;
    if (f->mode == TERMINATED) return fail(f, "fmi2SetReal: the FMU is terminated");
    for (size_t k = 0; k < n; k++) {
        if (vr[k] == 0 || vr[k] > f->it->input_count) return fail(f, "fmi2SetReal: only inputs and parameters can be set");
        if (!(fabs(v[k]) <= 1e100)) return fail(f, "fmi2SetReal: a value is not finite, or beyond 1e100");
    }
    for (size_t k = 0; k < n; k++) rtmbs_set_input(f->it, (int)vr[k] - 1, v[k]);
    return fmi2OK;
}

/* Steps from now to `end`; 0 when that is no whole number of steps. */
static int64_t steps_to(fmu *f, double now, double end) {
    double h = rtmbs_step_size(f->it), start = f->it->start;
    if (!(fabs(now - rtmbs_time(f->it)) <= ROUNDING * h) || !(fabs(end - start) < 9e15 * h)) return 0;
    int64_t last = llround((end - start) / h);
    if (!(fabs(end - (start + (double)last * h)) <= ROUNDING * h)) return 0;
    return last - rtmbs_steps(f->it);
}

FMI2_Export fmi2Status fmi2DoStep(fmi2Component c, fmi2Real now, fmi2Real size, fmi2Boolean no_prior) {
    (void)no_prior;
    fmu *f = c;
    if (!f || f->mode != STEP) return fail(f, "fmi2DoStep: the FMU is not in step mode");
    int64_t count = steps_to(f, now, now + size);
    if (count < 1) {
        snprintf(f->text, sizeof f->text, "fmi2DoStep: from %.17g s by %.17g s is no whole number of steps of %.17g s from "
                 "the present %.17g s", now, size, rtmbs_step_size(f->it), rtmbs_time(f->it));
        return discard(f, f->text);
    }
    if (count > 1) rtmbs_get_state(f->it, f->spare);
    int status = rtmbs_step(f->it, count);
    if (!rtmbs_taken(status)) {
        snprintf(f->text, sizeof f->text, "fmi2DoStep: the step at %.17g s was refused: %s", rtmbs_time(f->it), rtmbs_status_text(status));
        if (count > 1) rtmbs_set_state(f->it, f->spare, rtmbs_state_size(f->it));
        return discard(f, f->text);
    }
    if (status != RTMBS_CONVERGED) {
        tell(f, fmi2Warning, "logStatusWarning", rtmbs_status_text(status));
        return fmi2Warning;
    }
    return fmi2OK;
}

/* A state: the mode, then the state of the mechanism. */
static size_t bytes_of(const fmu *f) { return 8 + rtmbs_state_size(f->it); }

FMI2_Export fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state) {
    fmu *f = c;
    if (!f || !state || (!*state && !(*state = malloc(bytes_of(f))))) return fail(f, "fmi2GetFMUstate: no memory");
    int64_t mode = f->mode;
    memcpy(*state, &mode, 8);
    rtmbs_get_state(f->it, (char *)*state + 8);
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
    fmu *f = c;
    int64_t mode;
    if (!f || !state) return fail(f, "fmi2SetFMUstate: no state was given");
    memcpy(&mode, state, 8);
    if (mode < INSTANTIATED || mode > TERMINATED || rtmbs_set_state(f->it, (char *)state + 8, rtmbs_state_size(f->it)))
        return fail(f, "fmi2SetFMUstate: these bytes are no state of this FMU");
    f->mode = (fmu_mode)mode;
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state) {
    (void)c;
    if (state) free(*state), *state = NULL;
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size) {
    if (!c || !state || !size) return fail(c, "fmi2SerializedFMUstateSize: an argument is missing");
    *size = bytes_of(c);
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
    if (!c || !state || !bytes || size < bytes_of(c)) return fail(c, "fmi2SerializeFMUstate: too few bytes");
    memcpy(bytes, state, bytes_of(c));
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state) {
    fmu *f = c;
    if (!f || !bytes || !state || size != bytes_of(f)) return fail(f, "fmi2DeSerializeFMUstate: these bytes are no state of this FMU");
    rtmbs_get_state(f->it, f->spare);
    int64_t mode;
    memcpy(&mode, bytes, 8);
    int wrong = mode < INSTANTIATED || mode > TERMINATED || rtmbs_set_state(f->it, bytes + 8, size - 8);
    rtmbs_set_state(f->it, f->spare, rtmbs_state_size(f->it));
    if (wrong) return fail(f, "fmi2DeSerializeFMUstate: these bytes are no state of this FMU");
    if (!*state && !(*state = malloc(size))) return fail(f, "fmi2DeSerializeFMUstate: no memory");
    memcpy(*state, bytes, size);
    return fmi2OK;
}

FMI2_Export fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value) {
    if (!c || !value || kind != fmi2LastSuccessfulTime) return fail(c, "fmi2GetRealStatus: only the last successful time is known");
    *value = rtmbs_time(((fmu *)c)->it);
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value) {
    if (!c || !value || kind != fmi2Terminated) return fail(c, "fmi2GetBooleanStatus: only the termination is known");
    *value = fmi2False;
    return fmi2OK;
}

/* Functions of the header for what this FMU does not have. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NO(name, args) FMI2_Export fmi2Status name args { return fail(c, #name ": this FMU does not support it"); }
NO(fmi2GetInteger, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer v[]))
NO(fmi2GetBoolean, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean v[]))
NO(fmi2GetString, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String v[]))
NO(fmi2SetInteger, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer v[]))
NO(fmi2SetBoolean, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean v[]))
NO(fmi2SetString, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String v[]))
NO(fmi2GetDirectionalDerivative, (fmi2Component c, const fmi2ValueReference u[], size_t nu, const fmi2ValueReference k[], size_t nk, const fmi2Real d[], fmi2Real r[]))
NO(fmi2SetRealInputDerivatives, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], const fmi2Real v[]))
NO(fmi2GetRealOutputDerivatives, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], fmi2Real v[]))
NO(fmi2CancelStep, (fmi2Component c))
NO(fmi2GetStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Status *v))
NO(fmi2GetIntegerStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Integer *v))
NO(fmi2GetStringStatus, (fmi2Component c, const fmi2StatusKind s, fmi2String *v))
