/* librtmbs: mechanism files, inputs, steps, outputs and states. See rtmbs.h. */
#include "mechanism.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(RTMBS_V3) && defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOGDI
#define NOUSER /* it has a type INPUT */
#include <windows.h>
#endif
#ifndef RTMBS_TARGET
#define RTMBS_TARGET "unknown"
#endif

#define WORD 8
#define HEADER 16                 /* words */
#define MOST_BYTES ((int64_t)1 << 31)
#define MOST_PORTS ((int64_t)1 << 24)
#define ALIGNED 64
#define FORMAT 1
#define BEYOND 1e100              /* as rtmbs.core.bounds */
#define MOST_STEPS ((int64_t)1 << 53)
#define ROUNDING 1e-6             /* of a step: what a span may miss a whole number of steps by */
#define MOST_ADVANCED 1e6         /* steps of one communication step */
#define SMALLEST 1e-3             /* of a step: the shortest part that is taken */
static const char MAGIC[WORD] = {'R', 'T', 'M', 'B', 'S', 0, 'M', 'F'};
static const char STATE_MAGIC[WORD] = {'R', 'T', 'M', 'B', 'S', 0, 'S', '3'};

/* words of the header */
enum { H_MAGIC, H_FORMAT, H_LAYOUT, H_SIZE, H_CHECKSUM, H_EXTENTS, H_LEAVES, H_SCALARS, H_PORTS, H_TEXT, H_CONTENT,
       H_START, H_TIMED, H_MODEL, H_TOKEN, H_RESERVED };

static rtmbs_mechanism *refuse(char *error, size_t size, const char *text, const char *what) {
    if (error && size) snprintf(error, size, text, what);
    return NULL;
}

static int64_t word_at(const char *bytes, int64_t index) {
    int64_t word;
    memcpy(&word, bytes + index * WORD, WORD);
    return word;
}

static uint64_t checksum_of(const char *bytes, int64_t words) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < words; i++) {
        uint64_t word = i == H_CHECKSUM ? 0 : (uint64_t)word_at(bytes, i);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 29;
    }
    return sum;
}

