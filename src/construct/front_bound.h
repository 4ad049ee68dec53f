/* The certificate of a front end: where every token lands, and how far any evaluation
 * order can be from there. */
#ifndef XFI_CONSTRUCT_FRONT_BOUND_H
#define XFI_CONSTRUCT_FRONT_BOUND_H

#include "num/format.h"

#include <exactformer/dataset.h>
#include <exactformer/peers.h>

/* What is to be bounded: the first n_front blocks of a model, on the data. */
typedef struct xfi_front_view {
    const xf_model *model;
    int64_t n_front;
    int k1;
    const xf_dataset *data;
    const xf_peers *peers; /* who bound their own sequences, or NULL */
    int threads;
} xfi_front_view;

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

/* The same for all tokens of all peers. Errors: XF_ERR_IO, too. */
xf_status xfi_front_bound_shared(double *t, double *E, const xfi_front_view *front,
                                 xf_error *error);

/* Gets t and E of the tokens of sequences first .. last - 1, in the order of the tokens, once for
 * each such run of this process's sequences, from several threads at once; thread < front->threads.
 * Returns 0 if memory is short. */
typedef int (*xfi_bound_fn)(void *context, int thread, int64_t first, int64_t last, const double *t,
                            const double *E);

/* The same without arrays for all tokens: hand out t and E tile by tile. */
xf_status xfi_front_bound_tiles(const xfi_front_view *front, xfi_bound_fn take, void *context,
                                xf_error *error);

#endif
