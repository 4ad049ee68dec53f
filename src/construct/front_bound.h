/* The certificate of a front end: where every token lands, and how far any evaluation
 * order can be from there. */
#ifndef XFI_CONSTRUCT_FRONT_BOUND_H
#define XFI_CONSTRUCT_FRONT_BOUND_H

#include "num/format.h"

#include <exactformer/dataset.h>

/* For the first n_front blocks of `model` (identity attentions but in the last, whose
 * logits are 0 and whose V writes the pooled scalar of one coordinate onto k1) find, for
 * every token i, t[i] and E[i] such that coordinate k1 after these blocks lies in
 * [t - E, t + E]: in exact arithmetic with the stored weights on the data as they are,
 * and in the format's arithmetic on the data rounded to it, for every order of
 * summation, with and without FMA, with 1/n rounded or divided.
 *
 * t, E [T]. Numeric class: enclosure (docs/theory.md, T-front). Errors: XF_ERR_ARGUMENT if the
 * blocks have another shape, XF_ERR_MEMORY. */
xf_status xfi_front_bound(double *t, double *E, const xf_model *model, int64_t n_front, int k1,
                          const xf_dataset *data, int threads, xf_error *error);

#endif
