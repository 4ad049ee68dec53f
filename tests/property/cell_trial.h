/* One data set through one writer of cells, and everything that it promises. */
#ifndef XFT_PROPERTY_CELL_TRIAL_H
#define XFT_PROPERTY_CELL_TRIAL_H

#include "property/random_data.h"
#include "property/trial.h"

typedef struct xft_cell_trial {
    int writer; /* index into the table */
    int small_norm;
    int limited; /* nonzero, with small_norm: within the published bound */
    int kinks;   /* nonzero: a front end with kinks */
    xf_dtype dtype;
    uint64_t seed; /* of the construction */
    int n_orders;
    uint64_t order_seed;
} xft_cell_trial;

typedef enum xft_cell_stage {
    XFT_CELL_EXACT,
    XFT_CELL_NONE,    /* no cells */
    XFT_CELL_REFUSED, /* by the writer */
    XFT_CELL_BAD
} xft_cell_stage;

typedef struct xft_cell_verdict {
    xft_cell_stage stage;
    char text[XFT_TEXT_SIZE]; /* what went wrong, or the refusal */
    int64_t n_blocks;
    double norm;
} xft_cell_verdict;

void xft_cell_trial_run(xft_cell_verdict *out, const xft_cell_trial *trial, const xf_dataset *data);

/* As xft_orders_agree, but with hardmax only. */
int xft_hardmax_orders_agree(char *text, const xf_model *model, const xf_dataset *data,
                             int n_orders, uint64_t seed);

/* n_cases data sets, each from one of the families and through one writer; a table is printed.
 * Returns the number of failures: trials that went wrong, and writers that made fewer than
 * n_cases / 40 models. */
int xft_cell_campaign(const xft_family *families, int n_families, int64_t n_cases, xf_dtype dtype);

#endif
