/* Calls of FMI 2.0 and 3.0 in any order, with odd arguments, for AddressSanitizer:
 *
 *     fuzz TOKEN FOLDER COUNT SEED [FIRST]
 *
 * Every sequence instantiates the FMU of the mechanism file in FOLDER, for co-simulation or model exchange, calls what an
 * importer may call and what it must not, and frees it. A call that fails must say so in the log. A sequence that crashes
 * says its number; `fuzz TOKEN FOLDER 1 SEED NUMBER` repeats it. Prints counts of sequences, calls, refusals and lines of
 * the log. */
#include "fmu.h"
#include "fmi2Functions.h"
#include "fmi3Functions.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LENGTH = 30, MOST = 6 };
static uint64_t seed;
static long run, calls, refused, said;

static uint64_t next(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}
static uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u, x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u, x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) | 1;
}
static void crashed(int signal) {
    char text[96];
    int length = snprintf(text, sizeof text, "signal %d in sequence %ld\n", signal, run);
    if (write(2, text, (size_t)length) < 0) _exit(5);
    _exit(4);
}
static void hear3(fmi3InstanceEnvironment e, fmi3Status s, fmi3String category, fmi3String text) {
    (void)e; (void)s;
    said += category && text && strlen(text) > 0 && strlen(text) < 320;
}
static void hear2(fmi2ComponentEnvironment e, fmi2String name, fmi2Status s, fmi2String category, fmi2String text, ...) {
    (void)e; (void)s;
    said += name && category && text;
}

/* A number: most often a fit one. */
static double number(void) {
    static const double odd[] = {0.0, -1.0, 1e-3, 2.5e-3, 1e-9, 1e20, 1e101, -1e300, 1.0, 7e-4};
    uint64_t kind = next() % 8, bits = next();
    double value;
    memcpy(&value, &bits, 8);
    return kind == 0 ? value : kind < 4 ? odd[next() % 10] : (double)(next() % 4001) / 1000.0 - 2.0;
}
/* The present time most often, and a step that is not long. */
static double moment(const fmu *f) { return f && next() % 4 ? rtmbs_time(f->it) : number(); }
static double span(void) {
    double value = next() % 3 ? 1e-3 * (double)(1 + next() % 3) : number();
    return value > 0.05 && value < 1e17 ? 0.01 : value; /* longer ones would be taken, step by step */
}

typedef struct { uint32_t vr[MOST], other[MOST]; double a[MOST], b[MOST]; size_t n, m; } arguments;
static arguments drawn(const fmu *f) {
    arguments given;
    uint32_t most = (uint32_t)(f ? f->it->port_count : 8) + 12;
    given.n = next() % (MOST + 1), given.m = next() % 3 ? given.n : next() % (MOST + 1);
    for (int k = 0; k < MOST; k++) {
        given.vr[k] = next() % 16 ? (uint32_t)(next() % most) : (uint32_t)next();
        given.other[k] = (uint32_t)(next() % most);
        given.a[k] = number(), given.b[k] = 0.0;
    }
    return given;
}

/* States of the FMU: three of them, and their bytes. */
typedef struct { void *kept[3]; char *bytes; size_t size; } states;

static int of_states(int three, void *it, states *s) {
    void **one = &s->kept[next() % 3];
    size_t size = 0;
    int status = 0;
    switch (next() % 4) {
    case 0: return three ? (int)fmi3GetFMUState(it, one) : (int)fmi2GetFMUstate(it, one);
    case 1: return three ? (int)fmi3SetFMUState(it, *one) : (int)fmi2SetFMUstate(it, *one);
    case 2:
        if (three ? fmi3SerializedFMUStateSize(it, *one, &size) : (int)fmi2SerializedFMUstateSize(it, *one, &size)) return 3;
        free(s->bytes), s->bytes = calloc(1, size), s->size = size;
        size -= next() % 8 ? 0 : next() % size;
        status = three ? (int)fmi3SerializeFMUState(it, *one, (fmi3Byte *)s->bytes, size)
                       : (int)fmi2SerializeFMUstate(it, *one, s->bytes, size);
        return status;
    default:
        if (s->bytes && next() % 2) s->bytes[next() % s->size] ^= (char)(1 << next() % 8);
        size = s->size - (s->size && !(next() % 8));
        return three ? (int)fmi3DeserializeFMUState(it, (fmi3Byte *)s->bytes, size, one)
                     : (int)fmi2DeSerializeFMUstate(it, s->bytes, size, one);
    }
}

static int of_values(int three, void *it, const fmu *f) {
    arguments g = drawn(f);
    double *v = next() % 16 ? g.a : NULL;
    size_t n = three ? g.m : g.n;
    if (next() % 12 == 0) {
        if (three) return fmi3GetDirectionalDerivative(it, g.vr, g.n, g.other, g.m, g.a, n, g.b, g.n);
        return fmi2GetDirectionalDerivative(it, g.vr, g.n, g.other, g.m, g.a, g.b);
    }
    if (next() % 2) return three ? (int)fmi3GetFloat64(it, g.vr, g.n, g.b, n) : (int)fmi2GetReal(it, g.vr, g.n, g.b);
    return three ? (int)fmi3SetFloat64(it, g.vr, g.n, v, n) : (int)fmi2SetReal(it, g.vr, g.n, v);
}

