/* The loops of a mechanism as equations for its dependent coordinates: see linearise.c, which has the functions. */
#ifndef RTMBS_LINEAR_H
#define RTMBS_LINEAR_H
#include "mechanism.h"

typedef struct linear {
    rtmbs_mechanism *it;
    int64_t n, m, f, ns, rank, outputs, inputs;
    double *P;           /* (m, n) scaled Phi_z, then its factor: rows and columns in their new order */
    double *row;         /* (m) factor of each row */
    double *before;      /* (n) z at the base point */
    double *zd, *work;   /* (n), (m) */
    double *change;      /* (2 n + ns + outputs) derivative along the present variation: dz, dzdd, dsd, outputs */
    double *found;       /* the same at one place */
    char *kept;          /* the state at the base point */
    int64_t *rows, *columns; /* orders of P: the first `rank` of each are pivots */
    int64_t *position;       /* (n) of each coordinate among the columns */
} linear;

static inline int64_t count_of(const rtmbs_mechanism *it, int leaf) { return EXTENT(it, leaf, 0); }

/* Places of the parts of `scratch`; returns its bytes. */
size_t linear_lay_out(rtmbs_mechanism *it, char *scratch, linear *l, int jacobian);
/* Gauss elimination of Phi_z where the loops were evaluated. It chooses the dependent coordinates by complete pivoting; with
 * `same` it keeps them. They are the first `rank` columns. */
void linear_factor(linear *l, int same);
/* Close positions, then rates, by the dependent coordinates; 0 or a status. */
int linear_close(linear *l);
/* Accelerations, rates of force states and outputs of the present state, behind z in `found`; 0 or a status. */
int linear_evaluate(linear *l);
void linear_sort(int64_t *x, int64_t count);
#endif
