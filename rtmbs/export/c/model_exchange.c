/* Model exchange: continuous states of a mechanism, their derivatives, and the chart that the states belong to.
 *
 * States are f independent coordinates, their rates, and states of force laws. The chart says which coordinates are
 * independent: complete pivoting of Phi_z chose them at the pose where the chart was made. Dependent coordinates and rates
 * follow by Newton's iteration from where they are. A turn of three rotation dofs is a vector d from R0, and its rate is
 * T^-1(d) w, T the right Jacobian of the exponential. A chart serves until small independent variations move dependent
 * coordinates by more than STEEP times as much, or a turn is longer than LONG; event mode makes a new one. */
#include "model_exchange.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEEP 8.0
#define LONG 0.3      /* [rad]: Newton's iteration takes turns of dependent coordinates for rates */
#define LONG_FREE 1.5 /* [rad], without loops */
#define NEAR 1e-9     /* relative: how early an importer may come to an event */
#define BEYOND 1e100  /* as rtmbs.core.bounds */
#define DIFFERENCE 1e-3
static const double PLACE[4] = {-2.0, -1.0, 1.0, 2.0}, WEIGHT[4] = {1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0};
enum { OPEN_LOOPS, CLOSED_LOOPS, EVALUATED };

static int64_t *independent(const exchange *x) { return x->l.columns + x->l.rank; }
int64_t exchange_states(const exchange *x) { return 2 * x->l.f + x->l.ns; }

exchange *exchange_new(rtmbs_mechanism *it) {
    size_t bytes = rtmbs_linearise_bytes(it) + 8, order = (size_t)rtmbs_order(it) + 1;
    size_t ports = (size_t)it->port_count + 1;
    exchange *x = calloc(1, sizeof *x);
    char *scratch = malloc(bytes);
    double *numbers = calloc(5 * order + 2 * ports, sizeof(double));
    if (!x || !scratch || !numbers) {
        free(x), free(scratch), free(numbers);
        return NULL;
    }
    linear_lay_out(it, scratch, &x->l, 1);
    x->scratch = scratch, x->numbers = numbers, x->it = it;
    x->at = numbers, x->along = x->at + order, x->here = x->along + order, x->given = x->here + order + ports;
    return x;
}
void exchange_free(exchange *x) {
    if (!x) return;
    free(x->scratch), free(x->numbers), free(x);
}

/* ---- time and the jumps of functions of time ----------------------------------------------------------------------- */

static double next_jump(const exchange *x, double time) {
    const double *jumps = DOUBLES(x->it, L_signals_jump_time);
    double next = INFINITY;
    for (int64_t k = 0; k < EXTENT(x->it, L_signals_jump_time, 0); k++)
        if (jumps[k] > time && jumps[k] < next) next = jumps[k];
    return next;
}

/* Functions of time: before a jump those before it, however close, and behind it those behind. */
static int take_time(exchange *x) {
    rtmbs_mechanism *it = x->it;
    double time = x->time;
    if (!it->timed) return 0;
    if (time >= x->next) time = nextafter(x->next, -INFINITY);
    if (time <= x->jumped) time = nextafter(x->jumped, INFINITY);
    DOUBLES(it, L_clock)[1] = time;
    return rtmbs_kernel_signals(it->words) < 0 ? RTMBS_KERNEL : 0;
}

/* ---- the present state ----------------------------------------------------------------------------------------------- */

/* Close the loops with the chart's factor; where that fails, with one of the present pose. */
static int close_loops(exchange *x) {
    if (x->done >= CLOSED_LOOPS) return 0;
    int status = take_time(x), rank = (int)x->l.rank;
    if (!status) status = linear_close(&x->l);
    for (int turn = 0; status == RTMBS_NOT_FOLLOWED && turn < 2; turn++) {
        if (rtmbs_kernel_loops(x->it->words) < 0) return RTMBS_KERNEL;
        linear_factor(&x->l, 1);
        if (x->l.rank != rank) {
            x->l.rank = rank;
            return RTMBS_SINGULAR;
        }
        status = linear_close(&x->l);
    }
    if (!status) x->done = CLOSED_LOOPS;
    return status;
}