/* Exact vectors of continuous states, or of one number more. */
static int of_exchange(int three, void *it, const fmu *f) {
    size_t n = f && f->x ? (size_t)exchange_states(f->x) : 2, size = n + !(next() % 8);
    double *x = calloc(size, 8), time;
    fmi2Boolean flag2, stop2;
    bool flag[5];
    fmi2EventInfo info;
    int status;
    switch (next() % 9) {
    case 0: status = three ? (int)fmi3EnterEventMode(it) : (int)fmi2EnterEventMode(it); break;
    case 1: status = three ? (int)fmi3EnterContinuousTimeMode(it) : (int)fmi2EnterContinuousTimeMode(it); break;
    case 2: status = three ? (int)fmi3UpdateDiscreteStates(it, flag, flag + 1, flag + 2, flag + 3, flag + 4, &time)
                           : (int)fmi2NewDiscreteStates(it, &info); break;
    case 3: time = number(), status = three ? (int)fmi3SetTime(it, time) : (int)fmi2SetTime(it, time); break;
    case 4: status = three ? (int)fmi3GetContinuousStates(it, x, size) : (int)fmi2GetContinuousStates(it, x, size);
        if (size) x[next() % size] += 0.1 * number();
        if (!status) status = three ? (int)fmi3SetContinuousStates(it, x, size) : (int)fmi2SetContinuousStates(it, x, size);
        break;
    case 5: status = three ? (int)fmi3GetContinuousStateDerivatives(it, x, size) : (int)fmi2GetDerivatives(it, x, size); break;
    case 6: status = three ? (int)fmi3GetNominalsOfContinuousStates(it, x, size) : (int)fmi2GetNominalsOfContinuousStates(it, x, size); break;
    case 7: status = three ? (int)fmi3GetEventIndicators(it, x, size - n) : (int)fmi2GetEventIndicators(it, x, size - n); break;
    default: status = three ? (int)fmi3CompletedIntegratorStep(it, true, flag, flag + 1)
                            : (int)fmi2CompletedIntegratorStep(it, 1, &flag2, &stop2);
    }
    free(x);
    return status;
}

static int of_modes(int three, void *it) {
    switch (next() % 6) {
    case 0: return three ? (int)fmi3Terminate(it) : (int)fmi2Terminate(it);
    case 1: return three ? (int)fmi3Reset(it) : (int)fmi2Reset(it);
    case 2: return three ? (int)fmi3SetDebugLogging(it, true, 0, NULL) : (int)fmi2SetDebugLogging(it, 1, 0, NULL);
    case 3: case 4:
        if (three) return fmi3EnterInitializationMode(it, false, 0.0, next() % 4 ? 0.0 : number(), false, 0.0);
        (void)fmi2SetupExperiment(it, 0, 0.0, next() % 4 ? 0.0 : number(), 0, 0.0);
        return fmi2EnterInitializationMode(it);
    default: return three ? (int)fmi3ExitInitializationMode(it) : (int)fmi2ExitInitializationMode(it);
    }
}

static void one_sequence(const char *token, const char *folder) {
    int three = next() % 2, exchanged = next() % 2;
    fmi2CallbackFunctions callbacks = {hear2, calloc, free, NULL, NULL};
    if (!(next() % 64)) token = "another";
    fmu *f = !three ? fmi2Instantiate("one", exchanged ? fmi2ModelExchange : fmi2CoSimulation, token, folder, &callbacks, 0, 1)
             : exchanged ? fmi3InstantiateModelExchange("one", token, folder, false, true, NULL, hear3)
                         : fmi3InstantiateCoSimulation("one", token, folder, false, true, false, false, NULL, 0, NULL, hear3, NULL);
    states s = {{NULL, NULL, NULL}, NULL, 0};
    bool flag[3], ready = next() % 4;
    double last;
    if (ready && f) { /* most begin as they should */
        if (three) fmi3EnterInitializationMode(f, false, 0.0, 0.0, false, 0.0), fmi3ExitInitializationMode(f);
        else fmi2SetupExperiment(f, 0, 0.0, 0.0, 0, 0.0), fmi2EnterInitializationMode(f), fmi2ExitInitializationMode(f);
        if (exchanged && next() % 4) fmi3EnterContinuousTimeMode(f);
    }
    for (int k = 0; k < LENGTH; k++, calls++) {
        void *it = next() % 64 ? f : NULL;
        long before = said;
        int kind = (int)(next() % 16), status;
        if (kind < 4) status = of_values(three, it, f);
        else if (kind < 8) status = exchanged ? of_exchange(three, it, f) : three
            ? (int)fmi3DoStep(it, moment(f), span(), false, flag, flag + 1, next() % 32 ? flag + 2 : NULL, &last)
            : (int)fmi2DoStep(it, moment(f), span(), 0);
        else if (kind < 11) status = of_states(three, it, &s);
        else if (kind < 13) status = of_exchange(three, it, f);
        else if (kind < 15) status = of_modes(three, it);
        else status = three ? (int)fmi3GetOutputDerivatives(it, NULL, 0, NULL, NULL, 0) : (int)fmi2CancelStep(it);
        refused += status > 1;
        if (status > 1 && it && said == before && kind < 11 && kind >= 4 && exchanged == 0 && kind < 8) _exit(7); /* silent */
    }
    for (int k = 0; k < 3; k++) fmi3FreeFMUState(f, &s.kept[k]);
    free(s.bytes);
    if (three) fmi3FreeInstance(f);
    else fmi2FreeInstance(f);
}

int main(int count, char **words) {
    if (count < 5) return 2;
    long runs = atol(words[3]), first = count > 5 ? atol(words[5]) : 0;
    uint64_t given = strtoull(words[4], NULL, 10);
    signal(SIGSEGV, crashed), signal(SIGBUS, crashed), signal(SIGFPE, crashed), signal(SIGILL, crashed);
    for (run = first; run < first + runs; run++) {
        seed = mixed(given ^ mixed((uint64_t)run));
        one_sequence(words[1], words[2]);
    }
    printf("%ld sequences, %ld calls, %ld refused, %ld lines in the log\n", runs, calls, refused, said);
    return 0;
}