static int64_t padded(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

/* Numbers of an array from its extents; -1 when they are negative or too many. */
static int64_t numbers_of(const char *extents, int rank) {
    int64_t product = 1;
    int zero = 0;
    for (int k = 0; k < rank; k++) {
        int64_t extent = word_at(extents, k);
        if (extent < 0 || extent > MOST_BYTES) return -1;
        if (extent == 0) zero = 1;
        else if (product > MOST_BYTES / extent) return -1;
        else product *= extent;
    }
    return zero ? 0 : product;
}

/* Places of the parts of a file, in bytes. */
typedef struct { int64_t extents, flags, scalars, ports, text, content, end, arena, state; } parts;

static const char *find_parts(const char *bytes, size_t count, parts *at) {
    if (count < HEADER * WORD || count % WORD || count > (size_t)MOST_BYTES) return "its size";
    if (memcmp(bytes, MAGIC, WORD)) return "its first bytes";
    if (word_at(bytes, H_FORMAT) != FORMAT) return "the version of its format";
    if ((uint64_t)word_at(bytes, H_LAYOUT) != (uint64_t)LAYOUT) return "the version of rtmbs that wrote it";
    if ((uint64_t)word_at(bytes, H_SIZE) != count) return "its size";
    if ((uint64_t)word_at(bytes, H_CHECKSUM) != checksum_of(bytes, (int64_t)count / WORD)) return "its checksum";
    int64_t ranks = 0;
    for (int l = 0; l < LEAF_COUNT; l++) ranks += RTMBS_LEAVES[l].rank;
    if (word_at(bytes, H_EXTENTS) != ranks || word_at(bytes, H_LEAVES) != LEAF_COUNT) return "the number of its arrays";
    if (word_at(bytes, H_SCALARS) != SCALAR_COUNT) return "the number of its scalars";
    int64_t ports = word_at(bytes, H_PORTS), text = word_at(bytes, H_TEXT), left = (int64_t)count;
    if (ports < 0 || ports > MOST_PORTS || text < WORD || text > left || text % WORD) return "the number of its ports";
    at->extents = HEADER * WORD;
    at->flags = at->extents + ranks * WORD;
    at->scalars = at->flags + LEAF_COUNT * WORD;
    at->ports = at->scalars + SCALAR_COUNT * WORD;
    at->text = at->ports + ports * (int64_t)sizeof(rtmbs_port);
    at->content = at->text + text;
    if (at->content > left || bytes[at->content - 1] != 0) return "the place of its text";
    at->end = at->content, at->arena = 0, at->state = 0;
    int64_t extents = at->extents;
    for (int l = 0; l < LEAF_COUNT; l++) {
        const rtmbs_leaf *leaf = &RTMBS_LEAVES[l];
        int64_t numbers = numbers_of(bytes + extents, leaf->rank), flag = word_at(bytes, at->flags / WORD + l);
        if (numbers < 0 || (flag != 0 && flag != 1)) return leaf->name;
        if (leaf->storage != CONSTANT && leaf->kind != 'f' && flag) return leaf->name;
        if (leaf->storage != SCRATCH && !flag && numbers > left / leaf->bytes) return leaf->name; /* zeros: no longer than the file */
        extents += leaf->rank * WORD;
        if (flag) at->end += padded(numbers * leaf->bytes, WORD);
        if (leaf->storage == STATE) at->state += numbers * leaf->bytes;
        else at->arena += padded(numbers * leaf->bytes + WORD, ALIGNED);
        if (at->end > left || at->arena > MOST_BYTES || at->state > MOST_BYTES) return leaf->name;
    }
    return at->end == left ? NULL : "its size";
}

static const char *check_ports(const rtmbs_mechanism *it) {
    for (int64_t p = 0; p < it->port_count; p++) {
        const rtmbs_port *port = &it->ports[p];
        if (port->kind < PARAMETER || port->kind > OUTPUT || port->ramp < 0 || port->ramp > 1) return "a port";
        if (port->name < 0 || port->name >= it->text_bytes || port->unit < 0 || port->unit >= it->text_bytes)
            return "the name of a port";
        int64_t most = port->kind == OUTPUT ? EXTENT(it, L_outputs_values, 0) : EXTENT(it, L_u, 0);
        if (port->place < 0 || port->place >= most) return "the place of a port";
        if (p && (port->kind == OUTPUT) < (it->ports[p - 1].kind == OUTPUT)) return "the order of its ports";
    }
    return NULL;
}

/* Put every array of a file into the arena, and write addresses, sizes, extents and strides into the words. */
static void place_arrays(rtmbs_mechanism *it, const char *bytes, const parts *at, char *arena) {
    int64_t extents = at->extents, content = at->content, state = 0;
    for (int l = 0; l < LEAF_COUNT; l++) {
        const rtmbs_leaf *leaf = &RTMBS_LEAVES[l];
        int64_t numbers = numbers_of(bytes + extents, leaf->rank), size = numbers * leaf->bytes, stride = leaf->bytes;
        char *place = leaf->storage == STATE ? it->state + state : arena;
        if (leaf->storage == STATE) state += size;
        else arena += padded(size + WORD, ALIGNED);
        it->words[leaf->word] = (int64_t)(intptr_t)place;
        it->words[leaf->word + 1] = numbers;
        for (int k = 0; k < leaf->rank; k++) it->words[leaf->word + 2 + k] = word_at(bytes + extents, k);
        for (int k = leaf->rank - 1; k >= 0; k--) {
            it->words[leaf->word + 2 + leaf->rank + k] = stride;
            stride *= it->words[leaf->word + 2 + k];
        }
        if (word_at(bytes, at->flags / WORD + l)) {
            memcpy(place, bytes + content, (size_t)size);
            content += padded(size, WORD);
        }
        extents += leaf->rank * WORD;
    }
}

/* Whether the processor has the instructions of x86-64-v3, where the kernels are made of them, and the system keeps them. */
static int runs_here(void) {
#if defined(RTMBS_V3) && defined(__x86_64__)
    const unsigned first = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, MOVBE, OSXSAVE, AVX, F16C */
    const unsigned seventh = 1u << 3 | 1u << 5 | 1u << 8;                        /* BMI1, AVX2, BMI2 */
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & seventh) != seventh) return 0;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && c & 1u << 5; /* LZCNT */
#else
    return 1;
