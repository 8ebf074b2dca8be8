/* Linear equations about a state, by differences of order four along independent variations. See rtmbs.h.
 *
 * The loops hold Phi(z, t) = 0 and Phid = 0. Gauss elimination with complete pivoting of the scaled Phi_z chooses the
 * dependent coordinates and the rows that determine them. Each variation moves one independent coordinate, rate, state of
 * a force law or input; the dependent coordinates and rates follow by Newton's iteration with the factor of the base
 * point; accelerations are solved for by the kernel that follows inputs. */
#include "linear.h"
#include <math.h>
#include <string.h>

#define STEP 1e-3    /* of what varies: the error of the formula, STEP^4 / 30, is that of rounding, 1e-16 / STEP */
#define PLACES 4
#define RANK 1e-9    /* of the largest pivot: smaller ones count as zero */
#define CLOSED 1e-13 /* of a typical size: a correction that ends Newton's iteration */
#define TURNS 30
static const double PLACE[PLACES] = {-2.0, -1.0, 1.0, 2.0}, WEIGHT[PLACES] = {1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0};

static int64_t up(int64_t bytes) { return (bytes + 7) / 8 * 8; }

int rtmbs_freedom(const rtmbs_mechanism *it) { return (int)it->words[W_freedom]; }
int rtmbs_order(const rtmbs_mechanism *it) { return 2 * rtmbs_freedom(it) + (int)count_of(it, L_s); }
int rtmbs_chosen_count(const rtmbs_mechanism *it) {
    int count = 0;
    for (int64_t p = 0; p < it->input_count; p++) count += it->ports[p].kind == INPUT;
    return count;
}
int rtmbs_chosen(const rtmbs_mechanism *it, int k) {
    for (int64_t p = 0; p < it->input_count; p++)
        if (it->ports[p].kind == INPUT && k-- == 0) return (int)p;
    return -1;
}

/* Places of the parts of `scratch`; returns its bytes. A derivative along inputs needs no Jacobian. */
size_t linear_lay_out(rtmbs_mechanism *it, char *scratch, linear *l, int jacobian) {
    int64_t n = count_of(it, L_z), m = count_of(it, L_lam), ns = count_of(it, L_s), y = it->output_count, at = 0;
    linear found = {.it = it, .n = n, .m = m, .ns = ns, .outputs = y, .inputs = it->input_count, .f = rtmbs_freedom(it)};
    double **numbers[] = {&found.P, &found.row, &found.before, &found.zd, &found.work, &found.change, &found.found};
    int64_t sizes[] = {jacobian ? m * n : 0, m, n, n, m, 2 * n + ns + y, 2 * n + ns + y};
    for (int k = 0; k < 7; k++) *numbers[k] = (double *)(void *)(scratch + at), at += 8 * sizes[k];
    found.rows = (int64_t *)(void *)(scratch + at), at += 8 * m;
    found.columns = (int64_t *)(void *)(scratch + at), at += 8 * n;
    found.position = (int64_t *)(void *)(scratch + at), at += 8 * n;
    found.kept = scratch + at, at += up((int64_t)rtmbs_state_size(it));
    if (l) *l = found;
    return (size_t)at;
}
size_t rtmbs_linearise_bytes(const rtmbs_mechanism *it) {
    static char none[8];
    return linear_lay_out((rtmbs_mechanism *)(uintptr_t)it, none, NULL, 1);
}
size_t rtmbs_derivative_bytes(const rtmbs_mechanism *it) {
    static char none[8];
    return linear_lay_out((rtmbs_mechanism *)(uintptr_t)it, none, NULL, 0);
}

/* Dense Phi_z at the evaluated pose, times typical sizes of coordinates, each row divided by its largest number. The
 * columns stand in the order of `columns`. */