static int evaluate(exchange *x) {
    if (x->done >= EVALUATED) return 0;
    int status = close_loops(x);
    if (!status) status = linear_evaluate(&x->l);
    if (status) return status;
    for (int64_t i = 0; i < x->l.n; i++)
        if (!isfinite(DOUBLES(x->it, L_seen_zdd)[i])) return RTMBS_NOT_FINITE;
    x->it->current = 1, x->it->read = 1, x->done = EVALUATED;
    return 0;
}

/* The first of the three rotation dofs of coordinate i, or -1. */
static int64_t turn_of(const exchange *x, int64_t i) {
    const int64_t *reference = INTEGERS(x->it, L_tables_dofs_reference);
    if (INTEGERS(x->it, L_tables_dofs_kind)[i] != 2) return -1;
    while (reference[i] < 0) i--;
    return i;
}

/* The rate of coordinate i: w + d x w / 2 + b d x (d x w), b = (1 - (|d| / 2) cot(|d| / 2)) / |d|^2 (METHODS 1.16). */
static double coordinate_rate(const exchange *x, int64_t i) {
    const double *z = DOUBLES(x->it, L_z), *zd = DOUBLES(x->it, L_zd);
    int64_t first = turn_of(x, i), c = i - first;
    if (first < 0) return zd[i];
    const double *d = z + first, *w = zd + first;
    double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], half = 0.5 * sqrt(square);
    double b = square < 1e-4 ? 1.0 / 12.0 + square / 720.0 : (1.0 - half / tan(half)) / square;
    double along = d[0] * w[0] + d[1] * w[1] + d[2] * w[2];
    double cross = d[(c + 1) % 3] * w[(c + 2) % 3] - d[(c + 2) % 3] * w[(c + 1) % 3];
    return w[c] + 0.5 * cross + b * (d[c] * along - w[c] * square);
}

void exchange_get_states(const exchange *x, double *values) {
    const int64_t *q = independent(x);
    for (int64_t k = 0; k < x->l.f; k++) {
        values[k] = DOUBLES(x->it, L_z)[q[k]];
        values[x->l.f + k] = DOUBLES(x->it, L_zd)[q[k]];
    }
    memcpy(values + 2 * x->l.f, DOUBLES(x->it, L_s), (size_t)(8 * x->l.ns));
}
int exchange_set_states(exchange *x, const double *values) {
    const int64_t *q = independent(x);
    for (int64_t k = 0; k < exchange_states(x); k++)
        if (!(fabs(values[k]) <= BEYOND)) return RTMBS_BAD_VALUE;
    for (int64_t k = 0; k < x->l.f; k++) {
        DOUBLES(x->it, L_z)[q[k]] = values[k];
        DOUBLES(x->it, L_zd)[q[k]] = values[x->l.f + k];
    }
    memcpy(DOUBLES(x->it, L_s), values + 2 * x->l.f, (size_t)(8 * x->l.ns));
    x->done = OPEN_LOOPS;
    return 0;
}
int exchange_derivatives(exchange *x, double *values) {
    int status = evaluate(x);
    const int64_t *q = independent(x);
    for (int64_t k = 0; !status && k < x->l.f; k++) {
        values[k] = coordinate_rate(x, q[k]);
        values[x->l.f + k] = DOUBLES(x->it, L_seen_zdd)[q[k]];
    }
    if (!status) memcpy(values + 2 * x->l.f, DOUBLES(x->it, L_seen_sd), (size_t)(8 * x->l.ns));
    return status;
}
void exchange_nominals(const exchange *x, double *values) {
    const int64_t *q = independent(x);
    for (int64_t k = 0; k < exchange_states(x); k++) values[k] = 1.0;
    for (int64_t k = 0; k < 2 * x->l.f; k++) {
        double size = DOUBLES(x->it, L_settings_typical)[q[k % x->l.f]];
        if (size > 0.0 && isfinite(size)) values[k] = size;
    }
}
int exchange_output(exchange *x, int64_t k, double *value) {
    int status = evaluate(x);
    if (!status) *value = DOUBLES(x->it, L_outputs_values)[x->it->ports[x->it->input_count + k].place];
    return status;
}
void exchange_set_input(exchange *x, int64_t k, double value) {
    int64_t place = x->it->ports[k].place;
    if (DOUBLES(x->it, L_u)[place] != value) x->done = OPEN_LOOPS;
    DOUBLES(x->it, L_u)[place] = DOUBLES(x->it, L_target)[place] = value;
}
void exchange_set_time(exchange *x, double time) {
    if (time != x->time && x->it->timed) x->done = OPEN_LOOPS;
    x->time = time;
}

