/* A PI controller as an FMU for co-simulation, FMI 2.0, by hand: what somebody else's tool would hand over.
 * Value references: 0 speed (input), 1 torque (output), 2 reference, 3 kp, 4 ki (parameters), 5 integral. */
#include "fmi2Functions.h"
#include <stdlib.h>
#include <string.h>

enum { SPEED, TORQUE, REFERENCE, KP, KI, INTEGRAL, COUNT };
typedef struct { double value[COUNT]; double time; } controller;
static const char guid[] = "{2f0e7a4c-5d0b-4f1a-9d53-35b4c1e0a7d1}";
static const double start[COUNT] = {0.0, 0.0, 8.0, 0.6, 2.0, 0.0};

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String x[]) {
    (void)c; (void)on; (void)n; (void)x;
    return fmi2OK;
}
fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String given, fmi2String resources,
    const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
    (void)name; (void)resources; (void)callbacks; (void)visible; (void)logging;
    if (type != fmi2CoSimulation || !given || strcmp(given, guid)) return NULL;
    controller *it = calloc(1, sizeof *it);
    if (it) memcpy(it->value, start, sizeof start);
    return it;
}
void fmi2FreeInstance(fmi2Component c) { free(c); }
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean a, fmi2Real b, fmi2Real t, fmi2Boolean d, fmi2Real e) {
    (void)a; (void)b; (void)d; (void)e;
    ((controller *)c)->time = t;
    return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) {
    memcpy(((controller *)c)->value, start, sizeof start);
    return fmi2OK;
}
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real v[]) {
    for (size_t k = 0; k < n; k++) {
        if (vr[k] >= COUNT) return fmi2Error;
        v[k] = ((controller *)c)->value[vr[k]];
    }
    return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real v[]) {
    for (size_t k = 0; k < n; k++) {
        if (vr[k] >= COUNT || vr[k] == TORQUE) return fmi2Error;
        ((controller *)c)->value[vr[k]] = v[k];
    }
    return fmi2OK;
}
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real size, fmi2Boolean no_prior) {
    (void)no_prior;
    controller *it = c;
    double *x = it->value;
    if (!(size > 0.0) || !(x[SPEED] == x[SPEED]) || x[SPEED] > 1e3 || x[SPEED] < -1e3) return fmi2Error;
    double error = x[REFERENCE] - x[SPEED];
    x[TORQUE] = x[KP] * error + x[KI] * x[INTEGRAL];
    x[INTEGRAL] += error * size;
    it->time = t + size;
    return fmi2OK;
}

/* what FMI 2.0 asks to be there, and this controller does not have */
#define NO(name, args) fmi2Status name args { return fmi2Error; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
NO(fmi2GetInteger, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer v[]))
NO(fmi2GetBoolean, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean v[]))
NO(fmi2GetString, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String v[]))
NO(fmi2SetInteger, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer v[]))
NO(fmi2SetBoolean, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean v[]))
NO(fmi2SetString, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String v[]))
NO(fmi2GetFMUstate, (fmi2Component c, fmi2FMUstate *s))
NO(fmi2SetFMUstate, (fmi2Component c, fmi2FMUstate s))
NO(fmi2FreeFMUstate, (fmi2Component c, fmi2FMUstate *s))
NO(fmi2SerializedFMUstateSize, (fmi2Component c, fmi2FMUstate s, size_t *n))
NO(fmi2SerializeFMUstate, (fmi2Component c, fmi2FMUstate s, fmi2Byte b[], size_t n))
NO(fmi2DeSerializeFMUstate, (fmi2Component c, const fmi2Byte b[], size_t n, fmi2FMUstate *s))
NO(fmi2GetDirectionalDerivative, (fmi2Component c, const fmi2ValueReference u[], size_t nu, const fmi2ValueReference k[], size_t nk, const fmi2Real d[], fmi2Real r[]))
NO(fmi2SetRealInputDerivatives, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], const fmi2Real v[]))
NO(fmi2GetRealOutputDerivatives, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], fmi2Real v[]))
NO(fmi2CancelStep, (fmi2Component c))
NO(fmi2GetStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Status *v))
NO(fmi2GetRealStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Real *v))
NO(fmi2GetIntegerStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Integer *v))
NO(fmi2GetBooleanStatus, (fmi2Component c, const fmi2StatusKind s, fmi2Boolean *v))
NO(fmi2GetStringStatus, (fmi2Component c, const fmi2StatusKind s, fmi2String *v))