#endif
}

rtmbs_mechanism *rtmbs_load_memory(const void *given, size_t count, char *error, size_t size) {
    const char *bytes = given, *wrong;
    parts at;
    if (!runs_here()) return refuse(error, size, "this library is for processors with AVX2, target %s; export for x86_64_v2-linux", RTMBS_TARGET);
    if (!bytes) return refuse(error, size, "no mechanism file was given%s", "");
    if ((wrong = find_parts(bytes, count, &at)))
        return refuse(error, size, "not a mechanism file of this library: %s is not what it must be", wrong);
    int64_t ports = word_at(bytes, H_PORTS) * (int64_t)sizeof(rtmbs_port), text = word_at(bytes, H_TEXT);
    int64_t head = padded(sizeof(rtmbs_mechanism), ALIGNED), words = padded(WORD_COUNT * WORD, ALIGNED);
    int64_t state = padded(at.state, ALIGNED), total = head + words + at.arena + 2 * state + ports + text + ALIGNED;
    char *memory = calloc(1, (size_t)total);
    if (!memory) return refuse(error, size, "no memory for a mechanism%s", "");
    rtmbs_mechanism *it = (rtmbs_mechanism *)memory;
    it->words = (int64_t *)(memory + head);
    char *arena = memory + head + words;
    it->state = arena + at.arena, it->first = it->state + state, it->state_bytes = at.state;
    it->ports = (const rtmbs_port *)(it->first + state), it->port_count = word_at(bytes, H_PORTS);
    it->text = it->first + state + ports, it->text_bytes = text;
    memcpy(it->first + state, bytes + at.ports, (size_t)ports);
    memcpy(it->first + state + ports, bytes + at.text, (size_t)text);
    place_arrays(it, bytes, &at, arena);
    for (int k = 0; k < SCALAR_COUNT; k++) it->words[RTMBS_SCALARS[k]] = word_at(bytes, at.scalars / WORD + k);
    int64_t start = word_at(bytes, H_START), model = word_at(bytes, H_MODEL), token = word_at(bytes, H_TOKEN);
    memcpy(&it->file_start, &start, WORD);
    it->start = it->base = it->file_start, it->checksum = (uint64_t)word_at(bytes, H_CHECKSUM), it->memory = (size_t)total;
    it->timed = word_at(bytes, H_TIMED) != 0;
    wrong = model < 0 || model >= text || token < 0 || token >= text ? "the place of its name" : NULL;
    if (!wrong && !isfinite(it->start)) wrong = "its start";
    if (!wrong && it->timed != (EXTENT(it, L_signals_slot, 0) > 0)) wrong = "the number of its functions of time";
    if (!wrong) wrong = check_ports(it);
    if (!wrong) wrong = rtmbs_check_tables(it);
    if (wrong) {
        refuse(error, size, "a damaged mechanism file: %s holds what no mechanism has", wrong);
        free(memory);
        return NULL;
    }
    it->model = it->text + model, it->token = it->text + token;
    for (int64_t p = 0; p < it->port_count; p++) it->output_count += it->ports[p].kind == OUTPUT;
    it->input_count = it->port_count - it->output_count;
    memcpy(it->first, it->state, (size_t)it->state_bytes);
    return it;
}

/* A path is UTF-8 on every system, as FMI has it. On Windows, bytes that are not UTF-8 are taken in the code page. */
static FILE *opened(const char *path) {
#if defined(_WIN32)
    wchar_t wide[4096];
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, 4096)) return _wfopen(wide, L"rb");
#endif
    return fopen(path, "rb");
}

rtmbs_mechanism *rtmbs_load(const char *path, char *error, size_t size) {
    FILE *file = path ? opened(path) : NULL;
    if (!file) return refuse(error, size, "the mechanism file %s cannot be opened", path ? path : "NULL");
    long length = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    char *bytes = length < 0 || fseek(file, 0, SEEK_SET) ? NULL : malloc((size_t)length + 1);
    size_t count = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
    fclose(file);
    rtmbs_mechanism *it = NULL;
    if (!bytes || count != (size_t)length) refuse(error, size, "the mechanism file %s cannot be read", path);
    else it = rtmbs_load_memory(bytes, count, error, size);
    free(bytes);
    return it;
}

