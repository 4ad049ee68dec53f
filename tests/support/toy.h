/* Small random models and data sets for the tests of the engines. */
#ifndef XFT_SUPPORT_TOY_H
#define XFT_SUPPORT_TOY_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>

/* Which parts of A or V are there. */
enum { XFT_ALPHA = 1, XFT_RANK_ONE = 2, XFT_FULL = 4 };

typedef struct xft_toy {
    int64_t n_blocks;
    int64_t d;
    int64_t width;
    xf_dtype dtype;
    xf_attention attention;
    xf_order order;
    int causal;
    double tau;   /* 0: 1 */
    int A;        /* XFT_ flags */
    int V;        /* XFT_ flags; every third block has V = 0 all the same */
    int integers; /* nonzero: weights in {-1, 0, 1} and tokens in -2 .. 2 */
    uint64_t seed;
} xft_toy;

/* Values stay moderate for a few dozen blocks. Aborts the test if memory runs out. */
void xft_toy_model(xf_model *out, const xft_toy *toy);

/* n_sequences inputs of 1 .. n_max tokens; a token may be repeated if `integers`. No targets. */
void xft_toy_inputs(xf_dataset *out, const xft_toy *toy, int64_t n_sequences, int64_t n_max);

/* Make the rows of out [T][d], without repetitions, the targets. */
void xft_toy_targets(xf_dataset *data, const double *out);

void xft_toy_dataset_clear(xf_dataset *data);

/* Are the values equal, up to the sign of zero, NaN equal to NaN? */
int xft_same_values(const double *a, const double *b, int64_t n);

/* Room for the output of a run, [T][d]. */
double *xft_toy_output(const xf_dataset *data);

#endif
