/* FMI 3.0 co-simulation on librtmbs: variables by value reference (0: time, then inputs, parameters and outputs in the
 * order of the mechanism file), steps, states, logging. */
#include "mechanism.h"
#include "fmi3Functions.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { INSTANTIATED, INITIALIZATION, STEP, TERMINATED } fmu_mode;
typedef struct {
    rtmbs_mechanism *it;
    char *spare; /* the state before a communication step */
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
    int logging;
    fmu_mode mode;
    char text[320];
} fmu;
#define ROUNDING 1e-6 /* of a step: what a communication point may be off */

static void tell(fmu *f, fmi3Status status, const char *category, const char *text) {
    if (f->log && f->logging) f->log(f->environment, status, category, text);
}
static fmi3Status fail(void *instance, const char *text) {
    if (instance) tell(instance, fmi3Error, "logStatusError", text);
    return fmi3Error;
}
static fmi3Status discard(fmu *f, const char *text) {
    tell(f, fmi3Discard, "logStatusDiscard", text);
    return fmi3Discard;
}

FMI3_Export const char *fmi3GetVersion(void) { return "3.0"; }
FMI3_Export fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean on, size_t n, const fmi3String categories[]) {
    (void)n; (void)categories;
    if (!instance) return fmi3Error;
    ((fmu *)instance)->logging = on;
    return fmi3OK;
}

FMI3_Export fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
    fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean event_mode, fmi3Boolean early, const fmi3ValueReference required[],
    size_t n, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
    (void)name; (void)visible; (void)event_mode; (void)early; (void)required; (void)n; (void)update;
    char path[4096], error[256] = "";
    size_t length = resources ? strlen(resources) : 0;
    fmu *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->environment = environment, f->log = log, f->logging = 1;
    if (!length || length > sizeof path - 32) snprintf(error, sizeof error, "the path of the resources is missing or too long");
    else {
        const char *slash = resources[length - 1] == '/' || resources[length - 1] == '\\' ? "" : "/";
        snprintf(path, sizeof path, "%s%smechanism.rtm", resources, slash);
        f->it = rtmbs_load(path, error, sizeof error);
    }
    if (f->it && (!token || strcmp(token, rtmbs_token(f->it))))
        snprintf(error, sizeof error, "the instantiationToken is not that of this FMU");
    else if (f->it && !(f->spare = malloc(rtmbs_state_size(f->it)))) snprintf(error, sizeof error, "no memory");
    if (!f->it || !f->spare) {
        fail(f, error);
        rtmbs_free(f->it);
        free(f);
        return NULL;
    }
    f->logging = logging;
    return f;
}
FMI3_Export void fmi3FreeInstance(fmi3Instance instance) {
    fmu *f = instance;
    if (!f) return;
    rtmbs_free(f->it);
    free(f->spare);
    free(f);
}
FMI3_Export fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean tolerance_defined, fmi3Float64 tolerance,
    fmi3Float64 start, fmi3Boolean stop_defined, fmi3Float64 stop) {
    (void)tolerance_defined; (void)tolerance; (void)stop_defined; (void)stop;
    fmu *f = instance;
    if (!f || f->mode != INSTANTIATED) return fail(f, "fmi3EnterInitializationMode: the FMU is not just instantiated or reset");
    if (rtmbs_set_start(f->it, start))
        return fail(f, "fmi3EnterInitializationMode: functions of time act in this model, so it starts at 0 s only");
    f->mode = INITIALIZATION;
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
    fmu *f = instance;
    if (!f || f->mode != INITIALIZATION) return fail(f, "fmi3ExitInitializationMode: the FMU is not in initialization mode");
    f->mode = STEP;
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3Terminate(fmi3Instance instance) {
    fmu *f = instance;
    if (!f || f->mode != STEP) return fail(f, "fmi3Terminate: the FMU is not in step mode");
    f->mode = TERMINATED;
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3Reset(fmi3Instance instance) {
    fmu *f = instance;
    if (!f) return fmi3Error;
    rtmbs_reset(f->it);
    f->mode = INSTANTIATED;
    return fmi3OK;
}

FMI3_Export fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 v[], size_t nv) {
    fmu *f = instance;
    if (!f || n != nv) return fail(f, "fmi3GetFloat64: every variable is one number, so nValues must be nValueReferences");
    int64_t inputs = f->it->input_count;
    for (size_t k = 0; k < n; k++) {
        if (vr[k] > f->it->port_count) return fail(f, "fmi3GetFloat64: unknown value reference");
        if (vr[k] == 0) v[k] = rtmbs_time(f->it);
        else if (vr[k] <= inputs) v[k] = rtmbs_input_value(f->it, (int)vr[k] - 1);
        else v[k] = rtmbs_output_value(f->it, (int)(vr[k] - 1 - inputs));
        if (isnan(v[k])) return fail(f, "fmi3GetFloat64: no accelerations were found for the changed inputs");
    }
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 v[], size_t nv) {
    fmu *f = instance;
    if (!f || n != nv) return fail(f, "fmi3SetFloat64: every variable is one number, so nValues must be nValueReferences");
    if (f->mode == TERMINATED) return fail(f, "fmi3SetFloat64: the FMU is terminated");
    for (size_t k = 0; k < n; k++) {
        if (vr[k] == 0 || vr[k] > f->it->input_count) return fail(f, "fmi3SetFloat64: only inputs and parameters can be set");
        if (!(fabs(v[k]) <= 1e100)) return fail(f, "fmi3SetFloat64: a value is not finite, or beyond 1e100");
    }
    for (size_t k = 0; k < n; k++) rtmbs_set_input(f->it, (int)vr[k] - 1, v[k]);
    return fmi3OK;
}

/* Steps from now to `end`; 0 when that is no whole number of steps. */
static int64_t steps_to(fmu *f, double now, double end) {
    double h = rtmbs_step_size(f->it), start = f->it->start;
    if (!(fabs(now - rtmbs_time(f->it)) <= ROUNDING * h) || !(fabs(end - start) < 9e15 * h)) return 0;
    int64_t last = llround((end - start) / h);
    if (!(fabs(end - (start + (double)last * h)) <= ROUNDING * h)) return 0;
    return last - rtmbs_steps(f->it);
}

FMI3_Export fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 now, fmi3Float64 size, fmi3Boolean no_prior,
    fmi3Boolean *event, fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last) {
    (void)no_prior;
    fmu *f = instance;
    if (!f || !event || !terminate || !early || !last) return fail(f, "fmi3DoStep: an argument is missing");
    *event = *terminate = *early = false, *last = rtmbs_time(f->it);
    if (f->mode != STEP) return fail(f, "fmi3DoStep: the FMU is not in step mode");
    int64_t count = steps_to(f, now, now + size);
    if (count < 1) {
        snprintf(f->text, sizeof f->text, "fmi3DoStep: from %.17g s by %.17g s is no whole number of steps of %.17g s from "
                 "the present %.17g s", now, size, rtmbs_step_size(f->it), *last);
        return discard(f, f->text);
    }
    if (count > 1) rtmbs_get_state(f->it, f->spare);
    int status = rtmbs_step(f->it, count);
    if (!rtmbs_taken(status)) {
        snprintf(f->text, sizeof f->text, "fmi3DoStep: the step at %.17g s was refused: %s", rtmbs_time(f->it), rtmbs_status_text(status));
        if (count > 1) rtmbs_set_state(f->it, f->spare, rtmbs_state_size(f->it));
        return discard(f, f->text);
    }
    *last = rtmbs_time(f->it);
    if (status != RTMBS_CONVERGED) {
        tell(f, fmi3Warning, "logStatusWarning", rtmbs_status_text(status));
        return fmi3Warning;
    }
    return fmi3OK;
}

