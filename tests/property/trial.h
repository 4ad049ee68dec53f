/* One data set through everything that the library promises about it. */
#ifndef XFT_PROPERTY_TRIAL_H
#define XFT_PROPERTY_TRIAL_H

#include <exactformer/exactformer.h>

enum { XFT_TEXT_SIZE = 1024, XFT_PATH_SIZE = 512 };

typedef struct xft_trial {
    xf_build_options build;
    int may_refuse;
    int must_refuse;
    int regular;  /* as in xft_family */
    int on_grid;  /* as in xft_family */
    int n_orders; /* of summation */
    uint64_t order_seed;
    int rebuild;           /* nonzero: build again, with one thread and with two */
    const char *directory; /* save and load there; NULL: do not */
} xft_trial;

typedef enum xft_stage {
    XFT_EXACT,
    XFT_REFUSED,
    XFT_BAD_REFUSAL, /* wrong status, no message, or refused where it must not be */
    XFT_BAD_MODEL,   /* malformed, or not the metadata of this data set */
    XFT_BAD_DEPTH,
    XFT_BAD_ENGINE, /* not exact on the dense or blas engine */
    XFT_BAD_REAL,   /* not exact in rational arithmetic */
    XFT_BAD_ORDER,  /* not exact, or other bits, in some order of summation */
    XFT_BAD_REBUILD,
    XFT_BAD_FILE
} xft_stage;

typedef struct xft_verdict {
    xft_stage stage;
    char text[XFT_TEXT_SIZE]; /* what went wrong, or the refusal */
    int64_t n_blocks;
    xf_build_report report;
} xft_verdict;

void xft_trial_run(xft_verdict *out, const xft_trial *trial, const xf_dataset *data);

int xft_is_failure(const xft_verdict *verdict);

/* Are all weights and sizes of the two models the same bits? */
int xft_same_models(const xf_model *a, const xf_model *b);

/* Evaluate in n_orders random orders (FMA, attention and temperature vary) and compare
 * with the targets, and with `expected` [T][d] (may be NULL) bit for bit up to the sign of
 * zero. Returns 0 and a text if one differs. */
int xft_orders_agree(char *text, const xf_model *model, const xf_dataset *data,
                     const double *expected, int n_orders, uint64_t seed);

#endif
