/* FMI 3.0, co-simulation and model exchange, on librtmbs; fmu.c does the work. */
#include "fmu.h"
#include "fmi3Functions.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void log_it(const fmu *f, int status, const char *category, const char *text) {
    fmi3LogMessageCallback log = (fmi3LogMessageCallback)f->message;
    if (log) log(f->environment, (fmi3Status)status, category, text);
}

FMI3_Export const char *fmi3GetVersion(void) { return "3.0"; }
FMI3_Export fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean on, size_t n, const fmi3String categories[]) {
    (void)n; (void)categories;
    if (!instance) return fmi3Error;
    ((fmu *)instance)->logging = on;
    return fmi3OK;
}
static fmi3Instance instantiate(fmi3String token, fmi3String resources, fmi3Boolean logging, fmi3InstanceEnvironment environment,
    fmi3LogMessageCallback log, int exchanged) {
    char path[4096];
    size_t length = resources ? strlen(resources) : 0;
    fmu *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->environment = environment, f->message = (void (*)(void))log, f->log = log_it;
    int known = length && length < sizeof path - 32;
    if (known) {
        const char *slash = resources[length - 1] == '/' || resources[length - 1] == '\\' ? "" : "/";
        snprintf(path, sizeof path, "%s%smechanism.rtm", resources, slash);
    }
    return fmu_load(f, known ? path : NULL, token, "instantiationToken", logging, exchanged);
}
FMI3_Export fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
    fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean event_mode, fmi3Boolean early, const fmi3ValueReference required[],
    size_t n, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
    (void)name; (void)visible; (void)event_mode; (void)early; (void)required; (void)n; (void)update;
    return instantiate(token, resources, logging, environment, log, 0);
}
FMI3_Export fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
    fmi3Boolean visible, fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log) {
    (void)name; (void)visible;
    return instantiate(token, resources, logging, environment, log, 1);
}
FMI3_Export void fmi3FreeInstance(fmi3Instance instance) { fmu_free(instance); }
FMI3_Export fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean tolerance_defined, fmi3Float64 tolerance,
    fmi3Float64 start, fmi3Boolean stop_defined, fmi3Float64 stop) {
    (void)tolerance_defined; (void)tolerance; (void)stop_defined; (void)stop;
    int status = fmu_start(instance, __func__, start);
    return (fmi3Status)(status ? status : fmu_begin(instance, __func__));
}
FMI3_Export fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
    return (fmi3Status)fmu_initialized(instance, __func__);
}
FMI3_Export fmi3Status fmi3Terminate(fmi3Instance instance) {
    return (fmi3Status)fmu_end(instance, __func__);
}
FMI3_Export fmi3Status fmi3Reset(fmi3Instance instance) { return (fmi3Status)fmu_reset(instance); }

FMI3_Export fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 v[], size_t nv) {
    if (n != nv) return (fmi3Status)fmu_fail(instance, __func__, "every variable is one number, so nValues must be nValueReferences");
    return (fmi3Status)fmu_get(instance, __func__, vr, n, v);
}
FMI3_Export fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 v[], size_t nv) {
    if (n != nv) return (fmi3Status)fmu_fail(instance, __func__, "every variable is one number, so nValues must be nValueReferences");
    return (fmi3Status)fmu_set(instance, __func__, vr, n, v);
}
FMI3_Export fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 now, fmi3Float64 size, fmi3Boolean no_prior,
    fmi3Boolean *event, fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last) {
    (void)no_prior;
    fmu *f = instance;
    if (!f || !event || !terminate || !early || !last) return (fmi3Status)fmu_fail(f, __func__, "an argument is missing");
    *event = *terminate = *early = false;
    int status = fmu_step(f, __func__, now, size);
    *last = rtmbs_time(f->it);
    return (fmi3Status)status;
}
FMI3_Export fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference u[], size_t nu,
    const fmi3ValueReference k[], size_t nk, const fmi3Float64 seed[], size_t ns, fmi3Float64 sensitivity[], size_t nr) {
    if (nk != ns || nu != nr) return (fmi3Status)fmu_fail(instance, __func__, "every variable is one number, so nSeed must be nKnowns and nSensitivity nUnknowns");
    return (fmi3Status)fmu_derivative(instance, __func__, u, nu, k, nk, seed, sensitivity);
}

