/* Inner interface of librtmbs: a loaded mechanism, its arrays and their checks. layout.h is made with the kernels. */
#ifndef RTMBS_MECHANISM_H
#define RTMBS_MECHANISM_H
#include "rtmbs.h"
#include "layout.h"

enum { CONSTANT, SCRATCH, STATE };              /* where an array lives */
enum { PARAMETER, INPUT, OUTPUT };              /* what a port is */

typedef struct {
    int word;    /* first word in the struct of words: address, size, extents, strides */
    int bytes;   /* of an element */
    int rank;
    int storage;
    char kind;   /* f, i, u or b */
    const char *name;
} rtmbs_leaf;

typedef struct {
    int64_t name, unit; /* offsets into the text */
    int64_t place;      /* slot of an input, number of an output */
    int64_t kind;
    int64_t ramp;       /* 1: the value is that at the end of the next step */
    double start;
} rtmbs_port;

struct rtmbs_mechanism {
    int64_t *words;         /* what the kernels are given */
    char *state;            /* all arrays of the state, one after the other */
    char *first;            /* a copy of it: the start */
    int64_t state_bytes;
    const rtmbs_port *ports;
    int64_t port_count, input_count, output_count;
    const char *text;
    int64_t text_bytes;
    const char *model, *token;
    uint64_t checksum;
    size_t memory;
    double start, file_start;
    int64_t steps;          /* taken in all */
    double base;            /* now is base + counted h */
    int64_t counted;
    int64_t current;        /* 1: what is read of accelerations and multipliers is of the present state */
    int64_t read;           /* 1: outputs are those of the present state */
    int64_t timed;          /* 1: there are functions of time */
};

/* Address and extents of an array. */
#define DATA(it, leaf) ((void *)(intptr_t)(it)->words[RTMBS_LEAVES[leaf].word])
#define EXTENT(it, leaf, k) ((it)->words[RTMBS_LEAVES[leaf].word + 2 + (k)])
#define DOUBLES(it, leaf) ((double *)DATA(it, leaf))
#define INTEGERS(it, leaf) ((int64_t *)DATA(it, leaf))

extern const rtmbs_leaf RTMBS_LEAVES[LEAF_COUNT];

/* Entry kernels, made from the same text as those of Python. */
int32_t rtmbs_kernel_step(const int64_t *words);
int32_t rtmbs_kernel_follow(const int64_t *words);
int32_t rtmbs_kernel_end_balances(const int64_t *words);
int32_t rtmbs_kernel_loops(const int64_t *words);
int32_t rtmbs_kernel_outputs(const int64_t *words);
int32_t rtmbs_kernel_signals(const int64_t *words);
int32_t rtmbs_kernel_commit(const int64_t *words);

/* NULL when every shape and every index of a loaded mechanism is valid, else the name of an array that is not. */
const char *rtmbs_check_tables(const rtmbs_mechanism *it);
#endif