void rtmbs_free(rtmbs_mechanism *it) { free(it); }

void rtmbs_reset(rtmbs_mechanism *it) {
    memcpy(it->state, it->first, (size_t)it->state_bytes);
    it->start = it->base = it->file_start, it->steps = it->counted = 0, it->current = it->read = 0;
}

/* ---- inputs and outputs: settable ports come first in a file, outputs behind them --------------------------------- */

static int find(const rtmbs_mechanism *it, const char *name, int64_t first, int64_t last) {
    for (int64_t p = first; name && p < last; p++)
        if (!strcmp(it->text + it->ports[p].name, name)) return (int)(p - first);
    return -1;
}
int rtmbs_input(const rtmbs_mechanism *it, const char *name) { return find(it, name, 0, it->input_count); }
int rtmbs_output(const rtmbs_mechanism *it, const char *name) { return find(it, name, it->input_count, it->port_count); }
int rtmbs_input_count(const rtmbs_mechanism *it) { return (int)it->input_count; }
int rtmbs_output_count(const rtmbs_mechanism *it) { return (int)it->output_count; }

static const rtmbs_port *input_port(const rtmbs_mechanism *it, int k) {
    return k >= 0 && k < it->input_count ? &it->ports[k] : NULL;
}
static const rtmbs_port *output_port(const rtmbs_mechanism *it, int k) {
    return k >= 0 && k < it->output_count ? &it->ports[it->input_count + k] : NULL;
}
const char *rtmbs_input_name(const rtmbs_mechanism *it, int k) {
    const rtmbs_port *port = input_port(it, k);
    return port ? it->text + port->name : NULL;
}
const char *rtmbs_output_name(const rtmbs_mechanism *it, int k) {
    const rtmbs_port *port = output_port(it, k);
    return port ? it->text + port->name : NULL;
}
const char *rtmbs_input_unit(const rtmbs_mechanism *it, int k) {
    const rtmbs_port *port = input_port(it, k);
    return port ? it->text + port->unit : NULL;
}
const char *rtmbs_output_unit(const rtmbs_mechanism *it, int k) {
    const rtmbs_port *port = output_port(it, k);
    return port ? it->text + port->unit : NULL;
}

int rtmbs_set_input(rtmbs_mechanism *it, int k, double value) {
    const rtmbs_port *port = input_port(it, k);
    if (!port) return RTMBS_BAD_HANDLE;
    if (!(fabs(value) <= BEYOND)) return RTMBS_BAD_VALUE;
    double *u = DOUBLES(it, L_u), *target = DOUBLES(it, L_target);
    if (port->ramp) {
        if (value != u[port->place]) rtmbs_kernel_end_balances(it->words);
    } else if (u[port->place] != value) {
        u[port->place] = value;
        it->current = it->read = 0;
    }
    target[port->place] = value;
    return 0;
}

double rtmbs_input_value(const rtmbs_mechanism *it, int k) {
    const rtmbs_port *port = input_port(it, k);
    return port ? DOUBLES(it, L_target)[port->place] : NAN;
}

/* Let what is read be of the inputs now; a step begins with what it ended at, whether somebody looks or not. */
static int follow(rtmbs_mechanism *it) {
    if (it->current) return 0;
    size_t n = 8 * (size_t)EXTENT(it, L_zdd, 0), m = 8 * (size_t)EXTENT(it, L_lam, 0), ns = 8 * (size_t)EXTENT(it, L_sd, 0);
    memcpy(DOUBLES(it, L_seen_zdd), DOUBLES(it, L_zdd), n);
    memcpy(DOUBLES(it, L_seen_lam), DOUBLES(it, L_lam), m);
    memcpy(DOUBLES(it, L_seen_sd), DOUBLES(it, L_sd), ns);
    const double *u = DOUBLES(it, L_u), *begun = DOUBLES(it, L_begun_u);
    int64_t k = 0, nu = EXTENT(it, L_u, 0);
    while (k < nu && u[k] == begun[k]) k++;
    if (k < nu) {
        int32_t status = rtmbs_kernel_follow(it->words);
        if (status) return status < 0 ? RTMBS_KERNEL : status;
    }
    it->current = 1;
    return 0;
}