/* A state: the mode, then the state of the mechanism. */
static size_t bytes_of(const fmu *f) { return 8 + rtmbs_state_size(f->it); }

FMI3_Export fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state) {
    fmu *f = instance;
    if (!f || !state || (!*state && !(*state = malloc(bytes_of(f))))) return fail(f, "fmi3GetFMUState: no memory");
    int64_t mode = f->mode;
    memcpy(*state, &mode, 8);
    rtmbs_get_state(f->it, (char *)*state + 8);
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state) {
    fmu *f = instance;
    int64_t mode;
    if (!f || !state) return fail(f, "fmi3SetFMUState: no state was given");
    memcpy(&mode, state, 8);
    if (mode < INSTANTIATED || mode > TERMINATED || rtmbs_set_state(f->it, (char *)state + 8, rtmbs_state_size(f->it)))
        return fail(f, "fmi3SetFMUState: these bytes are no state of this FMU");
    f->mode = (fmu_mode)mode;
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state) {
    (void)instance;
    if (state) free(*state), *state = NULL;
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size) {
    if (!instance || !state || !size) return fail(instance, "fmi3SerializedFMUStateSize: an argument is missing");
    *size = bytes_of(instance);
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size) {
    if (!instance || !state || !bytes || size < bytes_of(instance)) return fail(instance, "fmi3SerializeFMUState: too few bytes");
    memcpy(bytes, state, bytes_of(instance));
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *state) {
    fmu *f = instance;
    if (!f || !bytes || !state || size != bytes_of(f)) return fail(f, "fmi3DeserializeFMUState: these bytes are no state of this FMU");
    rtmbs_get_state(f->it, f->spare);
    int64_t mode;
    memcpy(&mode, bytes, 8);
    int wrong = mode < INSTANTIATED || mode > TERMINATED || rtmbs_set_state(f->it, bytes + 8, size - 8);
    rtmbs_set_state(f->it, f->spare, rtmbs_state_size(f->it));
    if (wrong) return fail(f, "fmi3DeserializeFMUState: these bytes are no state of this FMU");
    if (!*state && !(*state = malloc(size))) return fail(f, "fmi3DeserializeFMUState: no memory");
    memcpy(*state, bytes, size);
    return fmi3OK;
}

