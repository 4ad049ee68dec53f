/* Making a data set that fails as small and as round as possible, while it still fails. */
#ifndef XFT_PROPERTY_SHRINK_H
#define XFT_PROPERTY_SHRINK_H

#include <exactformer/dataset.h>

/* Does the failure at hand still happen with this data set? */
typedef int (*xft_fails_fn)(void *context, const xf_dataset *data);

typedef struct xft_shrink {
    xft_fails_fn fails;
    void *context;
    int keep_coordinates; /* nonzero: never drop a coordinate */
    int keep_values;      /* nonzero: never round a value */
    double seconds;       /* give up after so long; 0: 20 */
} xft_shrink;

/* Drop sequences, targets, tokens and coordinates, then round values, again and again until
 * nothing more goes. *data, which must fail, is replaced by the result, which
 * passes xf_dataset_check and fails. Returns how many data sets were tried. */
int64_t xft_shrink_data(xf_dataset *data, const xft_shrink *how);

#endif
