/* The loss of a family on a data set, and its gradient. */
#ifndef XFI_TRAIN_OBJECTIVE_H
#define XFI_TRAIN_OBJECTIVE_H

#include "train/network.h"

/* Owns copies of the data in the arithmetic's type, and the memory of every thread. */
typedef struct xfi_objective {
    xfi_network net;
    const xfi_arithmetic *arithmetic;
    int64_t n_sequences;
    int64_t n_tokens;
    xfi_sequence *sequences; /* [N] */
    void *tokens;            /* all x, then all y */
    int threads;
    xfi_arena *arenas; /* [threads] */
    int64_t n_chunks;  /* the sequences are cut into so many pieces, whatever the threads */
    double *totals;    /* [n_chunks] */
    void *slopes;      /* [n_chunks][P] reals */
    void *theta;       /* [P] reals */
} xfi_objective;

/* Tokens times parameters: an evaluation takes a nanosecond or two for each. */
double xfi_objective_work(const xfi_objective *objective);

/* `family` has passed its check; the data set has its d, and targets. `threads` 0: all cores.
 * Errors: XF_ERR_MEMORY (nothing to clear). */
xf_status xfi_objective_new(xfi_objective *out, const xf_family *family, const xf_dataset *data,
                            xf_dtype dtype, int threads, xf_error *error);

void xfi_objective_clear(xfi_objective *objective);

/* Loss at theta [P] and its gradient [P], NULL if not wanted. The same bits for every number
 * of threads. INFINITY if an output is not finite; then the gradient means nothing. */
double xfi_objective_loss(xfi_objective *objective, const double *theta, double *gradient);

/* |theta|^2 [n]. */
double xfi_norm_squared(const double *theta, int64_t n);

#endif
