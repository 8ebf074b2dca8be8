/* Mutated mechanism files, and calls in any order on those that load, for AddressSanitizer:
 *
 *     fuzz FILE COUNT SEED [FIRST]
 *
 * Changes words, bytes and lengths of a mechanism file, gives most of them the checksum that belongs to them, loads each
 * from memory, and calls what a host may call in any order. One file of eight stays whole, so that only the calls are
 * odd. AddressSanitizer sees the C sources only. So that the kernels are seen too, every array of a loaded mechanism
 * moves beside a page that nobody may touch: behind its end or before its start. A run that crashes says its number, and
 * so does one that takes more than LIMIT seconds of processor time; `fuzz FILE 1 SEED NUMBER` repeats it. Prints how many
 * files and calls there were, and the longest time of a file in microseconds. */
#define _GNU_SOURCE
#include "model_exchange.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define LIMIT 10 /* [s] of processor time for a file and the calls on it */
#define ROOM (64 * PAGE) /* of an array; a larger one stays where it is */

static uint64_t seed;
static long run, calls, moved;
static uint64_t next(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}
static uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u, x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u, x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) | 1;
}
static char *guarded;
/* Tell the run, and the array beside which memory was touched. */
static void crashed(int signal, siginfo_t *found, void *context) {
    (void)context;
    char text[160];
    size_t each = ROOM + PAGE, from = (size_t)((char *)found->si_addr - guarded), leaf = from / each;
    const char *near = leaf >= LEAF_COUNT ? "the last array" : RTMBS_LEAVES[leaf].name;
    if ((char *)found->si_addr < guarded || leaf > LEAF_COUNT) near = "no array", from = 0;
    int length = snprintf(text, sizeof text, "signal %d in run %ld: a page before %s, at %zu\n", signal, run, near, from % each);
    if (write(2, text, (size_t)length) < 0) _exit(5);
    _exit(4);
}
static void late(int signal) {
    (void)signal;
    char text[80];
    int length = snprintf(text, sizeof text, "run %ld takes more than %d s\n", run, LIMIT);
    if (write(2, text, (size_t)length) < 0) _exit(5);
    _exit(7);
}
/* Processor time up to now [us]. */
static double spent(void) {
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return 1e6 * (double)at.tv_sec + 1e-3 * (double)at.tv_nsec;
}
/* A guarded room for every array. */
static char *rooms(void) {
    static char *first;
    if (first) return first;
    size_t each = ROOM + PAGE;
    first = mmap(NULL, LEAF_COUNT * each + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (first == MAP_FAILED) exit(6);
    for (size_t l = 0; l <= LEAF_COUNT; l++) mprotect(first + l * each, PAGE, PROT_NONE);
    return first;
}
/* Move every array but those of the state, which C copies as a whole, to an end of its room. */
static void guard(rtmbs_mechanism *it, char *first) {
    for (int l = 0; l < LEAF_COUNT; l++) {
        const rtmbs_leaf *leaf = &RTMBS_LEAVES[l];
        size_t size = (size_t)it->words[leaf->word + 1] * (size_t)leaf->bytes;
        if (leaf->storage == STATE || size > ROOM) continue;
        char *begin = first + (size_t)l * (ROOM + PAGE) + PAGE;
        char *place = next() % 4 ? begin + (ROOM - size) / 8 * 8 : begin;
        memcpy(place, DATA(it, l), size);
        it->words[leaf->word] = (int64_t)(intptr_t)place, moved++;
    }
}
static void seal(char *bytes, size_t size) {
    uint64_t sum = 0xcbf29ce484222325u, word;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        memcpy(&word, bytes + i, 8);
        if (i == 32) word = 0;
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 29;
    }
    if (size >= 40) memcpy(bytes + 32, &sum, 8);
}
static uint64_t odd(void) {
    static const uint64_t known[] = {0, 1, ~(uint64_t)0, 1u << 31, (uint64_t)1 << 62, (uint64_t)1 << 63, 2, 1000000};
    uint64_t kind = next() % 4;
    return kind == 0 ? known[next() % 8] : kind == 1 ? next() % 64 : kind == 2 ? (uint64_t)-(int64_t)(next() % 8) : next();
}
/* Linearise and differentiate into memory of exactly the size that is told. */
static void linearise(rtmbs_mechanism *it) {
    size_t x = (size_t)rtmbs_order(it), u = (size_t)rtmbs_chosen_count(it), y = (size_t)rtmbs_output_count(it);
    size_t inputs = (size_t)rtmbs_input_count(it), bytes = rtmbs_linearise_bytes(it), less = rtmbs_derivative_bytes(it);
    double *A = malloc(8 * x * x + 1), *B = malloc(8 * x * u + 1), *C = malloc(8 * y * x + 1), *D = malloc(8 * y * u + 1);
    int *independent = malloc(sizeof(int) * (size_t)rtmbs_freedom(it) + 1);
    double *seed = calloc(inputs + 1, 8), *found = malloc(8 * y + 1);
    char *scratch = malloc(bytes), *other = malloc(less);
    for (size_t k = 0; k < inputs; k++) seed[k] = (double)(next() % 3) - 1.0;
    if (A && B && C && D && independent && scratch) (void)rtmbs_linearise(it, A, B, C, D, independent, scratch);
    if (seed && found && other) (void)rtmbs_derivative(it, seed, found, other);
    free(A), free(B), free(C), free(D), free(independent), free(seed), free(found), free(scratch), free(other);
}
/* What an importer of model exchange may call, with vectors of exactly the size that is told. */
static void exchanged(rtmbs_mechanism *it) {
    exchange *x = exchange_new(it);
    size_t n = x ? (size_t)exchange_states(x) : 0, bytes = x ? exchange_bytes(x) : 0;
    double *values = calloc(n, 8), output;
    char *kept = malloc(bytes);
    int flag = 0, good = x && values && kept && !exchange_start(x, rtmbs_time(it)) && exchange_write(x, kept);
    for (int k = 0; good && k < 8; k++) {
        switch (next() % 9) {
        case 0: exchange_get_states(x, values); break;
        case 1: if (n) values[next() % n] += (double)(next() % 2048) / 1024.0 - 1.0; (void)exchange_set_states(x, values); break;
        case 2: (void)exchange_derivatives(x, values); break;
        case 3: if (rtmbs_output_count(it)) (void)exchange_output(x, (int64_t)(next() % (uint64_t)rtmbs_output_count(it)), &output); break;
        case 4: (void)exchange_step_done(x, &flag); break;
        case 5: (void)exchange_event(x, &flag); break;
        case 6: if (next() % 2) kept[next() % bytes] ^= 1; good = exchange_read(x, kept) && exchange_write(x, kept); break;
        case 7: if (n) x->along[next() % n] = 1.0; (void)exchange_direction(x); break;
        default: exchange_set_time(x, (double)(next() % 1024) / 512.0); exchange_nominals(x, values); break;
        }
    }
    free(values), free(kept);
    exchange_free(x);
}
static void call_anything(rtmbs_mechanism *it, char *state) {
    for (int k = 0; k < 12; k++, calls++) {
        int handle = (int)(next() % 12) - 2;
        double value;
        uint64_t bits = next();
        memcpy(&value, &bits, 8);
        switch (next() % 12) {
        case 0: rtmbs_set_input(it, handle, next() % 2 ? value : 1.0); break;
        case 1: case 2: rtmbs_step(it, (int64_t)(next() % 4) - 1); break;
        case 3: (void)rtmbs_output_value(it, handle); break;
        case 4: rtmbs_get_state(it, state); break;
        case 5: if (next() % 2) state[next() % rtmbs_state_size(it)] ^= 1; rtmbs_set_state(it, state, rtmbs_state_size(it)); break;
        case 6: rtmbs_reset(it); break;
        case 9: rtmbs_advance(it, next() % 2 && !(value > 5e-3 && value < 1e20) ? value : 1e-3 * (double)(next() % 4096) / 1024.0); break;
        case 10: linearise(it); break;
        case 11: exchanged(it); break;
        case 7: (void)rtmbs_input_name(it, handle); (void)rtmbs_output_unit(it, handle); (void)rtmbs_input_value(it, handle); break;
        default: (void)rtmbs_set_start(it, value); break;
        }
    }
}

