/* Directions with small integer entries, their maxima, and the model. */
#include "construct/argmax.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "construct/balance.h"
#include "construct/diamond.h"
#include "construct/neuron.h"
#include "core/model_shape.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY = 160, SPARSE = 96, MOST_ENTRIES = 4, LARGEST_ENTRY = 7 };

/* Why candidates failed, the best reason last. */
typedef enum failure { OFF_GRID, TIES, SAME_MAXIMA, NO_DIAMOND } failure;

typedef struct hunt {
    const xfi_problem *problem;
    int *lowest;        /* [d] least exponent of a set bit in each coordinate of the inputs */
    double *u;          /* [d] the candidate */
    int grid;           /* z = 2^-grid (<u, x> - mu) */
    double mu;          /* times 2^-grid an integer */
    double *z;          /* [T] 2^-grid <u, x> */
    xfi_cell_group *at; /* [N] the maxima */
    double best;        /* of the maxima: least gap over range */
    double *best_u;     /* [d] */
    failure failure;
} hunt;

int xfi_argmax_fits(const xfi_problem *problem, char why[WHY]) {
    const xf_dataset *data = problem->data;
    if (problem->options->attention != XF_HARDMAX)
        snprintf(why, WHY, "it works for hardmax only");
    else if (!problem->all_single)
        snprintf(why, WHY, "it writes one target a sequence");
    else if (data->d < 2)
        snprintf(why, WHY, "it needs two coordinates");
    else
        return 1;
    return 0;
}

int64_t xfi_argmax_depth(const xfi_problem *problem) {
    return 2 + (problem->data->n_targets + 3) / 4 + (problem->y_exponent != 0);
}

static void hunt_clear(hunt *h) {
    xfi_free(h->lowest);
    xfi_free(h->u);
    xfi_free(h->z);
    xfi_free(h->at);
    xfi_free(h->best_u);
}

/* Lowest set bits; INT_MAX where a coordinate is 0 throughout, INT_MIN where some value is not a
 * number of the format. */
static void find_lowest(hunt *h) {
    const xf_dataset *data = h->problem->data;
    for (int64_t k = 0; k < data->d; k++)
        h->lowest[k] = INT_MAX;
    for (int64_t i = 0; i < data->n_tokens * data->d; i++) {
        double v = data->x[i];
        int *lowest = &h->lowest[i % data->d];
        if (!xfi_representable(&h->problem->format, v))
            *lowest = INT_MIN;
        else if (v != 0.0 && xfi_lowest_bit(v) < *lowest)
            *lowest = xfi_lowest_bit(v);
    }
}

/* z of every token, before the shift. Returns 0 unless all sums are exact in every order:
 * (sum |u x| + |mu|) 2^-grid <= 2^p (T-argmax). */
static int project(hunt *h) {
    const xf_dataset *data = h->problem->data;
    double low = INFINITY, largest = 0;
    h->grid = INT_MAX;
    for (int64_t k = 0; k < data->d; k++)
        if (h->u[k] != 0.0 && h->lowest[k] < h->grid)
            h->grid = h->lowest[k];
    if (h->grid == INT_MIN || h->grid == INT_MAX || abs(h->grid) > h->problem->format.emax - 8)
        return 0;
    for (int64_t i = 0; i < data->n_tokens; i++) {
        double sum = 0, absolute = 0;
        for (int64_t k = 0; k < data->d; k++) {
            double term = ldexp(h->u[k] * data->x[i * data->d + k], -h->grid);
            sum += term;
            absolute += fabs(term);
        }
        h->z[i] = sum;
        low = fmin(low, sum);
        largest = fmax(largest, absolute);
    }
    h->mu = low - 1.0;
    return largest + fabs(h->mu) <= ldexp(1.0, h->problem->format.p);
}

