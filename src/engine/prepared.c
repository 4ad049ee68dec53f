/* Which layers the sparse engine takes. */
#include "engine/prepared.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/threads.h"
#include "num/blas.h"

#include <stddef.h>

/* Shorter stretches are left to the dense kernel. */
enum { LEAST_LAYERS = 8, MOST_THREADS = 256 };

static const xfi_backend *backend_of(xf_engine engine, xf_dtype dtype) {
    if (engine == XF_ENGINE_BLAS)
        return dtype == XF_F32 ? &xfi_blas_f32 : &xfi_blas_f64;
    return dtype == XF_F32 ? &xfi_dense_f32 : &xfi_dense_f64;
}

static int64_t end_of_local(const xfi_weights *weights, int64_t first) {
    int64_t layer = first;
    while (layer < 2 * weights->n_blocks && !xfi_layer_is_coupled(weights, layer))
        layer++;
    return layer;
}

static xf_status add_stretch(xfi_prepared *out, const xfi_block_shape *shapes, int64_t first,
                             int64_t last, xf_error *error) {
    if (last - first < LEAST_LAYERS)
        return XF_OK;
    xfi_sparse *grown = xfi_realloc(out->stretches, out->n_stretches + 1, sizeof *grown);
    if (grown == NULL)
        return xfi_fail_memory(error);
    out->stretches = grown;
    XFI_TRY(xfi_sparse_new(&grown[out->n_stretches], &out->weights, shapes, first, last,
                           out->threads, error));
    out->n_stretches++;
    return XF_OK;
}

static xf_status add_stretches(xfi_prepared *out, const xfi_block_shape *shapes, xf_error *error) {
    const xfi_weights *weights = &out->weights;
    for (int64_t layer = 0; layer < 2 * weights->n_blocks; layer++) {
        int64_t last = end_of_local(weights, layer);
        while (layer < last) {
            int64_t end = xfi_sparse_stretch(weights, shapes, layer, last);
            XFI_TRY(add_stretch(out, shapes, layer, end, error));
            layer = end;
        }
    }
    return XF_OK;
}

static xf_status prepare_sparse(xfi_prepared *out, xf_error *error) {
    xfi_block_shape *shapes = xfi_calloc(out->weights.n_blocks, sizeof *shapes);
    if (shapes == NULL)
        return xfi_fail_memory(error);
    xfi_sparse_scan(shapes, &out->weights, out->threads);
    xf_status status = add_stretches(out, shapes, error);
    xfi_free(shapes);
    return status;
}

static int thread_count(const xf_run_options *options) {
    int threads = xfi_threads(options->threads);
    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

xf_status xfi_prepared_new(xfi_prepared *out, const xf_model *model, const xf_run_options *options,
                           xf_error *error) {
    if (options->engine == XF_ENGINE_BLAS)
        XFI_TRY(xfi_blas_load(thread_count(options), error));
    *out = (xfi_prepared){.engine = options->engine,
                          .attention =
                              options->override_attention ? options->attention : model->attention,
                          .tau = options->tau > 0.0 ? options->tau : model->tau,
                          .causal = model->causal,
                          .threads = thread_count(options),
                          .progress = options->progress,
                          .progress_context = options->progress_context,
                          .backend = backend_of(options->engine, model->dtype)};
    xf_status status = xfi_weights_new(&out->weights, model, out->threads, error);
    if (status == XF_OK && out->engine == XF_ENGINE_SPARSE)
        status = prepare_sparse(out, error);
    if (status != XF_OK)
        xfi_prepared_clear(out);
    return status;
}

void xfi_prepared_clear(xfi_prepared *prepared) {
    for (int64_t i = 0; i < prepared->n_stretches; i++)
        xfi_sparse_clear(&prepared->stretches[i]);
    xfi_free(prepared->stretches);
    xfi_weights_clear(&prepared->weights);
    *prepared = (xfi_prepared){0};
}