static int evaluate(rtmbs_mechanism *it) {
    int status = follow(it);
    if (status || it->read) return status;
    if (rtmbs_kernel_outputs(it->words) < 0) return RTMBS_KERNEL;
    it->read = 1;
    return 0;
}

double rtmbs_output_value(rtmbs_mechanism *it, int k) {
    const rtmbs_port *port = output_port(it, k);
    if (!port || evaluate(it)) return NAN;
    return DOUBLES(it, L_outputs_values)[port->place];
}

int rtmbs_read_outputs(rtmbs_mechanism *it, double *values) {
    int status = evaluate(it);
    for (int k = 0; !status && k < it->output_count; k++)
        values[k] = DOUBLES(it, L_outputs_values)[it->ports[it->input_count + k].place];
    return status;
}

/* ---- steps and states ---------------------------------------------------------------------------------------------- */

double rtmbs_step_size(const rtmbs_mechanism *it) {
    double h;
    memcpy(&h, &it->words[W_settings_h], WORD);
    return h;
}
double rtmbs_time(const rtmbs_mechanism *it) { return it->base + (double)it->counted * rtmbs_step_size(it); }
int64_t rtmbs_steps(const rtmbs_mechanism *it) { return it->steps; }

int rtmbs_set_start(rtmbs_mechanism *it, double time) {
    if (!isfinite(time) || it->steps || (it->timed && time != it->file_start)) return RTMBS_BAD_VALUE;
    it->start = it->base = time;
    return 0;
}

int rtmbs_taken(int status) {
    return status == RTMBS_CONVERGED || (status >= RTMBS_UNFINISHED && status <= RTMBS_NEAR);
}

static double *number(rtmbs_mechanism *it, int word) { return (double *)(void *)&it->words[word]; }

int rtmbs_step(rtmbs_mechanism *it, int64_t count) {
    int worst = RTMBS_CONVERGED;
    if (count < 0 || count > MOST_STEPS - it->steps) return RTMBS_BAD_COUNT;
    double h = rtmbs_step_size(it), *clock = DOUBLES(it, L_clock);
    for (int64_t k = 0; k < count; k++) {
        clock[0] = it->base + (double)it->counted * h, clock[1] = it->base + (double)(it->counted + 1) * h;
        int status = rtmbs_kernel_step(it->words);
        if (status < 0) status = RTMBS_KERNEL;
        if (!rtmbs_taken(status)) return status;
        it->steps++, it->counted++, it->current = it->read = 0;
        if (status > worst) worst = status;
    }
    return worst;
}

/* Penalty factors and step of another size, as rtmbs.integrators.contract.penalty_factors makes them. */
static void set_step_size(rtmbs_mechanism *it, double h) {
    double *alpha = DOUBLES(it, L_alpha), *mass = DOUBLES(it, L_settings_mass), c = *number(it, W_penalty);
    for (int64_t r = 0; c > 0.0 && r < EXTENT(it, L_alpha, 0); r++) alpha[r] = c * 4.0 / (h * h) * mass[r];
    *number(it, W_settings_h) = h;
}

int rtmbs_advance(rtmbs_mechanism *it, double span) {
    double h = rtmbs_step_size(it), now = rtmbs_time(it), whole = span / h;
    if (!(span > 0.0) || !(whole <= MOST_ADVANCED) || !(now + span > now)) return RTMBS_BAD_VALUE;
    double last = floor((now + span - it->base) / h + 0.5), end = it->base + last * h;
    if (fabs(now + span - end) <= ROUNDING * h && (int64_t)last > it->counted)
        return rtmbs_step(it, (int64_t)last - it->counted);
    int64_t count = (int64_t)ceil(whole - ROUNDING);
    if (!(span / (double)count >= SMALLEST * h) || !(now + span / (double)count > now)) return RTMBS_BAD_VALUE;
    it->base = now, it->counted = 0;
    set_step_size(it, span / (double)count);
    int status = rtmbs_step(it, count);
    double reached = rtmbs_time(it);
    set_step_size(it, h);
    it->base = rtmbs_taken(status) ? now + span : reached, it->counted = 0;
    return status;
}

