/* FMI 2.0, co-simulation and model exchange, on librtmbs; fmu.c does the work. */
#include "fmu.h"
#include "fmi2Functions.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void log_it(const fmu *f, int status, const char *category, const char *text) {
    const fmi2CallbackFunctions *given = f->callbacks;
    if (given && given->logger)
        given->logger(given->componentEnvironment, f->name ? f->name : "rtmbs", (fmi2Status)status, category, "%s", text);
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
    char path[4096];
    fmu *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->callbacks = callbacks, f->log = log_it, f->name = malloc(name ? strlen(name) + 1 : 1);
    if (f->name) strcpy(f->name, name ? name : "");
    return fmu_load(f, path_of(resources, path, sizeof path) ? path : NULL, guid, "guid", logging, type == fmi2ModelExchange);
}
FMI2_Export void fmi2FreeInstance(fmi2Component c) { fmu_free(c); }
FMI2_Export fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_defined, fmi2Real tolerance, fmi2Real start,
    fmi2Boolean stop_defined, fmi2Real stop) {
    (void)tolerance_defined; (void)tolerance; (void)stop_defined; (void)stop;
    return (fmi2Status)fmu_start(c, __func__, start);
}
FMI2_Export fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    return (fmi2Status)fmu_begin(c, __func__);
}
FMI2_Export fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
    return (fmi2Status)fmu_initialized(c, __func__);
}
FMI2_Export fmi2Status fmi2Terminate(fmi2Component c) { return (fmi2Status)fmu_end(c, __func__); }
FMI2_Export fmi2Status fmi2Reset(fmi2Component c) { return (fmi2Status)fmu_reset(c); }

FMI2_Export fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real v[]) {
    return (fmi2Status)fmu_get(c, __func__, vr, n, v);
}
FMI2_Export fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real v[]) {
    return (fmi2Status)fmu_set(c, __func__, vr, n, v);
}
FMI2_Export fmi2Status fmi2DoStep(fmi2Component c, fmi2Real now, fmi2Real size, fmi2Boolean no_prior) {
    (void)no_prior;
    return (fmi2Status)(c ? fmu_step(c, __func__, now, size) : FMU_ERROR);
}
FMI2_Export fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference u[], size_t nu,
    const fmi2ValueReference k[], size_t nk, const fmi2Real seed[], fmi2Real sensitivity[]) {
    return (fmi2Status)fmu_derivative(c, __func__, u, nu, k, nk, seed, sensitivity);
}

/* Model exchange. */
FMI2_Export fmi2Status fmi2EnterEventMode(fmi2Component c) { return (fmi2Status)fmu_events(c, __func__); }
FMI2_Export fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) {
    return (fmi2Status)fmu_change(c, __func__, EVENT_MODE, CONTINUOUS_MODE);
}
FMI2_Export fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info) {
    int changed = 0;
    double time = INFINITY;
    if (!info) return (fmi2Status)fmu_fail(c, __func__, "an argument is missing");
    int status = fmu_discrete(c, __func__, &changed, &time);
    info->newDiscreteStatesNeeded = info->terminateSimulation = fmi2False;
    info->nominalsOfContinuousStatesChanged = info->valuesOfContinuousStatesChanged = changed ? fmi2True : fmi2False;
    info->nextEventTimeDefined = isfinite(time) ? fmi2True : fmi2False;
    if (isfinite(time)) info->nextEventTime = time;
    return (fmi2Status)status;
}
FMI2_Export fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_prior, fmi2Boolean *enter, fmi2Boolean *terminate) {
    (void)no_prior;
    int asked = 0;
    if (!enter || !terminate) return (fmi2Status)fmu_fail(c, __func__, "an argument is missing");
    int status = fmu_completed(c, __func__, &asked);
    *enter = asked ? fmi2True : fmi2False, *terminate = fmi2False;
    return (fmi2Status)status;
}
FMI2_Export fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) { return (fmi2Status)fmu_set_time(c, __func__, time); }
FMI2_Export fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n) {
    return (fmi2Status)fmu_set_states(c, __func__, x, n);
}
FMI2_Export fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n) {
    return (fmi2Status)fmu_get_states(c, __func__, x, n);
}
FMI2_Export fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dx[], size_t n) {
    return (fmi2Status)fmu_derivatives(c, __func__, dx, n);
}
FMI2_Export fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x[], size_t n) {
    return (fmi2Status)fmu_nominals(c, __func__, x, n);
}
FMI2_Export fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t n) {
    (void)indicators;
    return n ? (fmi2Status)fmu_fail(c, __func__, "this FMU has no event indicators") : fmi2OK;
}

FMI2_Export fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state) { return (fmi2Status)fmu_get_state(c, __func__, state); }
FMI2_Export fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) { return (fmi2Status)fmu_set_state(c, __func__, state); }
FMI2_Export fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state) {
    (void)c;
    return (fmi2Status)fmu_free_state(state);
}
FMI2_Export fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size) {
    return (fmi2Status)fmu_state_size(c, __func__, state, size);
}
FMI2_Export fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
    return (fmi2Status)fmu_write_state(c, __func__, state, bytes, size);
}
FMI2_Export fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state) {
    return (fmi2Status)fmu_read_state(c, __func__, bytes, size, state);
}

FMI2_Export fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value) {
    if (!c || !value || kind != fmi2LastSuccessfulTime) return (fmi2Status)fmu_fail(c, __func__, "only the last successful time is known");
    *value = rtmbs_time(((fmu *)c)->it);
    return fmi2OK;
}
FMI2_Export fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value) {
    if (!c || !value || kind != fmi2Terminated) return (fmi2Status)fmu_fail(c, __func__, "only the termination is known");
    *value = fmi2False;
    return fmi2OK;
}

/* Functions of the header for what this FMU does not have. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NO(name, args) FMI2_Export fmi2Status name args { return (fmi2Status)fmu_fail(c, #name, "this FMU does not support it"); }
NO(fmi2GetInteger, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer v[]))
NO(fmi2GetBoolean, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean v[]))
NO(fmi2GetString, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String v[]))
NO(fmi2SetInteger, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer v[]))
NO(fmi2SetBoolean, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean v[]))
NO(fmi2SetString, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String v[]))
NO(fmi2SetRealInputDerivatives, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], const fmi2Real v[]))
NO(fmi2GetRealOutputDerivatives, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], fmi2Real v[]))
NO(fmi2CancelStep, (fmi2Component c))
NO(fmi2GetStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Status *v))
NO(fmi2GetIntegerStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Integer *v))
NO(fmi2GetStringStatus, (fmi2Component c, const fmi2StatusKind s, fmi2String *v))