static int compare_groups(const void *left, const void *right) {
    const xfi_cell_group *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* The maximum of each sequence, unique in it and among all; ascending. Returns 0 if not. */
static int find_maxima(hunt *h) {
    const xf_dataset *data = h->problem->data;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        double top = -INFINITY;
        int64_t times = 0;
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++) {
            times = h->z[i] > top ? 1 : times + (h->z[i] == top);
            top = fmax(top, h->z[i]);
        }
        if (times > 1) {
            h->failure = h->failure < TIES ? TIES : h->failure;
            return 0;
        }
        int64_t cell = (int64_t)(top - h->mu);
        h->at[j] = (xfi_cell_group){cell, cell, j, data->y_offsets[j]};
    }
    qsort(h->at, (size_t)data->n_sequences, sizeof *h->at, compare_groups);
    for (int64_t j = 0; j + 1 < data->n_sequences; j++) {
        if (h->at[j].low == h->at[j + 1].low) {
            h->failure = h->failure < SAME_MAXIMA ? SAME_MAXIMA : h->failure;
            return 0;
        }
    }
    return 1;
}

/* Least gap over range: how few bits tell the maxima apart. */
static double spread(const hunt *h) {
    int64_t n = h->problem->data->n_sequences, least = INT64_MAX;
    for (int64_t j = 0; j + 1 < n; j++)
        least = h->at[j + 1].low - h->at[j].low < least ? h->at[j + 1].low - h->at[j].low : least;
    return n > 1 ? (double)least / (double)(h->at[n - 1].low - h->at[0].low) : 1.0;
}

static int candidate_works(hunt *h) {
    return project(h) && find_maxima(h);
}

static xf_status plan_diamond(xfi_diamond *out, int *feasible, const hunt *h, xfi_axes axes,
                              xf_error *error) {
    const xfi_problem *problem = h->problem;
    xfi_cells cells = {.n = problem->data->n_sequences, .at = h->at};
    xfi_written written = {.y = problem->y, .d = problem->data->d, .axes = axes};
    return xfi_diamond_plan(out, feasible, &cells, &written, &problem->format, 1, error);
}

/* Keep the candidate if it is better and a diamond fits behind it. */
static xf_status try_candidate(hunt *h, xfi_axes axes, xf_error *error) {
    int64_t d = h->problem->data->d;
    xfi_diamond diamond;
    int feasible = 0;
    if (!candidate_works(h) || spread(h) <= h->best)
        return XF_OK;
    XFI_TRY(plan_diamond(&diamond, &feasible, h, axes, error));
    if (!feasible) {
        h->failure = NO_DIAMOND;
        return XF_OK;
    }
    xfi_diamond_clear(&diamond);
    h->best = spread(h);
    memcpy(h->best_u, h->u, (size_t)d * sizeof *h->u);
    return XF_OK;
}

/* An axis, up or down, or a few small integers on random coordinates. */
static void draw(hunt *h, int64_t candidate, xfi_rng *rng) {
    int64_t d = h->problem->data->d;
    memset(h->u, 0, (size_t)d * sizeof *h->u);
    if (candidate < 2 * d) {
        h->u[candidate / 2] = candidate % 2 ? -1.0 : 1.0;
        return;
    }
    int64_t n = 2 + xfi_rng_below(rng, MOST_ENTRIES - 1);
    for (int64_t i = 0; i < n; i++) {
        double entry = (double)(1 + xfi_rng_below(rng, LARGEST_ENTRY));
        h->u[xfi_rng_below(rng, d)] = xfi_rng_below(rng, 2) ? entry : -entry;
    }
}

static xf_status search(hunt *h, xfi_axes axes, xf_error *error) {
    int64_t n = 2 * h->problem->data->d + SPARSE;
    xfi_rng rng;
    xfi_rng_seed(&rng, h->problem->options->seed, 0x600);
    for (int64_t candidate = 0; candidate < n; candidate++) {
        draw(h, candidate, &rng);
        XFI_TRY(try_candidate(h, axes, error));
        if (candidate % 16 == 0)
            XFI_TRY(
                xfi_problem_progress(h->problem, "argmax", (double)candidate / (double)n, error));
    }
    return XF_OK;
}