static void mutate(char *bytes, size_t length) {
    for (uint64_t left = 1 + next() % 3; left > 0 && length >= 48; left--) {
        size_t place = 40 + next() % (length - 47) / 8 * 8;
        uint64_t word = odd();
        if (place + 8 > length) continue;
        if (next() % 3) memcpy(bytes + place, &word, 8);
        else bytes[place + next() % 8] ^= (char)(1 << next() % 8);
    }
    if (next() % 8) seal(bytes, length);
}

int main(int count, char **words) {
    FILE *file = count >= 4 ? fopen(words[1], "rb") : NULL;
    if (!file) return 2;
    static char whole[1 << 22];
    size_t size = fread(whole, 1, sizeof whole, file);
    fclose(file);
    long runs = atol(words[2]), first = count > 4 ? atol(words[4]) : 0, loaded = 0, untouched = 0;
    uint64_t given = strtoull(words[3], NULL, 10);
    double longest = 0.0;
    long slowest = first;
    guarded = rooms();
    struct sigaction on_crash = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO};
    const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (int k = 0; k < 4; k++) sigaction(crashes[k], &on_crash, NULL);
    signal(SIGPROF, late);
    for (run = first; run < first + runs; run++) {
        double begun = spent();
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = LIMIT}}, NULL);
        seed = mixed(given ^ mixed((uint64_t)run));
        int sound = next() % 8 == 0;
        size_t length = sound || next() % 50 ? size : next() % (size + 1);
        char *bytes = malloc(length + 1), error[256] = "";
        memcpy(bytes, whole, length);
        if (!sound) mutate(bytes, length);
        rtmbs_mechanism *it = rtmbs_load_memory(bytes, length, error, sizeof error);
        free(bytes);
        if (!it) {
            if (!error[0] || sound) return 3;
            continue;
        }
        loaded++, untouched += sound;
        guard(it, guarded);
        char *state = calloc(1, rtmbs_state_size(it));
        call_anything(it, state);
        free(state);
        rtmbs_free(it);
        if (spent() - begun > longest) longest = spent() - begun, slowest = run;
    }
    printf("%ld files, %ld loaded, %ld whole, %ld calls, %ld arrays guarded, longest %.0f us in run %ld\n", runs, loaded,
           untouched, calls, moved, longest, slowest);
    return 0;
}
