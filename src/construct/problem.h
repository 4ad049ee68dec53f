/* What a construction works on: the data, the format and a few statistics.
 * Immutable once prepared. */
#ifndef XFI_CONSTRUCT_PROBLEM_H
#define XFI_CONSTRUCT_PROBLEM_H

#include "num/format.h"

#include <exactformer/build.h>

typedef struct xfi_problem {
    const xf_dataset *data;
    const xf_build_options *options;
    xfi_format format;
    int threads;        /* >= 1 */
    int all_single;     /* every m_j = 1 */
    int y_exponent;     /* the targets written are y = data->y 2^-y_exponent, exactly */
    const double *y;    /* [M][d] */
    double *scaled_y;   /* owned; NULL if y_exponent is 0 */
    double unit;        /* power of two with |x| unit <= 1 for every input value */
    double *max_abs;    /* [d] largest |x_k| */
    double *half_range; /* [d] (max x_k - min x_k) / 2 */
    /* Not NULL: every sequence is one token, row origin_row[j] of origin->x, and there is to be
       no attention (resnet.h). */
    const xf_dataset *origin;
    const int64_t *origin_row; /* [n_sequences] */
} xfi_problem;

/* Gather the statistics. Errors: XF_ERR_INFEASIBLE (a value is not a number of the
 * format), XF_ERR_MEMORY. `problem` keeps pointers to data and options. */
xf_status xfi_problem_init(xfi_problem *problem, const xf_dataset *data,
                           const xf_build_options *options, xf_error *error);
void xfi_problem_clear(xfi_problem *problem);

/* Divide the targets by 2^exponent. Returns 0 and changes nothing if some target would
 * lose a bit; sets *status on an allocation failure. */
int xfi_problem_scale_targets(xfi_problem *problem, int exponent, xf_status *status,
                              xf_error *error);

/* May this front end or writer be used? (Was it asked for, or nothing?) */
int xfi_problem_wants_front(const xfi_problem *problem, const char *name);
int xfi_problem_wants_writer(const xfi_problem *problem, const char *name);

/* Threads for a pass over the tokens: one if there are few. */
int xfi_problem_threads(const xfi_problem *problem);

/* Call the progress callback. XF_ERR_CANCELLED if it asks to stop. */
xf_status xfi_problem_progress(const xfi_problem *problem, const char *phase, double done,
                               xf_error *error);

#endif
