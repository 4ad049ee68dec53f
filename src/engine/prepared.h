/* A model made ready for an engine, once for any number of runs: weights in the type of the
 * arithmetic and, for the sparse engine, the stretches of local layers that it takes. */
#ifndef XFI_ENGINE_PREPARED_H
#define XFI_ENGINE_PREPARED_H

#include "engine/engine.h"
#include "engine/sparse.h"

typedef struct xfi_prepared {
    xf_engine engine;
    xf_attention attention;
    double tau;
    int causal;
    int threads;
    xf_progress_fn progress;
    void *progress_context;
    xfi_weights weights;
    const xfi_backend *backend; /* of the sparse engine: for all other layers */
    int64_t n_stretches;
    xfi_sparse *stretches; /* ascending; the layers between them are the back end's */
} xfi_prepared;

/* The model passed xf_model_check; it must outlive what is prepared and stay unchanged. Release
 * with xfi_prepared_clear. Cost: one pass over the weights, shared by the threads. Errors:
 * XF_ERR_MEMORY (nothing to clear). */
xf_status xfi_prepared_new(xfi_prepared *out, const xf_model *model, const xf_run_options *options,
                           xf_error *error);
void xfi_prepared_clear(xfi_prepared *prepared);

#endif
