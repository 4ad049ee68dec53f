/* The driver. The layers are cut into stretches of the sparse engine, runs of other local layers
 * and single coupled layers (engine.h). In a run tokens are independent: tiles of tokens go through
 * a chunk of layers whose weights stay in cache, threads share the tiles. In a coupled layer
 * threads share sequences or, if every query costs O(n), queries. Between these steps the calling
 * thread reports progress. */
#include "engine/evaluate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/fpenv.h"
#include "engine/prepared.h"
#include "num/blas.h"

#include <math.h>
#include <stddef.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 18, ALIGNMENT = 64, QUERIES_AT_ONCE = 16 };

/* Multiplications between two reports of progress, roughly. */
static const double STEP_WORK = 2e9;

/* One run. */
typedef struct evaluation {
    xfi_prepared *model;
    const xf_dataset *input;
    size_t real;    /* bytes of a real */
    int64_t n_max;  /* longest sequence */
    char *x;        /* [T][d] reals: the tokens; `out` itself for binary64 */
    char *next;     /* [T][d] reals: for coupled layers, or NULL */
    char *owned[2]; /* what of x and next is ours */
    char *scratch;  /* [threads][stride] */
    int64_t stride; /* bytes */
} evaluation;

static int64_t longest_sequence(const xf_dataset *input) {
    int64_t longest = 0;
    for (int64_t j = 0; j < input->n_sequences; j++) {
        int64_t n = input->x_offsets[j + 1] - input->x_offsets[j];
        longest = n > longest ? n : longest;
    }
    return longest;
}

static int has_coupling(const xfi_weights *weights) {
    for (int64_t i = 0; i < weights->n_blocks; i++)
        if (!(weights->zero[i] & XFI_ZERO_V))
            return 1;
    return 0;
}

