/* A training under way: where it stands, and one step further. What is needed to go on is all in
 * the arrays and numbers of `xfi_run`. */
#ifndef XFI_TRAIN_RUN_STATE_H
#define XFI_TRAIN_RUN_STATE_H

#include "train/objective.h"

typedef struct xfi_run {
    xfi_objective *objective; /* borrowed, as `options` is, with its defaults filled in */
    const xf_train_options *options;
    int64_t n_parameters;
    double *gradient; /* [P] scratch */

    double *theta, *m, *v;   /* [P] parameters and moments */
    double *kept;            /* [P] the best start of this stage, or the end of the one before */
    int64_t stage, start;    /* the training is done when stage == n_stages */
    int64_t epoch;           /* epochs done of this start */
    xf_stage_report current; /* of this start */
    xf_stage_report *stages; /* [n_stages] of the stages' best starts so far */
    xf_train_record *records;
    int64_t n_records, capacity;
} xfi_run;

/* The beginning. Errors: XF_ERR_MEMORY (nothing to clear). */
xf_status xfi_run_new(xfi_run *out, xfi_objective *objective, const xf_train_options *options,
                      xf_error *error);

void xfi_run_clear(xfi_run *run);

static inline int xfi_run_is_done(const xfi_run *run) {
    return run->stage == run->options->n_stages;
}

/* Share of the epochs that is done. */
double xfi_run_share(const xfi_run *run);

/* One epoch of Adam or one round of L-BFGS. Errors: XF_ERR_DATA (the loss or J is not finite),
 * XF_ERR_MEMORY, XF_ERR_CANCELLED by the progress function; the run can be saved after all of them.
 */
xf_status xfi_run_advance(xfi_run *run, xf_error *error);

/* Room for `n` records in all. Returns 0 if memory runs out. */
int xfi_run_reserve(xfi_run *run, int64_t n);

#endif