/* Model exchange. */
FMI3_Export fmi3Status fmi3EnterEventMode(fmi3Instance instance) { return (fmi3Status)fmu_events(instance, __func__); }
FMI3_Export fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance) {
    return (fmi3Status)fmu_change(instance, __func__, EVENT_MODE, CONTINUOUS_MODE);
}
FMI3_Export fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *terminate,
    fmi3Boolean *nominals, fmi3Boolean *values, fmi3Boolean *defined, fmi3Float64 *next) {
    int changed = 0;
    double time = INFINITY;
    if (!again || !terminate || !nominals || !values || !defined || !next) return (fmi3Status)fmu_fail(instance, __func__, "an argument is missing");
    int status = fmu_discrete(instance, __func__, &changed, &time);
    *again = *terminate = false, *nominals = *values = changed, *defined = isfinite(time);
    if (*defined) *next = time;
    return (fmi3Status)status;
}
FMI3_Export fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance) { return instance ? fmi3OK : fmi3Error; }
FMI3_Export fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean no_prior, fmi3Boolean *enter, fmi3Boolean *terminate) {
    (void)no_prior;
    int asked = 0;
    if (!enter || !terminate) return (fmi3Status)fmu_fail(instance, __func__, "an argument is missing");
    int status = fmu_completed(instance, __func__, &asked);
    *enter = asked, *terminate = false;
    return (fmi3Status)status;
}
FMI3_Export fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time) { return (fmi3Status)fmu_set_time(instance, __func__, time); }
FMI3_Export fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 x[], size_t n) {
    return (fmi3Status)fmu_set_states(instance, __func__, x, n);
}
FMI3_Export fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 x[], size_t n) {
    return (fmi3Status)fmu_get_states(instance, __func__, x, n);
}
FMI3_Export fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 dx[], size_t n) {
    return (fmi3Status)fmu_derivatives(instance, __func__, dx, n);
}
FMI3_Export fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 x[], size_t n) {
    return (fmi3Status)fmu_nominals(instance, __func__, x, n);
}
FMI3_Export fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 indicators[], size_t n) {
    (void)indicators;
    return n ? (fmi3Status)fmu_fail(instance, __func__, "this FMU has no event indicators") : fmi3OK;
}
FMI3_Export fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *n) {
    if (!n) return (fmi3Status)fmu_fail(instance, __func__, "an argument is missing");
    *n = 0;
    return fmi3OK;
}
FMI3_Export fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *n) {
    fmu *f = instance;
    if (!f || !n || !f->x) return (fmi3Status)fmu_fail(f, __func__, "the FMU was not instantiated for model exchange");
    *n = (size_t)exchange_states(f->x);
    return fmi3OK;
}

FMI3_Export fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state) {
    return (fmi3Status)fmu_get_state(instance, __func__, state);
}
FMI3_Export fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state) {
    return (fmi3Status)fmu_set_state(instance, __func__, state);
}
FMI3_Export fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state) {
    (void)instance;
    return (fmi3Status)fmu_free_state(state);
}
FMI3_Export fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size) {
    return (fmi3Status)fmu_state_size(instance, __func__, state, size);
}
FMI3_Export fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size) {
    return (fmi3Status)fmu_write_state(instance, __func__, state, bytes, size);
}
FMI3_Export fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *state) {
    return (fmi3Status)fmu_read_state(instance, __func__, bytes, size, state);
}

/* Functions of the header for what this FMU does not have. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NO(name, args) FMI3_Export fmi3Status name args { return (fmi3Status)fmu_fail(instance, #name, "this FMU does not support it"); }
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
NO(fmi3GetAdjointDerivative, (fmi3Instance instance, const fmi3ValueReference u[], size_t nu, const fmi3ValueReference k[], size_t nk, const fmi3Float64 s[], size_t ns, fmi3Float64 r[], size_t nr))
NO(fmi3EnterConfigurationMode, (fmi3Instance instance))
NO(fmi3ExitConfigurationMode, (fmi3Instance instance))
NO(fmi3EnterStepMode, (fmi3Instance instance))
NO(fmi3GetIntervalDecimal, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 i[], fmi3IntervalQualifier q[]))
NO(fmi3GetIntervalFraction, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3UInt64 c[], fmi3UInt64 r[], fmi3IntervalQualifier q[]))
NO(fmi3GetShiftDecimal, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 s[]))
NO(fmi3GetShiftFraction, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3UInt64 c[], fmi3UInt64 r[]))
NO(fmi3SetIntervalDecimal, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 i[]))
NO(fmi3SetIntervalFraction, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 c[], const fmi3UInt64 r[]))
NO(fmi3SetShiftDecimal, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 s[]))
NO(fmi3SetShiftFraction, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 c[], const fmi3UInt64 r[]))
NO(fmi3GetOutputDerivatives, (fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Int32 o[], fmi3Float64 v[], size_t nv))
NO(fmi3ActivateModelPartition, (fmi3Instance instance, fmi3ValueReference c, fmi3Float64 t))
FMI3_Export fmi3Instance fmi3InstantiateScheduledExecution(fmi3String a, fmi3String b, fmi3String c, fmi3Boolean d,
    fmi3Boolean e, fmi3InstanceEnvironment f, fmi3LogMessageCallback g, fmi3ClockUpdateCallback h,
    fmi3LockPreemptionCallback i, fmi3UnlockPreemptionCallback j) { return NULL; }
