/* What a kind of synthetic data set has to provide, and the state it draws from.
 *
 * A kind draws raw tokens one at a time. The frame (generate.c) applies scale, offset and
 * grid, draws again when a token repeats in its sequence or a set repeats in the data, and so
 * keeps the conditions of xf_dataset_check. To add a kind, write its token functions and add
 * a line to the table in generate_kinds.c. */
#ifndef XFI_GENERATE_GENERATOR_H
#define XFI_GENERATE_GENERATOR_H

#include <exactformer/generate.h>

#include "base/rng.h"

typedef struct xfi_generator xfi_generator;

/* Write token i of sequence j to out[i*d .. i*d+d-1]. `out` points into the matrix of all
 * raw inputs, or of all targets, so the tokens drawn before lie before this one. */
typedef void (*xfi_token_fn)(xfi_generator *generator, int64_t j, int64_t i, double *out);

/* How many inputs sequence j has. */
typedef int64_t (*xfi_size_fn)(xfi_generator *generator, int64_t j);

/* Fill in or refuse sizes that depend on each other, after the defaults. `given` is what
 * the caller asked for, zeros included. */
typedef xf_status (*xfi_sizes_fn)(xfi_generator *generator, const xf_generate_options *given,
                                  xf_error *error);

enum {
    XFI_KIND_VOCABULARY = 1, /* inputs come from generator->vocabulary */
    XFI_KIND_POOL = 2,       /* targets come from generator->pool, so sequences share them */
    XFI_KIND_M_IS_N = 4      /* m_j = n_j */
};

typedef struct xfi_kind {
    const char *name;
    const char *description;
    int flags;
    int64_t n_sequences, n_min, n_max, m_min, m_max; /* defaults */
    xfi_sizes_fn sizes;                              /* or NULL */
    xfi_size_fn size;                                /* NULL: uniform in n_min .. n_max */
    xfi_token_fn input;
    xfi_token_fn target;
} xfi_kind;

struct xfi_generator {
    const xfi_kind *kind;
    xf_generate_options options; /* without zeros, but for offset and seed */
    xf_dataset *data;
    double *raw;        /* [T][d] inputs before scale, offset and grid */
    double *vocabulary; /* [options.vocabulary][d], raw */
    double *pool;       /* [n_pool][d] */
    int64_t n_pool;
    int64_t reach; /* of the integers that a kind draws */
    xfi_rng size_rng, input_rng, target_rng;
};

/* The table, closed by an entry without a name. */
extern const xfi_kind xfi_kinds[];

/* NULL if there is no such kind. */
const xfi_kind *xfi_kind_find(const char *name);

/* Token functions that several kinds use. */
void xfi_input_gaussian(xfi_generator *generator, int64_t j, int64_t i, double *out);
void xfi_target_gaussian(xfi_generator *generator, int64_t j, int64_t i, double *out);

/* Kinds whose tokens are drawn one by one, and kinds whose sequences hang together. */
void xfi_input_uniform(xfi_generator *generator, int64_t j, int64_t i, double *out);
void xfi_target_uniform(xfi_generator *generator, int64_t j, int64_t i, double *out);
void xfi_input_anisotropic(xfi_generator *generator, int64_t j, int64_t i, double *out);
xf_status xfi_sizes_lattice(xfi_generator *generator, const xf_generate_options *given,
                            xf_error *error);
void xfi_input_lattice(xfi_generator *generator, int64_t j, int64_t i, double *out);
void xfi_target_lattice(xfi_generator *generator, int64_t j, int64_t i, double *out);
void xfi_target_hard_floats(xfi_generator *generator, int64_t j, int64_t i, double *out);
void xfi_target_pool(xfi_generator *generator, int64_t j, int64_t i, double *out);
void xfi_target_permutation(xfi_generator *generator, int64_t j, int64_t i, double *out);

xf_status xfi_sizes_vocabulary(xfi_generator *generator, const xf_generate_options *given,
                               xf_error *error);
void xfi_input_vocabulary(xfi_generator *generator, int64_t j, int64_t i, double *out);
xf_status xfi_sizes_subsets(xfi_generator *generator, const xf_generate_options *given,
                            xf_error *error);
void xfi_input_subsets(xfi_generator *generator, int64_t j, int64_t i, double *out);
xf_status xfi_sizes_nested(xfi_generator *generator, const xf_generate_options *given,
                           xf_error *error);
int64_t xfi_size_nested(xfi_generator *generator, int64_t j);
void xfi_input_nested(xfi_generator *generator, int64_t j, int64_t i, double *out);
int64_t xfi_size_mirrored(xfi_generator *generator, int64_t j);
void xfi_input_mirrored(xfi_generator *generator, int64_t j, int64_t i, double *out);
xf_status xfi_sizes_equal_means(xfi_generator *generator, const xf_generate_options *given,
                                xf_error *error);
void xfi_input_equal_means(xfi_generator *generator, int64_t j, int64_t i, double *out);

#endif
