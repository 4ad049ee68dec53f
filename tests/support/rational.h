/* Test-only engine: the model in rational arithmetic (FLINT fmpq), exactness in sense (R). */
#ifndef XFT_SUPPORT_RATIONAL_H
#define XFT_SUPPORT_RATIONAL_H

#include <exactformer/run.h>

/* Read the stored weights and inputs as exact numbers, evaluate every sequence without any
 * rounding and compare the output sets with the targets. *n_exact counts the sequences that
 * are equal. Hardmax averages exact ties; softmax is possible only where A = 0 or V = 0 (the
 * uniform mean). Numeric class: exact. Meant for small models: cost grows with T L w d and the
 * number of nonzero weights. FLINT aborts if memory runs out.
 * Returns XF_OK (all equal), XF_NOT_EXACT (the error names the first sequence), or
 * XF_ERR_ARGUMENT (softmax with A != 0 and V != 0: unsupported). */
xf_status xft_rational_verify(int64_t *n_exact, const xf_model *model, const xf_dataset *data,
                              xf_error *error);

#endif