typedef struct { char magic[WORD]; uint64_t mechanism; double start, base; int64_t steps, counted; } state_head;

size_t rtmbs_state_size(const rtmbs_mechanism *it) { return sizeof(state_head) + (size_t)it->state_bytes; }

void rtmbs_get_state(const rtmbs_mechanism *it, void *state) {
    state_head head = {{0}, it->checksum, it->start, it->base, it->steps, it->counted};
    memcpy(head.magic, STATE_MAGIC, WORD);
    memcpy(state, &head, sizeof head);
    memcpy((char *)state + sizeof head, it->state, (size_t)it->state_bytes);
}

int rtmbs_set_state(rtmbs_mechanism *it, const void *state, size_t size) {
    state_head head;
    if (!state || size != rtmbs_state_size(it)) return RTMBS_BAD_STATE;
    memcpy(&head, state, sizeof head);
    if (memcmp(head.magic, STATE_MAGIC, WORD) || head.mechanism != it->checksum || !isfinite(head.start) ||
        !isfinite(head.base) || head.steps < 0 || head.steps > MOST_STEPS || head.counted < 0 || head.counted > head.steps)
        return RTMBS_BAD_STATE;
    memcpy(it->state, (const char *)state + sizeof head, (size_t)it->state_bytes);
    it->start = head.start, it->base = head.base, it->steps = head.steps, it->counted = head.counted;
    it->current = it->read = 0;
    return 0;
}

/* ---- texts and numbers ----------------------------------------------------------------------------------------------- */

const char *rtmbs_status_text(int status) {
    switch (status) {
    case RTMBS_CONVERGED: return "converged";
    case RTMBS_NOT_CONVERGED: return "the step did not converge; take a smaller step";
    case RTMBS_SMALL_PIVOT: return "the Newton matrix is singular; the mechanism is in a singular position";
    case RTMBS_NOT_FINITE: return "a number is not finite or beyond 1e100; look at the inputs";
    case RTMBS_LOOP_OPEN: return "a loop does not close; the mechanism cannot move on this way";
    case RTMBS_UNFINISHED: return "taken: the fixed number of iterations did not meet Newton's test";
    case RTMBS_UNPROJECTED: return "taken: velocities or accelerations violate the loops by more than their bound";
    case RTMBS_UNBALANCED: return "taken: reactions are less accurate than their bound";
    case RTMBS_NEAR: return "taken: the mechanism is near a singular position";
    case RTMBS_HALF_TURN: return "a bushing passed half a turn; let a joint carry large turns";
    case RTMBS_NOT_FOLLOWED: return "no accelerations were found for the changed inputs";
    case RTMBS_KERNEL: return "a kernel failed";
    case RTMBS_DRIVER_JUMP: return "the value or the rate of a driver jumps, which no finite force can follow";
    case RTMBS_SINGULAR: return "the pose is singular: degrees of freedom appear or vanish here";
    case RTMBS_BAD_HANDLE: return "there is no such input or output";
    case RTMBS_BAD_VALUE: return "the value is not finite, beyond 1e100, or cannot be set now";
    case RTMBS_BAD_COUNT: return "the number of steps is negative or too large";
    case RTMBS_BAD_STATE: return "these bytes are no state of this mechanism";
    }
    return "unknown status";
}
const char *rtmbs_version(void) { return RTMBS_VERSION; }
const char *rtmbs_target(void) { return RTMBS_TARGET; }
int rtmbs_abi(void) { return RTMBS_ABI; }
uint64_t rtmbs_checksum(const rtmbs_mechanism *it) { return it->checksum; }
size_t rtmbs_memory(const rtmbs_mechanism *it) { return it->memory; }
const char *rtmbs_model_name(const rtmbs_mechanism *it) { return it->model; }
const char *rtmbs_token(const rtmbs_mechanism *it) { return it->token; }
