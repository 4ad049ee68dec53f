/* Sequences in pieces, pieces to threads, gradients added up in the order of the pieces. */
#include "train/objective.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/threads.h"

#include <omp.h>
#include <string.h>

enum { MOST_CHUNKS = 32 };

static int64_t stride_of(int64_t n) {
    return (n + XFI_TRAIN_LANES - 1) / XFI_TRAIN_LANES * XFI_TRAIN_LANES;
}

static int64_t longest_stride(const xfi_objective *o) {
    int64_t longest = 0;
    for (int64_t j = 0; j < o->n_sequences; j++)
        longest = o->sequences[j].stride > longest ? o->sequences[j].stride : longest;
    return longest;
}

/* Sizes of the sequences; returns how many reals their tokens and targets take. */
static int64_t measure(xfi_objective *o, const xf_dataset *data) {
    int64_t total = 0;
    for (int64_t j = 0; j < o->n_sequences; j++) {
        xfi_sequence *s = &o->sequences[j];
        s->n = data->x_offsets[j + 1] - data->x_offsets[j];
        s->m = data->y_offsets[j + 1] - data->y_offsets[j];
        s->stride = stride_of(s->n);
        total += (s->stride + s->m) * data->d;
    }
    return total;
}

static void copy_data(xfi_objective *o, const xf_dataset *data) {
    char *next = o->tokens;
    int64_t d = data->d;
    for (int64_t j = 0; j < o->n_sequences; j++) {
        xfi_sequence *s = &o->sequences[j];
        s->x = next;
        o->arithmetic->transpose(next, data->x + data->x_offsets[j] * d, s->n, d, s->stride);
        next += (size_t)(d * s->stride) * o->arithmetic->real;
        s->y = next;
        o->arithmetic->narrow(next, data->y + data->y_offsets[j] * d, s->m * d);
        next += (size_t)(s->m * d) * o->arithmetic->real;
    }
}

static int new_arenas(xfi_objective *o) {
    int64_t s = longest_stride(o);
    o->arenas = xfi_calloc(o->threads, sizeof *o->arenas);
    if (o->arenas == NULL)
        return 0;
    for (int i = 0; i < o->threads; i++) {
        o->arenas[i].reals = xfi_calloc(xfi_tape_size(&o->net, s), o->arithmetic->real);
        o->arenas[i].list = xfi_calloc(s, sizeof(int64_t));
        if (o->arenas[i].reals == NULL || o->arenas[i].list == NULL)
            return 0;
    }
    return 1;
}

static int allocate(xfi_objective *o, const xf_dataset *data) {
    size_t real = o->arithmetic->real;
    o->sequences = xfi_calloc(o->n_sequences, sizeof *o->sequences);
    if (o->sequences == NULL)
        return 0;
    o->tokens = xfi_calloc(measure(o, data), real);
    o->totals = xfi_calloc(o->n_chunks, sizeof *o->totals);
    o->slopes = xfi_calloc2(o->n_chunks, o->net.n_parameters, real);
    o->theta = xfi_calloc(o->net.n_parameters, real);
    return o->tokens != NULL && o->totals != NULL && o->slopes != NULL && o->theta != NULL &&
           new_arenas(o);
}

double xfi_objective_work(const xfi_objective *objective) {
    return (double)objective->n_tokens * (double)objective->net.n_parameters;
}

/* An evaluation of less than about a millisecond is not worth a second thread, whose start and
 * waiting cost more, unless it is asked for. */
static const double LITTLE_WORK = 4e6;

static int choose_threads(const xfi_objective *o, int asked) {
    int wanted = asked <= 0 && xfi_objective_work(o) < LITTLE_WORK ? 1 : xfi_threads(asked);
    return wanted < o->n_chunks ? wanted : (int)o->n_chunks;
}

xf_status xfi_objective_new(xfi_objective *out, const xf_family *family, const xf_dataset *data,
                            xf_dtype dtype, int threads, xf_error *error) {
    int64_t n = data->n_sequences;
    int64_t n_chunks = n < MOST_CHUNKS ? n : MOST_CHUNKS;
    *out =
        (xfi_objective){.net = xfi_network_of(family),
                        .arithmetic = dtype == XF_F32 ? &xfi_arithmetic_f32 : &xfi_arithmetic_f64,
                        .n_sequences = n,
                        .n_tokens = data->n_tokens,
                        .n_chunks = n_chunks};
    out->threads = choose_threads(out, threads);
    if (!allocate(out, data)) {
        xfi_objective_clear(out);
        return xfi_fail_memory(error);
    }
    copy_data(out, data);
    return XF_OK;
}

void xfi_objective_clear(xfi_objective *objective) {
    for (int i = 0; objective->arenas != NULL && i < objective->threads; i++) {
        xfi_free(objective->arenas[i].reals);
        xfi_free(objective->arenas[i].list);
    }
    xfi_free(objective->arenas);
    xfi_free(objective->sequences);
    xfi_free(objective->tokens);
    xfi_free(objective->totals);
    xfi_free(objective->slopes);
    xfi_free(objective->theta);
    *objective = (xfi_objective){0};
}

static void *slope_of(const xfi_objective *o, int64_t chunk) {
    return (char *)o->slopes + (size_t)(chunk * o->net.n_parameters) * o->arithmetic->real;
}

static void run_chunk(const xfi_objective *o, int64_t chunk, int wants_gradient) {
    int64_t n = o->n_sequences;
    o->totals[chunk] =
        o->arithmetic->chunk(&o->net, o->sequences, n * chunk / o->n_chunks,
                             n * (chunk + 1) / o->n_chunks, &o->arenas[omp_get_thread_num()],
                             o->theta, wants_gradient ? slope_of(o, chunk) : NULL, 1.0 / (double)n);
}

double xfi_objective_loss(xfi_objective *objective, const double *theta, double *gradient) {
    const xfi_objective *o = objective;
    int64_t n_parameters = o->net.n_parameters;
    int wants_gradient = gradient != NULL;
    o->arithmetic->narrow(o->theta, theta, n_parameters);
#pragma omp parallel for schedule(dynamic) num_threads(o->threads) if (o->threads > 1)
    for (int64_t chunk = 0; chunk < o->n_chunks; chunk++)
        run_chunk(o, chunk, wants_gradient);
    double total = 0.0;
    for (int64_t chunk = 0; chunk < o->n_chunks; chunk++)
        total += o->totals[chunk];
    for (int64_t chunk = 1; wants_gradient && chunk < o->n_chunks; chunk++)
        o->arithmetic->add(slope_of(o, 0), slope_of(o, chunk), n_parameters);
    if (wants_gradient)
        o->arithmetic->widen(gradient, slope_of(o, 0), n_parameters);
    return total / (double)o->n_sequences;
}

double xfi_norm_squared(const double *theta, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += theta[i] * theta[i];
    return sum;
}