/* For the back end or the sparse engine, whichever needs more. */
static int64_t scratch_bytes(const evaluation *e) {
    const xfi_prepared *model = e->model;
    int64_t most = model->backend->scratch(&model->weights, e->n_max) * (int64_t)e->real;
    for (int64_t i = 0; i < model->n_stretches; i++) {
        int64_t bytes =
            xfi_sparse_scratch(&model->stretches[i], &model->weights, model->backend->tile);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static int allocate(evaluation *e, double *out) {
    int64_t T = e->input->n_tokens, d = e->model->weights.d, bytes = scratch_bytes(e);
    e->stride = (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    e->scratch = xfi_calloc2(e->model->threads + 1, e->stride, 1);
    if (e->model->weights.dtype == XF_F64)
        e->x = (char *)out;
    else
        e->x = e->owned[0] = xfi_calloc2(T, d, e->real);
    if (!has_coupling(&e->model->weights))
        return e->scratch != NULL && e->x != NULL;
    e->next = e->owned[1] = xfi_calloc2(T, d, e->real);
    return e->scratch != NULL && e->x != NULL && e->next != NULL;
}

static void release(evaluation *e) {
    xfi_free(e->owned[0]);
    xfi_free(e->owned[1]);
    xfi_free(e->scratch);
}

static void *thread_scratch(const evaluation *e) {
    uintptr_t start = (uintptr_t)(e->scratch + omp_get_thread_num() * e->stride);
    return (void *)((start + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

/* Position of the sequence that holds the token. */
static int64_t sequence_of(const xf_dataset *input, int64_t token) {
    int64_t low = 0, high = input->n_sequences;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (input->x_offsets[middle] <= token)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static xf_status narrow_tokens(evaluation *e, xf_error *error) {
    int64_t d = e->model->weights.d, n = e->input->n_tokens * d;
    float *x = (float *)(void *)e->x;
    for (int64_t k = 0; k < n; k++) {
        double value = e->input->x[k];
        x[k] = (float)value;
        if (isinf(x[k]) && isfinite(value)) {
            int64_t token = k / d, j = sequence_of(e->input, token);
            int64_t place = token - e->input->x_offsets[j];
            return xfi_fail_at(error, XF_ERR_DATA, j, place,
                               "sequence %lld, token %lld: %.17g is beyond the range of binary32",
                               (long long)j, (long long)place, value);
        }
    }
    return XF_OK;
}

static xf_status load_tokens(evaluation *e, xf_error *error) {
    if (e->model->weights.dtype == XF_F32)
        return narrow_tokens(e, error);
    memcpy(e->x, e->input->x, (size_t)(e->input->n_tokens * e->model->weights.d) * sizeof(double));
    return XF_OK;
}

static void store_tokens(const evaluation *e, double *out) {
    int64_t n = e->input->n_tokens * e->model->weights.d;
    if (e->model->weights.dtype == XF_F64) {
        if (e->x != (char *)out)
            memcpy(out, e->x, (size_t)n * sizeof(double));
        return;
    }
    const float *x = (const float *)(const void *)e->x;
    for (int64_t k = 0; k < n; k++)
        out[k] = (double)x[k];
}

static xf_status report(const evaluation *e, int64_t layer, double share, xf_error *error) {
    double done = ((double)layer + share) / (2.0 * (double)e->model->weights.n_blocks);
    if (e->model->progress == NULL ||
        e->model->progress(e->model->progress_context, "run", done) == 0)
        return XF_OK;
    return xfi_fail(error, XF_ERR_CANCELLED, "cancelled while running the model");
}

/* How many local layers to take at once: bounded work, and weights that stay in cache if every
 * thread has several tiles to use them for. */
static int64_t chunk_layers(const evaluation *e) {
    double width = 1.0 + (double)e->model->weights.width, d = (double)e->model->weights.d;
    double by_cache = CHUNK_BYTES / (2.0 * d * width * (double)e->real);
    double by_work = STEP_WORK / (2.0 * d * width * (double)e->input->n_tokens);
    int reuse = e->input->n_tokens > e->model->threads * e->model->backend->tile;
    double blocks = reuse ? fmin(by_cache, by_work) : by_work;
    return blocks < 1.0 ? 2 : 2 * (int64_t)blocks;
}

static void run_local(evaluation *e, int64_t first, int64_t last) {
    int64_t T = e->input->n_tokens, tile = e->model->backend->tile;
    int64_t row = e->model->weights.d * (int64_t)e->real;
#pragma omp parallel for schedule(dynamic) num_threads(e->model->threads) if (T > tile)
    for (int64_t start = 0; start < T; start += tile) {
        int64_t n = T - start < tile ? T - start : tile;
        e->model->backend->local(&e->model->weights, first, last, e->x + start * row, n,
                                 thread_scratch(e));
    }
}

/* The coupled layer for rows first .. last-1 (counted in the data set) of sequence j. */
static void attend(const evaluation *e, int64_t block, int64_t j, int64_t first, int64_t last) {
    const int64_t *offsets = e->input->x_offsets;
    int64_t start = offsets[j], row = e->model->weights.d * (int64_t)e->real;
    xfi_coupling coupling = {.block = block,
                             .attention = e->model->attention,
                             .causal = e->model->causal,
                             .tau = e->model->tau,
                             .n = offsets[j + 1] - start,
                             .x = e->x + start * row,
                             .next = e->next + start * row,
                             .first = first - start,
                             .last = last - start};
    e->model->backend->attend(&e->model->weights, &coupling, thread_scratch(e));
}

static void attend_sequences(const evaluation *e, int64_t block, int64_t first, int64_t last) {
    const int64_t *offsets = e->input->x_offsets;
#pragma omp parallel for schedule(dynamic, 4) num_threads(e->model->threads) if (last - first > 4)
    for (int64_t j = first; j < last; j++)
        attend(e, block, j, offsets[j], offsets[j + 1]);
}

/* Rows first .. last-1 wherever the sequences begin and end. */
static void attend_rows(const evaluation *e, int64_t block, int64_t first, int64_t last) {
    for (int64_t j = sequence_of(e->input, first); first < last; j++) {
        int64_t end = e->input->x_offsets[j + 1] < last ? e->input->x_offsets[j + 1] : last;
        attend(e, block, j, first, end);
        first = end;
    }
}

static void attend_queries(const evaluation *e, int64_t block, int64_t first, int64_t last) {
#pragma omp parallel for schedule(dynamic)                                                         \
    num_threads(e->model->threads) if (last - first > QUERIES_AT_ONCE)
    for (int64_t start = first; start < last; start += QUERIES_AT_ONCE) {
        int64_t end = last - start < QUERIES_AT_ONCE ? last : start + QUERIES_AT_ONCE;
        attend_rows(e, block, start, end);
    }
}

static xf_status run_coupled(evaluation *e, int64_t layer, xf_error *error) {
    int64_t block = layer / 2, T = e->input->n_tokens;
    if (e->model->weights.zero[block] & XFI_ZERO_A) {
        attend_sequences(e, block, 0, e->input->n_sequences);
    } else {
        double work = 2.0 * (double)e->model->weights.d * (double)e->n_max;
        int64_t step = (int64_t)fmax(STEP_WORK / work, QUERIES_AT_ONCE * e->model->threads);
        for (int64_t first = 0; first < T; first += step) {
            attend_queries(e, block, first, T - first < step ? T : first + step);
            XFI_TRY(report(e, layer, (double)first / (double)T, error));
        }
    }
    char *swap = e->x;
    e->x = e->next;
    e->next = swap;
    return XF_OK;
}

/* End of the run of at most `limit` local layers that starts at `first`; it ends at layer
 * `end` at the latest. */
static int64_t local_run(const xfi_weights *weights, int64_t first, int64_t limit, int64_t end) {
    end = end - first < limit ? end : first + limit;
    int64_t layer = first;
    while (layer < end && !xfi_layer_is_coupled(weights, layer))
        layer++;
    return layer;
}

/* Tokens from all over the data set show a stretch what it has to do. */
static void learn(evaluation *e, xfi_sparse *stretch) {
    enum { SAMPLE = 64, MANY_TOKENS = 16 * SAMPLE };
    int64_t T = e->input->n_tokens, row = e->model->weights.d * (int64_t)e->real;
    if (stretch->learned || T < MANY_TOKENS)
        return;
    char *rows = xfi_calloc2(SAMPLE, row, 1);
    for (int64_t i = 0; rows != NULL && i < SAMPLE; i++)
        memcpy(rows + i * row, e->x + T / SAMPLE * i * row, (size_t)row);
    if (rows != NULL)
        xfi_sparse_learn(stretch, &e->model->weights, rows, SAMPLE, thread_scratch(e));
    xfi_free(rows);
}

/* Tokens first .. last-1 of the data set through a stretch; the dense kernel takes its first
 * layers, if they touch most tokens, and the tiles that the sparse one gives back. */
static void run_tiles(evaluation *e, xfi_sparse *stretch, int64_t first, int64_t last,
                      int64_t tile) {
    const xfi_prepared *model = e->model;
    int64_t row = model->weights.d * (int64_t)e->real, layer = xfi_sparse_start(stretch);
#pragma omp parallel for schedule(dynamic) num_threads(e->model->threads) if (last - first > tile)
    for (int64_t start = first; start < last; start += tile) {
        int64_t n = last - start < tile ? last - start : tile;
        char *rows = e->x + start * row;
        void *scratch = thread_scratch(e);
        if (layer > stretch->first)
            model->backend->local(&model->weights, stretch->first, layer, rows, n, scratch);
        if (!xfi_sparse_apply(stretch, &model->weights, rows, n, scratch))
            model->backend->local(&model->weights, layer, stretch->last, rows, n, scratch);
    }
}

static xf_status run_sparse(evaluation *e, xfi_sparse *stretch, xf_error *error) {
    enum { TOKENS_AT_ONCE = 1 << 15, LEAST_TILE = 4 };
    int64_t T = e->input->n_tokens, tile = T / (4 * (int64_t)e->model->threads);
    tile = tile < LEAST_TILE ? LEAST_TILE : tile;
    tile = tile < e->model->backend->tile ? tile : e->model->backend->tile;
    learn(e, stretch);
    for (int64_t first = 0; first < T; first += TOKENS_AT_ONCE) {
        int64_t last = T - first < TOKENS_AT_ONCE ? T : first + TOKENS_AT_ONCE;
        double share = (double)last / (double)T * (double)(stretch->last - stretch->first);
        run_tiles(e, stretch, first, last, tile);
        XFI_TRY(report(e, stretch->first, share, error));
    }
    return XF_OK;
}

/* Local layers of the back end, or one coupled layer; *layer moves on, to `end` at most. */
static xf_status run_some(evaluation *e, int64_t *layer, int64_t end, xf_error *error) {
    int64_t last = local_run(&e->model->weights, *layer, chunk_layers(e), end);
    if (last > *layer)
        run_local(e, *layer, last);
    else
        XFI_TRY(run_coupled(e, *layer, error));
    *layer = last > *layer ? last : *layer + 1;
    return report(e, *layer, 0.0, error);
}

static xf_status run_layers(evaluation *e, xf_error *error) {
    int64_t layer = 0;
    for (int64_t i = 0; i <= e->model->n_stretches; i++) {
        xfi_sparse *stretch = i < e->model->n_stretches ? &e->model->stretches[i] : NULL;
        int64_t end = stretch != NULL ? stretch->first : 2 * e->model->weights.n_blocks;
        while (layer < end)
            XFI_TRY(run_some(e, &layer, end, error));
        if (stretch == NULL)
            break;
        XFI_TRY(run_sparse(e, stretch, error));
        layer = stretch->last;
    }
    return XF_OK;
}

/* Threads of a pool keep the rounding mode they were born with. */
static xf_status check_threads(const evaluation *e, xf_error *error) {
    XFI_TRY(xfi_fpenv_check(error));
    int bad = 0;
#pragma omp parallel num_threads(e->model->threads)                                                \
    reduction(|                                                                                    \
              : bad) if (e->input->n_tokens > e->model->backend->tile)
    bad |= xfi_fpenv_check(NULL) != XF_OK;
    if (bad)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "a worker thread has a different floating-point environment");
    return XF_OK;
}

static xf_status run_evaluation(evaluation *e, double *out, xf_error *error) {
    if (!allocate(e, out))
        return xfi_fail_memory(error);
    XFI_TRY(check_threads(e, error));
    XFI_TRY(load_tokens(e, error));
    int blas_threads = e->model->engine == XF_ENGINE_BLAS ? xfi_blas_set_threads(1) : 0;
    xf_status status = run_layers(e, error);
    if (e->model->engine == XF_ENGINE_BLAS)
        xfi_blas_set_threads(blas_threads);
    if (status == XF_OK)
        store_tokens(e, out);
    return status;
}

xf_status xfi_evaluate(double *out, xfi_prepared *model, const xf_dataset *input, xf_error *error) {
    evaluation e = {.model = model, .input = input, .n_max = longest_sequence(input)};
    e.real = model->weights.dtype == XF_F32 ? sizeof(float) : sizeof(double);
    xf_status status = run_evaluation(&e, out, error);
    release(&e);
    return status;
}