static void fill_jacobian(linear *l) {
    rtmbs_mechanism *it = l->it;
    for (int64_t i = 0; i < l->n; i++) l->position[l->columns[i]] = i;
    const int64_t *rows = INTEGERS(it, L_tables_closures_row_pointer), *connector = INTEGERS(it, L_tables_closures_connector);
    const int64_t *pointer = INTEGERS(it, L_tables_connectors_pointer), *dof = INTEGERS(it, L_tables_connectors_dof);
    const int64_t *entry = INTEGERS(it, L_tables_closures_entry_pointer);
    const double *Phi_z = DOUBLES(it, L_ws_Phi_z), *typical = DOUBLES(it, L_settings_typical);
    memset(l->P, 0, (size_t)(8 * l->m * l->n));
    for (int64_t c = 0; c < count_of(it, L_tables_closures_connector); c++) {
        int64_t first = pointer[connector[c]], width = pointer[connector[c] + 1] - first, e = entry[c];
        for (int64_t r = rows[c]; r < rows[c + 1]; r++)
            for (int64_t k = 0; k < width; k++, e++) l->P[r * l->n + l->position[dof[first + k]]] += Phi_z[e];
    }
    int64_t loops = count_of(it, L_tables_closures_kind);
    for (int64_t r = loops; r < l->m; r++) l->P[r * l->n + l->position[INTEGERS(it, L_tables_drivers_dof)[r - loops]]] = 1.0;
    for (int64_t r = 0; r < l->m; r++) {
        double largest = 0.0, *p = l->P + r * l->n;
        for (int64_t i = 0; i < l->n; i++) p[i] *= typical[l->columns[i]], largest = fmax(largest, fabs(p[i]));
        l->row[r] = largest > 0.0 ? 1.0 / largest : 1.0;
        for (int64_t i = 0; i < l->n; i++) p[i] *= l->row[r];
    }
}

static void swap_rows(linear *l, int64_t a, int64_t b) {
    int64_t kept = l->rows[a];
    l->rows[a] = l->rows[b], l->rows[b] = kept;
    for (int64_t i = 0; a != b && i < l->n; i++) {
        double number = l->P[a * l->n + i];
        l->P[a * l->n + i] = l->P[b * l->n + i], l->P[b * l->n + i] = number;
    }
}
static void swap_columns(linear *l, int64_t a, int64_t b) {
    int64_t kept = l->columns[a];
    l->columns[a] = l->columns[b], l->columns[b] = kept;
    for (int64_t r = 0; a != b && r < l->m; r++) {
        double number = l->P[r * l->n + a];
        l->P[r * l->n + a] = l->P[r * l->n + b], l->P[r * l->n + b] = number;
    }
}

void linear_factor(linear *l, int same) {
    int64_t n = l->n, last = same ? l->rank : n, most = l->m < last ? l->m : last;
    double first = 0.0;
    for (int64_t r = 0; r < l->m; r++) l->rows[r] = r;
    for (int64_t i = 0; !same && i < n; i++) l->columns[i] = i;
    fill_jacobian(l);
    for (l->rank = 0; l->rank < most; l->rank++) {
        int64_t k = l->rank, pivot_row = k, pivot_column = k;
        for (int64_t r = k; r < l->m; r++)
            for (int64_t i = k; i < last; i++)
                if (fabs(l->P[r * n + i]) > fabs(l->P[pivot_row * n + pivot_column])) pivot_row = r, pivot_column = i;
        double pivot = l->P[pivot_row * n + pivot_column];
        if (k == 0) first = fabs(pivot);
        if (!(fabs(pivot) > RANK * first)) return;
        swap_rows(l, k, pivot_row);
        swap_columns(l, k, pivot_column);
        for (int64_t r = k + 1; r < l->m; r++) {
            double share = l->P[r * n + k] /= pivot;
            for (int64_t i = k + 1; share != 0.0 && i < n; i++) l->P[r * n + i] -= share * l->P[k * n + i];
        }
    }
}

/* Let `values` (dependent ones in coordinates) cancel the residual in row `order` of missed; the largest correction. */
static double correct(linear *l, int order, double *values) {
    const double *missed = DOUBLES(l->it, L_outputs_missed) + order * l->m, *typical = DOUBLES(l->it, L_settings_typical);
    double *x = l->work, largest = 0.0;
    for (int64_t k = 0; k < l->rank; k++) {
        x[k] = -missed[l->rows[k]] * l->row[l->rows[k]];
        for (int64_t j = 0; j < k; j++) x[k] -= l->P[k * l->n + j] * x[j];
    }
    for (int64_t k = l->rank - 1; k >= 0; k--) {
        for (int64_t j = k + 1; j < l->rank; j++) x[k] -= l->P[k * l->n + j] * x[j];
        x[k] /= l->P[k * l->n + k];
    }
    for (int64_t k = 0; k < l->rank; k++) {
        int64_t i = l->columns[k];
        values[i] += typical[i] * x[k];
        largest = fmax(largest, fabs(x[k]));
    }
    return largest;
}