/* Functions of the header for what this FMU does not have. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NO(name, args) FMI3_Export fmi3Status name args { return fail(instance, #name ": this FMU does not support it"); }
#define VALUES(T) \
    NO(fmi3Get##T, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3##T v[], size_t nv)) \
    NO(fmi3Set##T, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3##T v[], size_t nv))
VALUES(Float32) VALUES(Int8) VALUES(UInt8) VALUES(Int16) VALUES(UInt16) VALUES(Int32) VALUES(UInt32) VALUES(Int64)
VALUES(UInt64) VALUES(Boolean) VALUES(String)
NO(fmi3GetBinary, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, size_t s[], fmi3Binary v[], size_t nv))
NO(fmi3SetBinary, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const size_t s[], const fmi3Binary v[], size_t nv))
NO(fmi3GetClock, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Clock v[]))
NO(fmi3SetClock, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Clock v[]))
NO(fmi3GetNumberOfVariableDependencies, (fmi3Instance instance, fmi3ValueReference vr, size_t *n))
NO(fmi3GetVariableDependencies, (fmi3Instance instance, fmi3ValueReference d, size_t e[], fmi3ValueReference i[], size_t f[], fmi3DependencyKind k[], size_t n))
NO(fmi3GetDirectionalDerivative, (fmi3Instance instance, const fmi3ValueReference u[], size_t nu, const fmi3ValueReference k[], size_t nk, const fmi3Float64 s[], size_t ns, fmi3Float64 r[], size_t nr))
NO(fmi3GetAdjointDerivative, (fmi3Instance instance, const fmi3ValueReference u[], size_t nu, const fmi3ValueReference k[], size_t nk, const fmi3Float64 s[], size_t ns, fmi3Float64 r[], size_t nr))
NO(fmi3EnterConfigurationMode, (fmi3Instance instance))
NO(fmi3ExitConfigurationMode, (fmi3Instance instance))
NO(fmi3EnterEventMode, (fmi3Instance instance))
NO(fmi3EnterStepMode, (fmi3Instance instance))
NO(fmi3GetIntervalDecimal, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 i[], fmi3IntervalQualifier q[]))
NO(fmi3GetIntervalFraction, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3UInt64 c[], fmi3UInt64 r[], fmi3IntervalQualifier q[]))
NO(fmi3GetShiftDecimal, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 s[]))
NO(fmi3GetShiftFraction, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3UInt64 c[], fmi3UInt64 r[]))
NO(fmi3SetIntervalDecimal, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 i[]))
NO(fmi3SetIntervalFraction, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 c[], const fmi3UInt64 r[]))
NO(fmi3SetShiftDecimal, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 s[]))
NO(fmi3SetShiftFraction, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 c[], const fmi3UInt64 r[]))
NO(fmi3EvaluateDiscreteStates, (fmi3Instance instance))
NO(fmi3UpdateDiscreteStates, (fmi3Instance instance, fmi3Boolean *a, fmi3Boolean *b, fmi3Boolean *c, fmi3Boolean *d, fmi3Boolean *e, fmi3Float64 *t))
NO(fmi3EnterContinuousTimeMode, (fmi3Instance instance))
NO(fmi3CompletedIntegratorStep, (fmi3Instance instance, fmi3Boolean a, fmi3Boolean *b, fmi3Boolean *c))
NO(fmi3SetTime, (fmi3Instance instance, fmi3Float64 t))
NO(fmi3SetContinuousStates, (fmi3Instance instance, const fmi3Float64 x[], size_t n))
NO(fmi3GetContinuousStateDerivatives, (fmi3Instance instance, fmi3Float64 d[], size_t n))
NO(fmi3GetEventIndicators, (fmi3Instance instance, fmi3Float64 e[], size_t n))
NO(fmi3GetContinuousStates, (fmi3Instance instance, fmi3Float64 x[], size_t n))
NO(fmi3GetNominalsOfContinuousStates, (fmi3Instance instance, fmi3Float64 x[], size_t n))
NO(fmi3GetNumberOfEventIndicators, (fmi3Instance instance, size_t *n))
NO(fmi3GetNumberOfContinuousStates, (fmi3Instance instance, size_t *n))
NO(fmi3GetOutputDerivatives, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Int32 o[], fmi3Float64 v[], size_t nv))
NO(fmi3ActivateModelPartition, (fmi3Instance instance, fmi3ValueReference c, fmi3Float64 t))
FMI3_Export fmi3Instance fmi3InstantiateModelExchange(fmi3String a, fmi3String b, fmi3String c, fmi3Boolean d, fmi3Boolean e,
    fmi3InstanceEnvironment f, fmi3LogMessageCallback g) { return NULL; }
FMI3_Export fmi3Instance fmi3InstantiateScheduledExecution(fmi3String a, fmi3String b, fmi3String c, fmi3Boolean d,
    fmi3Boolean e, fmi3InstanceEnvironment f, fmi3LogMessageCallback g, fmi3ClockUpdateCallback h,
    fmi3LockPreemptionCallback i, fmi3UnlockPreemptionCallback j) { return NULL; }
