/* Seeded synthetic data sets. */
#ifndef EXACTFORMER_GENERATE_H
#define EXACTFORMER_GENERATE_H

#include <exactformer/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How target (and, where it makes sense, input) values are rounded. */
typedef enum xf_grid {
    XF_GRID_FULL = 0, /* full binary64 significands */
    XF_GRID_F32,      /* binary32 values */
    XF_GRID_F16,      /* binary16 values */
    XF_GRID_INTEGER   /* integers of modest size */
} xf_grid;

/* Zero in any size means the kind's default. */
typedef struct xf_generate_options {
    const char *kind; /* one of xf_generate_kinds */
    int64_t n_sequences;
    int64_t d;
    int64_t n_min, n_max; /* tokens a sequence */
    int64_t m_min, m_max; /* targets a sequence, capped by n_j */
    int64_t vocabulary;   /* size of the shared vocabulary, for the kinds that have one */
    xf_grid grid;         /* of the targets */
    xf_grid input_grid;   /* of the inputs */
    double scale, offset; /* inputs become scale * x + offset; scale 0 means 1 */
    uint64_t seed;
} xf_generate_options;

/* NULL-terminated list of kinds, and a one-line description of each. */
XF_API const char *const *xf_generate_kinds(void);
XF_API const char *xf_generate_describe(const char *kind);

/* Make a data set that passes xf_dataset_check. The same options give the same
 * values on every machine. Errors: XF_ERR_ARGUMENT (unknown kind, sizes that the kind
 * cannot have: the message says which), XF_ERR_MEMORY. */
XF_API xf_status xf_generate(xf_dataset *out, const xf_generate_options *options, xf_error *error);

#ifdef __cplusplus
}
#endif
#endif