/* ---- charts and events ----------------------------------------------------------------------------------------------- */

/* The largest share that a dependent coordinate moves by beside an independent one, both in typical sizes. */
static double steepness(const linear *l) {
    double largest = 0.0, *x = l->work;
    for (int64_t i = l->rank; i < l->n; i++)
        for (int64_t k = l->rank - 1; k >= 0; k--) {
            x[k] = l->P[k * l->n + i];
            for (int64_t j = k + 1; j < l->rank; j++) x[k] -= l->P[k * l->n + j] * x[j];
            x[k] /= l->P[k * l->n + k];
            largest = fmax(largest, fabs(x[k]));
        }
    return largest;
}

int exchange_new_chart(exchange *x) {
    x->done = OPEN_LOOPS;
    if (rtmbs_kernel_commit(x->it->words) < 0 || rtmbs_kernel_loops(x->it->words) < 0) return RTMBS_KERNEL;
    linear_factor(&x->l, 0);
    if (x->l.n - x->l.rank != x->l.f) return RTMBS_SINGULAR;
    linear_sort(independent(x), x->l.f);
    linear_factor(&x->l, 1); /* the columns behind the factor in their new order */
    return 0;
}
int exchange_start(exchange *x, double time) {
    x->time = time, x->jumped = time, x->next = next_jump(x, time);
    int status = exchange_new_chart(x);
    return status ? status : evaluate(x);
}

int exchange_step_done(exchange *x, int *enter) {
    int status = close_loops(x), rank = (int)x->l.rank;
    *enter = 0;
    if (status) return status;
    if (rtmbs_kernel_loops(x->it->words) < 0) return RTMBS_KERNEL;
    linear_factor(&x->l, 1);
    if (x->l.rank != rank) x->l.rank = rank, *enter = 1;
    else if (steepness(&x->l) > STEEP) *enter = 1;
    const double *z = DOUBLES(x->it, L_z), longest = x->l.m ? LONG : LONG_FREE;
    for (int64_t i = 0; i < x->l.n; i++)
        if (turn_of(x, i) == i && z[i] * z[i] + z[i + 1] * z[i + 1] + z[i + 2] * z[i + 2] > longest * longest) *enter = 1;
    return 0;
}

/* In event mode: pass the jumps up to now, and make a chart. */
int exchange_event(exchange *x, int *changed) {
    int status = close_loops(x);
    if (status) return status;
    if (x->time >= x->next - NEAR * fmax(1.0, fabs(x->next)))
        x->jumped = x->next, x->next = next_jump(x, fmax(x->next, x->time));
    *changed = 0;
    for (int64_t k = 0; k < x->l.f; k++) x->l.before[k] = (double)independent(x)[k];
    for (int64_t i = 0; i < x->l.n; i++)
        if (turn_of(x, i) >= 0 && DOUBLES(x->it, L_z)[i] != 0.0) *changed = 1;
    status = exchange_new_chart(x);
    for (int64_t k = 0; !status && k < x->l.f; k++)
        if (x->l.before[k] != (double)independent(x)[k]) *changed = 1;
    return status;
}

/* ---- derivatives along a direction ----------------------------------------------------------------------------------- */

