/* Lifts: a slab raises one token, wherever it occurs in some sequences, by H along coordinate 0.
 * What the separation tree and the pooled construction's last resort are made of.
 *
 * Token values are numbered: two tokens with equal coordinates have the same number. Positions are
 * pairs (value, class of the sequence); tokens of one position move together. */
#ifndef XFI_CONSTRUCT_LIFT_H
#define XFI_CONSTRUCT_LIFT_H

#include "construct/problem.h"

/* Tokens while they are being lifted and displaced. */
typedef struct xfi_crowd {
    const xf_dataset *data;
    double scale;      /* z = scale x at the start */
    double *z;         /* [T][d], owned */
    int64_t *value;    /* [T], owned */
    int64_t *class;    /* [N], owned; 0 at the start */
    int64_t n_classes; /* 1 at the start */
    int64_t *order;    /* [T] scratch: tokens by (class, value, token), owned */
} xfi_crowd;

/* Returns 0 if memory is short. O(T d log T). */
int xfi_crowd_init(xfi_crowd *out, const xfi_problem *problem);
void xfi_crowd_clear(xfi_crowd *crowd);

/* Sort `order`, and put the first token of every position into first [T]; returns how many. */
int64_t xfi_crowd_positions(const xfi_crowd *crowd, int64_t *first);

typedef struct xfi_lift {
    int64_t value; /* the position lifted */
    int64_t class;
    double *u; /* [d] small integers, owned */
    double s;  /* <u, z> there */
    double r;  /* half-width of the plateau, a power of two; nothing else within 3 r */
    double H;
} xfi_lift;

void xfi_lift_clear(xfi_lift *lift);

/* The most isolated position whose token is in exactly one of the sequences j and k of one class; H
 * is left 0, r is 0 if there is none that is isolated. Returns 0 if memory is short. */
int xfi_lift_choose(xfi_lift *out, const xfi_crowd *crowd, int64_t j, int64_t k);

/* Lift the tokens in `z`, which may be another array than crowd->z. */
void xfi_lift_apply(const xfi_lift *lift, const xfi_crowd *crowd, double *z);

/* Four neurons of a fresh block, whose inputs are the tokens divided by eta. Weights are rounded to
 * the format. */
void xfi_lift_emit(const xfi_lift *lift, const xfi_format *format, xf_model *model, int64_t block,
                   double eta);

/* The least distance (largest coordinate difference) of n points [n][d]; stops below `enough`.
 * Returns -1 if memory is short. O(n log n) unless many are close together. */
double xfi_least_distance(const double *points, int64_t n, int64_t d, double enough);

#endif