/* z on k2, 1 on k1; logits z; every token takes over the one with the largest. */
static void emit_front(const hunt *h, xfi_axes axes, xf_model *model) {
    int64_t d = model->d;
    model->ff_eta[0] = 0.0;
    int neuron = xfi_neuron_free(model, 0);
    for (int64_t k = 0; k < d; k++)
        model->ff_U[neuron * d + k] = ldexp(h->u[k], -h->grid);
    model->ff_b[neuron] = 0.0 - h->mu;
    xfi_neuron_out(model, 0, neuron, axes.k2, 1.0);
    neuron = xfi_neuron_free(model, 0);
    model->ff_b[neuron] = 1.0;
    xfi_neuron_out(model, 0, neuron, axes.k1, 1.0);
    model->sa_A.left[axes.k2] = 1.0;
    model->sa_A.right[axes.k1] = 1.0;
    model->sa_V.alpha[0] = 1.0;
    model->sa_rho[0] = 0.0;
}

static xf_status build(xf_model *out, const hunt *h, const xfi_diamond *diamond, xfi_axes axes,
                       xf_error *error) {
    const xfi_problem *problem = h->problem;
    int64_t scale = problem->y_exponent != 0;
    XFI_TRY(xf_model_new(out, 2 + diamond->n_steps + scale, problem->data->d, XFI_WIDTH, error));
    xfi_cells cells = {.n = problem->data->n_sequences, .at = h->at};
    xfi_written written = {.y = problem->y, .d = problem->data->d, .axes = axes};
    out->dtype = problem->options->dtype;
    out->tau_max = 0.0;
    emit_front(h, axes, out);
    xfi_diamond_emit(diamond, &cells, &written, out, 1);
    if (scale)
        out->ff_eta[out->n_blocks - 1] = ldexp(1.0, problem->y_exponent);
    const struct {
        const char *name;
        int64_t count;
    } phases[] = {{"argmax", 1}, {"route", 1}, {"write", diamond->n_steps}, {"scale", scale}};
    xf_status status = XF_OK;
    for (size_t i = 0; i < sizeof phases / sizeof *phases && status == XF_OK; i++)
        status = xfi_model_add_phase(out, phases[i].name, phases[i].count, error);
    if (status != XF_OK)
        xf_model_clear(out);
    return status;
}

static void explain(const hunt *h, char why[WHY]) {
    static const char *const reasons[] = {
        "the inputs are not on a grid that leaves exact sums in any direction tried",
        "in every direction tried two tokens of a sequence share its maximum",
        "in every direction tried two sequences share their maximum",
        "the maxima, or the targets, have too many bits for the diamond"};
    snprintf(why, WHY, "%s", reasons[h->failure]);
}

static xf_status hunt_init(hunt *h, const xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->data;
    *h = (hunt){.problem = problem};
    h->lowest = xfi_calloc(data->d, sizeof *h->lowest);
    h->u = xfi_calloc(data->d, sizeof *h->u);
    h->z = xfi_calloc(data->n_tokens, sizeof *h->z);
    h->at = xfi_calloc(data->n_sequences, sizeof *h->at);
    h->best_u = xfi_calloc(data->d, sizeof *h->best_u);
    return h->lowest && h->u && h->z && h->at && h->best_u ? XF_OK : xfi_fail_memory(error);
}

xf_status xfi_assemble_argmax(xf_model *out, int *feasible, const xfi_problem *problem,
                              xfi_axes axes, char why[WHY], xf_error *error) {
    hunt h;
    xfi_diamond diamond;
    *feasible = 0;
    xf_status status = hunt_init(&h, problem, error);
    if (status == XF_OK) {
        find_lowest(&h);
        status = search(&h, axes, error);
    }
    if (status == XF_OK && h.best > 0) {
        memcpy(h.u, h.best_u, (size_t)problem->data->d * sizeof *h.u);
        candidate_works(&h);
        status = plan_diamond(&diamond, feasible, &h, axes, error);
    }
    if (status == XF_OK && *feasible) {
        status = build(out, &h, &diamond, axes, error);
        xfi_diamond_clear(&diamond);
    }
    if (!*feasible)
        explain(&h, why);
    hunt_clear(&h);
    return status;
}