/* Derivatives of the derivatives of states and of outputs along states (`along`) and inputs (`given`), into `here`. */
int exchange_direction(exchange *x) {
    rtmbs_mechanism *it = x->it;
    int64_t order = exchange_states(x), outputs = it->output_count;
    double size = 0.0, *found = x->here;
    int status = evaluate(x);
    if (status) return status;
    exchange_get_states(x, x->at);
    rtmbs_get_state(it, x->l.kept);
    for (int64_t k = 0; k < order; k++) size = fmax(size, fabs(x->along[k]) / fmax(fabs(x->at[k]), 1.0));
    for (int64_t k = 0; k < it->input_count; k++)
        size = fmax(size, fabs(x->given[k]) / fmax(fabs(DOUBLES(it, L_u)[it->ports[k].place]), 1.0));
    memset(found, 0, (size_t)(8 * (order + outputs)));
    double *moved = x->given + it->input_count, *rates = moved + order;
    for (int place = 0; size > 0.0 && !status && place < 4; place++) {
        double step = PLACE[place] * DIFFERENCE / size;
        for (int64_t k = 0; k < order; k++) moved[k] = x->at[k] + step * x->along[k];
        exchange_set_states(x, moved);
        for (int64_t k = 0; k < it->input_count; k++)
            exchange_set_input(x, k, DOUBLES(it, L_u)[it->ports[k].place] + step * x->given[k]);
        x->done = OPEN_LOOPS;
        status = exchange_derivatives(x, rates);
        for (int64_t k = 0; !status && k < order; k++) found[k] += WEIGHT[place] * rates[k] * size / DIFFERENCE;
        for (int64_t k = 0; !status && k < outputs; k++)
            found[order + k] += WEIGHT[place] * DOUBLES(it, L_outputs_values)[it->ports[it->input_count + k].place] * size / DIFFERENCE;
        rtmbs_set_state(it, x->l.kept, rtmbs_state_size(it));
        x->done = OPEN_LOOPS;
    }
    return status;
}

/* ---- the state as bytes: numbers, the chart, the mechanism ------------------------------------------------------------ */

typedef struct { double time, next, jumped; int64_t rank; } exchange_head;

size_t exchange_bytes(const exchange *x) { return sizeof(exchange_head) + (size_t)(8 * x->l.n) + rtmbs_state_size(x->it); }
/* Factor the loops of the present pose; who writes a state and who reads it go on alike, to the bit. */
static int settle(exchange *x) {
    int64_t rank = x->l.rank;
    x->done = OPEN_LOOPS;
    if (rtmbs_kernel_loops(x->it->words) < 0) return 0;
    linear_factor(&x->l, 1);
    x->l.rank = rank;
    return 1;
}
int exchange_write(exchange *x, char *bytes) {
    exchange_head head = {x->time, x->next, x->jumped, x->l.rank};
    memcpy(bytes, &head, sizeof head), bytes += sizeof head;
    memcpy(bytes, x->l.columns, (size_t)(8 * x->l.n)), bytes += 8 * x->l.n;
    rtmbs_get_state(x->it, bytes);
    return settle(x);
}
int exchange_read(exchange *x, const char *bytes) {
    exchange_head head;
    int64_t n = x->l.n;
    memcpy(&head, bytes, sizeof head), bytes += sizeof head;
    if (!isfinite(head.time) || isnan(head.next) || isnan(head.jumped) || head.rank != n - x->l.f) return 0;
    for (int64_t i = 0; i < n; i++) x->l.position[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t column;
        memcpy(&column, bytes + 8 * i, 8);
        if (column < 0 || column >= n || x->l.position[column]++) return 0;
    }
    if (rtmbs_set_state(x->it, bytes + 8 * n, rtmbs_state_size(x->it))) return 0;
    memcpy(x->l.columns, bytes, (size_t)(8 * n));
    x->time = head.time, x->next = head.next, x->jumped = head.jumped, x->l.rank = head.rank;
    return settle(x);
}