/* Close positions, then rates, by the dependent coordinates. */
int linear_close(linear *l) {
    rtmbs_mechanism *it = l->it;
    double pace = 1.0;
    for (int64_t i = 0; i < l->n; i++) pace = fmax(pace, fabs(DOUBLES(it, L_zd)[i]) / DOUBLES(it, L_settings_typical)[i]);
    for (int order = 0; order < 2 && l->m; order++) {
        double *values = order ? DOUBLES(it, L_zd) : DOUBLES(it, L_z), previous = INFINITY;
        for (int turn = 0; ; turn++) {
            if (rtmbs_kernel_loops(it->words) < 0) return RTMBS_KERNEL;
            double size = correct(l, order, values) / (order ? pace : 1.0);
            if (size <= CLOSED || (size <= 1e3 * CLOSED && size >= 0.5 * previous)) break;
            if (!(size < 1.0) || turn == TURNS) return RTMBS_NOT_FOLLOWED;
            previous = size;
        }
    }
    return 0;
}

/* Accelerations, rates of force states and outputs of the present state in `found`. */
int linear_evaluate(linear *l) {
    rtmbs_mechanism *it = l->it;
    int32_t status = rtmbs_kernel_follow(it->words);
    if (status) return status < 0 ? RTMBS_KERNEL : RTMBS_NOT_FOLLOWED;
    if (rtmbs_kernel_outputs(it->words) < 0) return RTMBS_KERNEL;
    double *at = l->found;
    memcpy(at, DOUBLES(it, L_z), (size_t)(8 * l->n)), at += l->n;
    memcpy(at, DOUBLES(it, L_seen_zdd), (size_t)(8 * l->n)), at += l->n;
    memcpy(at, DOUBLES(it, L_seen_sd), (size_t)(8 * l->ns)), at += l->ns;
    for (int64_t y = 0; y < l->outputs; y++)
        at[y] = DOUBLES(it, L_outputs_values)[it->ports[it->input_count + y].place];
    return 0;
}

enum { COORDINATE, RATE, LAW, GIVEN };

/* What varies with one unit of a coordinate, a rate, a state of a force law or an input, into `change`. */
static int vary(linear *l, int kind, int64_t which) {
    rtmbs_mechanism *it = l->it;
    int64_t length = 2 * l->n + l->ns + l->outputs;
    int slot = kind == GIVEN ? (int)it->ports[which].place : 0;
    double *values = kind == COORDINATE ? DOUBLES(it, L_z) : kind == RATE ? DOUBLES(it, L_zd) : kind == LAW ? DOUBLES(it, L_s) : DOUBLES(it, L_u);
    int64_t place = kind == GIVEN ? slot : which;
    double base = values[place], size = fmax(fabs(base), 1.0);
    if (kind == COORDINATE) size = DOUBLES(it, L_settings_typical)[which];
    if (kind == RATE)
        for (int64_t i = 0; i < l->n; i++) size = fmax(size, fabs(DOUBLES(it, L_zd)[i]));
    memset(l->change, 0, (size_t)(8 * length));
    for (int k = 0; k < PLACES; k++) {
        values[place] = base + PLACE[k] * STEP * size;
        int status = linear_close(l);
        if (!status) status = linear_evaluate(l);
        rtmbs_set_state(it, l->kept, rtmbs_state_size(it));
        if (status) return status;
        for (int64_t j = 0; j < length; j++) l->change[j] += WEIGHT[k] * l->found[j] / (STEP * size);
    }
    return 0;
}

/* The rate of small turns in body axes that coordinate i misses: (omega~ dz)_i for a rotation dof, else 0. */
static double turned(const linear *l, const double *dz, int64_t i) {
    const int64_t *reference = INTEGERS(l->it, L_tables_dofs_reference), *kind = INTEGERS(l->it, L_tables_dofs_kind);
    const double *zd = DOUBLES(l->it, L_zd);
    if (kind[i] != 2) return 0.0;
    int64_t first = i;
    while (reference[first] < 0) first--;
    int64_t a = first + (i - first + 1) % 3, b = first + (i - first + 2) % 3;
    return zd[a] * dz[b] - zd[b] * dz[a];
}

