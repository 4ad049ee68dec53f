/* Running a model and checking its output against the targets. */
#ifndef EXACTFORMER_RUN_H
#define EXACTFORMER_RUN_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>
#include <exactformer/peers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* XF_ENGINE_DENSE is the definition of the bits: every sum in index order, no
 * contraction, products with zero included. XF_ENGINE_SPARSE gives the same bits for
 * every input, and costs no more than what the blocks do to a token (docs/engines.md).
 * XF_ENGINE_BLAS is the same formula with the sums left to CBLAS; on exact models the
 * outputs agree on the data set. The library (OpenBLAS) is loaded when this engine is first asked
 * for, and starts the threads that OPENBLAS_NUM_THREADS allows, though one is all that is used;
 * where it is absent the engine fails with XF_ERR_IO, where it finds no room with XF_ERR_MEMORY. */
typedef enum xf_engine { XF_ENGINE_SPARSE = 0, XF_ENGINE_DENSE = 1, XF_ENGINE_BLAS = 2 } xf_engine;

/* All-zero (or NULL) means: sparse engine, attention and tau as in the model, all cores. */
typedef struct xf_run_options {
    xf_engine engine;
    int override_attention; /* nonzero: use `attention` in place of the model's */
    xf_attention attention;
    double tau;  /* > 0: use it in place of the model's tau */
    int threads; /* 0: as many as there are cores */
    xf_progress_fn progress;
    void *progress_context;
    const xf_peers *peers; /* xf_verify: processes that make this call together, or NULL */
} xf_run_options;

/* T(X_j) for every sequence of `input` (targets ignored): out [T][d], row-major, one
 * row for each input token, owned by the caller. Computed in the model's dtype and
 * widened, the same for any number of threads. Numeric class: evaluation in index order
 * (XF_ENGINE_SPARSE, XF_ENGINE_DENSE).
 * Errors: XF_ERR_ARGUMENT (d differs), XF_ERR_DATA (an input value is beyond the
 * range of binary32 for an F32 model), XF_ERR_MEMORY, XF_ERR_CANCELLED. */
XF_API xf_status xf_run(double *out, const xf_model *model, const xf_dataset *input,
                        const xf_run_options *options, xf_error *error);

/* A model made ready, to run any number of inputs without looking at all weights again. */
typedef struct xf_runner xf_runner;

/* The model must outlive the runner and stay unchanged. Release with xf_runner_free.
 * Cost: one pass over the weights. Errors: XF_ERR_ARGUMENT, XF_ERR_MEMORY. */
XF_API xf_status xf_runner_new(xf_runner **out, const xf_model *model,
                               const xf_run_options *options, xf_error *error);
XF_API void xf_runner_free(xf_runner *runner); /* NULL is accepted */

/* As xf_run. One run at a time for each runner. */
XF_API xf_status xf_runner_run(double *out, xf_runner *runner, const xf_dataset *input,
                               xf_error *error);

typedef struct xf_verify_report {
    int64_t n_sequences;
    int64_t n_exact;        /* sequences with T(X_j) = Y_j as sets, compared with == */
    double hausdorff_max;   /* largest Hausdorff distance (Euclidean), 0 if all are exact; INFINITY
                               if an output is not finite */
    int64_t first_mismatch; /* sequence, or -1 */
    int64_t worst_sequence; /* where hausdorff_max is attained, or -1 */
} xf_verify_report;

/* Run every input and compare the output sets with the targets.
 * Returns XF_OK if all are equal, XF_NOT_EXACT with `report` filled if not, else as
 * xf_run. */
XF_API xf_status xf_verify(xf_verify_report *report, const xf_model *model, const xf_dataset *data,
                           const xf_run_options *options, xf_error *error);

/* Compare outputs that are already at hand: out [T][d] as xf_run writes it. */
XF_API xf_status xf_compare(xf_verify_report *report, const double *out, const xf_dataset *data,
                            xf_error *error);

#ifdef __cplusplus
}
#endif
#endif
