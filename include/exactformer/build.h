/* Constructing an exact transformer from a data set, without training. */
#ifndef EXACTFORMER_BUILD_H
#define EXACTFORMER_BUILD_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>
#include <exactformer/peers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* XF_RESNET is a baseline without attention: it interpolates every token by itself. */
typedef enum xf_construction { XF_POOLED = 0, XF_PUBLISHED = 1, XF_RESNET = 2 } xf_construction;

/* What `xf_build` makes small among all that it can build. */
typedef enum xf_optimise { XF_OPTIMISE_DEPTH = 0, XF_OPTIMISE_NORM = 1 } xf_optimise;

/* All-zero (or NULL) means: pooled, hardmax, binary64, seed 0, all cores. */
typedef struct xf_build_options {
    xf_construction construction;
    xf_attention attention;
    double tau; /* softmax temperature written into the model; 0: 1 */
    xf_dtype dtype;
    uint64_t seed; /* of the random candidate directions */
    int threads;   /* 0: as many as there are cores */
    xf_optimise optimise;
    int hardmax_only;   /* nonzero: the model need not be exact under softmax (argmax writer) */
    const char *front;  /* NULL: choose; else one of xf_build_fronts() */
    const char *writer; /* NULL: choose; else one of xf_build_writers() */
    int balanced;       /* rescale every neuron by a power of two to the least norm
                           (implied by XF_OPTIMISE_NORM) */
    int no_self_check;  /* nonzero: leave out the final evaluation of every sequence */
    xf_progress_fn progress;
    void *progress_context;
    const xf_peers *peers; /* processes that make this call together, or NULL; the model comes to
                              all of them */
} xf_build_options;

/* What was built. Margins are rigorous lower bounds from the stored weights. */
typedef struct xf_build_report {
    int64_t bound;   /* published bound for the attention in use */
    char front[16];  /* one of xf_build_fronts(), "constant", or "leaders" (published) */
    char writer[16]; /* "constant", "grid" or "sorted" */
    int64_t n_folds;
    int64_t extra_blocks;       /* blocks beyond the writer's regular depth */
    double margin;              /* smallest gap between neighbouring groups over the sum of their
                                   rounding bounds; > 1 proves the front end; INFINITY if M = 1 */
    int64_t margin_sequence[2]; /* the two sequences where it occurs */
    int64_t n_separations;      /* separation blocks (published construction, front end "tree") */
    double collapse_margin; /* published: lower bound of the smallest gap between a token's largest
                               logit and its others; > 0 proves the collapse; INFINITY if
                               every n_j = 1 or there are no logits */
    double tau_max;         /* as xf_model.tau_max */
    int left_out; /* nonzero: writers that read cells, or displacement, were not tried, since they
                     would have taken half the memory; elsewhere the model may be shallower */
    double seconds_construct;
    double seconds_check;
} xf_build_report;

/* NULL-terminated lists of the front ends and writers that can be asked for. */
XF_API const char *const *xf_build_fronts(void);
XF_API const char *const *xf_build_writers(void);

/* Build weights with T(X_j) = Y_j (as sets) for every j, exactly: in real
 * arithmetic with the stored weights, and bit for bit in the model's dtype for every
 * order of summation, with and without FMA (docs/theory.md). Ends with a self-check of
 * every sequence on the dense engine. `report` may be NULL. `out` need not be initialised and is
 * left cleared on failure. The same data, options and seed give the same weights on
 * every machine and for every number of threads, unless one of them is so short of memory that
 * ways of building are left out (left_out in the report); a writer that is named is not left out.
 * XF_RESNET sends every token of X_j to a target of Y_j, the same one wherever the token occurs,
 * such that all of Y_j is reached; where the sequences that share tokens do not allow this, it
 * refuses.
 * Errors: XF_ERR_INFEASIBLE with the two sequences that come closest and what would
 * help; XF_ERR_DATA; XF_ERR_MEMORY; XF_ERR_CANCELLED. */
XF_API xf_status xf_build(xf_model *out, const xf_dataset *data, const xf_build_options *options,
                          xf_build_report *report, xf_error *error);

#ifdef __cplusplus
}
#endif
#endif