/* Write `change` as a column: of the rates of x, and of the outputs. */
static void write_column(const linear *l, int64_t column, int64_t width, const int64_t *q, double *X, double *Y, int64_t rate) {
    const double *dz = l->change, *dzdd = dz + l->n, *dsd = dzdd + l->n, *dy = dsd + l->ns;
    int64_t f = l->f;
    for (int64_t k = 0; X && k < f; k++) {
        X[k * width + column] = (k == rate ? 1.0 : 0.0) - turned(l, dz, q[k]);
        X[(f + k) * width + column] = dzdd[q[k]];
    }
    for (int64_t k = 0; X && k < l->ns; k++) X[(2 * f + k) * width + column] = dsd[k];
    for (int64_t y = 0; Y && y < l->outputs; y++) Y[y * width + column] = dy[y];
}

static void prepare(linear *l) {
    l->it->current = l->it->read = 0;
    rtmbs_get_state(l->it, l->kept);
}

/* Sort in place, without memory of its own. */
void linear_sort(int64_t *x, int64_t count) {
    for (int64_t i = 1; i < count; i++)
        for (int64_t j = i; j > 0 && x[j] < x[j - 1]; j--) {
            int64_t kept = x[j];
            x[j] = x[j - 1], x[j - 1] = kept;
        }
}

int rtmbs_linearise(rtmbs_mechanism *it, double *A, double *B, double *C, double *D, int *independent, void *scratch) {
    linear l;
    linear_lay_out(it, scratch, &l, 1);
    int status = 0;
    prepare(&l);
    if (rtmbs_kernel_loops(it->words) < 0) return RTMBS_KERNEL;
    linear_factor(&l, 0);
    if (l.n - l.rank != l.f) return RTMBS_SINGULAR;
    int64_t *q = l.columns + l.rank, nx = 2 * l.f + l.ns, nu = rtmbs_chosen_count(it);
    linear_sort(q, l.f);
    for (int64_t k = 0; independent && k < l.f; k++) independent[k] = (int)q[k];
    for (int64_t k = 0; !status && k < l.f; k++)
        if (!(status = vary(&l, COORDINATE, q[k]))) write_column(&l, k, nx, q, A, C, -1);
    for (int64_t k = 0; !status && k < l.f; k++)
        if (!(status = vary(&l, RATE, q[k]))) write_column(&l, l.f + k, nx, q, A, C, k);
    for (int64_t k = 0; !status && k < l.ns; k++)
        if (!(status = vary(&l, LAW, k))) write_column(&l, 2 * l.f + k, nx, q, A, C, -1);
    for (int64_t k = 0; !status && k < nu; k++)
        if (!(status = vary(&l, GIVEN, rtmbs_chosen(it, (int)k)))) write_column(&l, k, nu, q, B, D, -1);
    rtmbs_set_state(it, l.kept, rtmbs_state_size(it));
    return status;
}

int rtmbs_derivative(rtmbs_mechanism *it, const double *seed, double *derivative, void *scratch) {
    linear l;
    linear_lay_out(it, scratch, &l, 0);
    int status = 0;
    prepare(&l);
    double longest = 0.0;
    for (int64_t p = 0; p < it->input_count; p++) {
        double size = fmax(fabs(DOUBLES(it, L_u)[it->ports[p].place]), 1.0);
        if (!it->ports[p].ramp) longest = fmax(longest, fabs(seed[p]) / size);
    }
    for (int64_t y = 0; y < l.outputs; y++) derivative[y] = 0.0;
    for (int k = 0; !status && longest > 0.0 && k < PLACES; k++) {
        for (int64_t p = 0; p < it->input_count; p++)
            if (!it->ports[p].ramp) DOUBLES(it, L_u)[it->ports[p].place] += PLACE[k] * STEP * seed[p] / longest;
        if (!(status = linear_evaluate(&l)))
            for (int64_t y = 0; y < l.outputs; y++)
                derivative[y] += WEIGHT[k] * l.found[2 * l.n + l.ns + y] * longest / STEP;
        rtmbs_set_state(it, l.kept, rtmbs_state_size(it));
    }
    return status;
}
