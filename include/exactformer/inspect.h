/* Measuring a model: size, norms and margins. */
#ifndef EXACTFORMER_INSPECT_H
#define EXACTFORMER_INSPECT_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xf_inspection {
    int64_t blocks;
    int64_t bound;              /* published bound for the model's attention */
    int64_t parameters_dense;   /* numbers in the interchange layout */
    int64_t parameters_nonzero; /* those that are not zero, identity scalars (1) included */
    double nonzero_ratio;       /* parameters_nonzero over the number of target values, d M */
    int cell_bits;              /* of the cells that the writer reads, 0 if it reads none */
    double l2_norm_squared;     /* sum of squares of all of them */
    double max_abs_weight;
    int has_margin; /* nonzero if a data set was given and the margin is known */
    double margin;  /* as xf_build_report.margin */
    int64_t margin_sequence[2];
    int has_collapse;       /* nonzero if a data set was given and the model collapses tokens by
                               logits (published construction); then, found again from the weights: */
    int64_t n_separations;  /* blocks that separate sequences */
    double collapse_margin; /* as xf_build_report.collapse_margin; <= 0: not proved */
    double tau_max;         /* as xf_model.tau_max; 0: not proved */
} xf_inspection;

/* Measure `model`. `data` may be NULL; with a data set the certificate of the front
 * end is computed again from the stored weights.
 * Errors: XF_ERR_ARGUMENT (d differs), XF_ERR_MEMORY. */
XF_API xf_status xf_inspect(xf_inspection *out, const xf_model *model, const xf_dataset *data,
                            xf_error *error);

/* Sum of squares of all weights of blocks first .. first + count - 1 (identity scalars included),
 * for example of one phase. O(blocks d (w + d)). */
XF_API double xf_norm_squared(const xf_model *model, int64_t first, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
