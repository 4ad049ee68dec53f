/* The search for cells, and their certificate. */
#include "construct/cells.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "construct/cell_pairs.h"
#include "construct/cell_table.h"
#include "construct/front_certificate.h"

#include <stdlib.h>
#include <string.h>

enum { B_MAX = 30, PHASES = 24, RETRIES = 4 };

void xfi_cells_clear(xfi_cells *cells) {
    xfi_front_clear(&cells->front);
    xfi_free(cells->at);
    xfi_free(cells->occupied);
    *cells = (xfi_cells){0};
}

/* A scale and a phase for one front end, and how far t stays from the integers. */
typedef struct cell_trial {
    int candidate;
    double sigma;
    double shift;
    double distance;
} cell_trial;

typedef struct cell_hunt {
    const xfi_problem *problem;
    xfi_candidate *candidates; /* fronts with sigma 1 */
    int n_candidates;
    double **t;            /* [n_candidates][T]; NULL: this front is out of range */
    double *low, *high;    /* [n_candidates] range of t */
    double *error_bound;   /* [n_candidates] largest E */
    xfi_cell_pairs *pairs; /* [n_candidates] */
    int64_t *scratch;      /* [T] */
    xfi_cell_table table;
} cell_hunt;

static int compare_cells(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Sort the n cells and drop repetitions; returns how many are left. */
static int64_t sort_unique(int64_t *cells, int64_t n) {
    qsort(cells, (size_t)n, sizeof *cells, compare_cells);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || cells[i] != cells[i - 1])
            cells[kept++] = cells[i];
    return kept;
}

static int compare_cell_groups(const void *left, const void *right) {
    const xfi_cell_group *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* Groups of one sequence from its distinct cells: the last m - 1 alone, the rest first. */
static void add_groups(xfi_cells *out, const xf_dataset *data, int64_t j, const int64_t *cells,
                       int64_t n) {
    int64_t target = data->y_offsets[j], m = data->y_offsets[j + 1] - target;
    for (int64_t i = 0; i < n; i++) {
        int64_t g = i < n - m ? 0 : i - (n - m);
        xfi_cell_group *group = &out->at[target + g];
        if (g > 0 || i == 0)
            *group = (xfi_cell_group){cells[i], cells[i], j, target + g};
        group->high = cells[i];
        out->occupied[out->n_occupied++] = (xfi_cell_group){cells[i], cells[i], j, target + g};
    }
    out->n_multi += n > m;
}

/* Fill groups and occupied cells from cell[T]; 0 if some sequence has too few cells or
 * ranges overlap. */
static int make_groups(xfi_cells *out, const xf_dataset *data, int64_t *cell) {
    out->n = data->n_targets;
    out->n_occupied = out->n_multi = 0;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j];
        int64_t n = sort_unique(cell + first, data->x_offsets[j + 1] - first);
        if (n < data->y_offsets[j + 1] - data->y_offsets[j])
            return 0;
        add_groups(out, data, j, cell + first, n);
    }
    qsort(out->at, (size_t)out->n, sizeof *out->at, compare_cell_groups);
    qsort(out->occupied, (size_t)out->n_occupied, sizeof *out->occupied, compare_cell_groups);
    for (int64_t g = 0; g + 1 < out->n; g++)
        if (out->at[g].high >= out->at[g + 1].low)
            return 0;
    return 1;
}

/* Do the cells of a trial keep the sequences apart, and how far from the integers is t?
 * Stops at the first clash. Returns 0 on failure. */
static int evaluate_trial(cell_hunt *hunt, cell_trial *trial, double least) {
    const xf_dataset *data = hunt->problem->data;
    const double *t = hunt->t[trial->candidate];
    double bound = trial->sigma * hunt->error_bound[trial->candidate];
    trial->distance = 1.0;
    if (xfi_cell_pairs_clash(&hunt->pairs[trial->candidate], trial->sigma, trial->shift))
        return 0;
    xfi_cell_table_reset(&hunt->table);
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t distinct = 0, m = data->y_offsets[j + 1] - data->y_offsets[j], previous = -1;
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++) {
            double z = trial->sigma * (t[i] - trial->shift), whole = floor(z);
            trial->distance = fmin(trial->distance, fmin(z - whole, 1.0 - (z - whole)) - bound);
            int64_t cell = (int64_t)whole;
            if (!(trial->distance > least) || xfi_cell_table_claim(&hunt->table, cell, j) != j)
                return 0;
            distinct += cell != previous;
            previous = cell;
        }
        if (distinct < m) /* an upper bound of the number of distinct cells */
            return 0;
    }
    return 1;
}

static cell_trial draw_trial(const cell_hunt *hunt, int candidate, int phase, int b, xfi_rng *rng) {
    double span = hunt->high[candidate] - hunt->low[candidate];
    double full = ldexp(1.0, b) - 1.0, shrink = 1.0, start = 0.5;
    if (phase > 0) {
        shrink = 1.0 - 0.06 * xfi_rng_uniform(rng);
        start = 0.02 + (ldexp(1.0, b) - 0.04 - shrink * full) * xfi_rng_uniform(rng);
    }
    double sigma = span > 0 ? shrink * full / span : full;
    return (cell_trial){
        .candidate = candidate, .sigma = sigma, .shift = hunt->low[candidate] - start / sigma};
}

static double to_integer(double t) {
    double whole = floor(t);
    return fmin(t - whole, 1.0 - (t - whole));
}

double xfi_cell_margin(const xf_dataset *data, const double *t, const double *E,
                       int64_t closest[2]) {
    double margin = INFINITY;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++) {
            if (to_integer(t[i]) < margin * E[i]) {
                margin = to_integer(t[i]) / E[i];
                closest[0] = closest[1] = j;
            }
        }
    }
    return margin;
}

/* The cell of every token; *delta is the least certified distance of a t from the
 * integers. Returns 0 if a t is out of range or not certain. */
static int find_cells(int64_t *cell, int b, const double *t, const double *E, int64_t n_tokens,
                      double *delta) {
    double top = ldexp(1.0, b);
    *delta = 1.0;
    for (int64_t i = 0; i < n_tokens; i++) {
        double whole = floor(t[i]);
        *delta = fmin(*delta, to_integer(t[i]) - E[i]);
        if (!(*delta > 0) || whole < 0 || whole >= top)
            return 0;
        cell[i] = (int64_t)whole;
    }
    return 1;
}

/* Certify the trial from the stored weights and make the groups. */
static xf_status certify_trial(xfi_cells *out, int *ok, cell_hunt *hunt, const cell_trial *trial,
                               int b, double *t, double *E, xf_error *error) {
    const xfi_problem *problem = hunt->problem;
    const xf_dataset *data = problem->data;
    xfi_front front = hunt->candidates[trial->candidate].front;
    front.sigma = trial->sigma;
    front.shift = trial->shift;
    xf_model blocks;
    xfi_axes axes = {0, data->d > 1 ? 1 : -1};
    *ok = 0;
    XFI_TRY(xf_model_new(&blocks, xfi_front_blocks(&front), data->d, XFI_WIDTH, error));
    blocks.dtype = problem->options->dtype;
    xf_status status = XF_OK;
    if (xfi_front_emit(&front, &problem->format, axes, &blocks)) {
        status = xfi_front_bound_problem(t, E, &blocks, axes.k1, problem, error);
        *ok = status == XF_OK;
    }
    xf_model_clear(&blocks);
    double delta = 0;
    *ok = *ok && find_cells(hunt->scratch, b, t, E, data->n_tokens, &delta);
    if (!*ok || !make_groups(out, data, hunt->scratch)) {
        *ok = 0;
        return status;
    }
    out->b = b;
    out->margin = xfi_cell_margin(data, t, E, out->closest);
    out->k0 = -xfi_exponent(delta); /* 2^-k0 <= delta */
    *ok = out->k0 + b <= problem->format.p - 1;
    return *ok ? xfi_front_copy(&out->front, &front, data->d, error) : status;
}

/* The best trial at this b, if any; the first `skip` good ones are passed over. */
static int best_trial(cell_hunt *hunt, cell_trial *best, int b, int attempt) {
    xfi_rng rng;
    xfi_rng_seed(&rng, hunt->problem->options->seed, 0x500 + (uint64_t)(b * RETRIES + attempt));
    *best = (cell_trial){.distance = 0.0};
    for (int c = 0; c < hunt->n_candidates; c++) {
        for (int phase = 0; phase < PHASES && hunt->t[c] != NULL; phase++) {
            cell_trial trial = draw_trial(hunt, c, phase + attempt, b, &rng);
            if (evaluate_trial(hunt, &trial, best->distance))
                *best = trial;
        }
    }
    return best->distance > 0;
}

static void hunt_clear(cell_hunt *hunt) {
    for (int c = 0; c < hunt->n_candidates; c++) {
        xfi_front_clear(&hunt->candidates[c].front);
        if (hunt->t != NULL)
            xfi_free(hunt->t[c]);
    }
    xfi_free(hunt->candidates);
    xfi_free(hunt->t);
    xfi_free(hunt->low);
    xfi_free(hunt->high);
    xfi_free(hunt->error_bound);
    xfi_free(hunt->pairs);
    xfi_free(hunt->scratch);
    xfi_cell_table_clear(&hunt->table);
}

/* t and the largest E of every candidate at sigma 1. */
static xf_status measure_candidates(cell_hunt *hunt, double *E, xf_error *error) {
    const xfi_problem *problem = hunt->problem;
    const xf_dataset *data = problem->data;
    xfi_axes axes = {0, data->d > 1 ? 1 : -1};
    for (int c = 0; c < hunt->n_candidates; c++) {
        const xfi_front *front = &hunt->candidates[c].front;
        xf_model blocks;
        XFI_TRY(xf_model_new(&blocks, xfi_front_blocks(front), data->d, XFI_WIDTH, error));
        blocks.dtype = problem->options->dtype;
        xf_status status = XF_OK;
        if (xfi_front_emit(front, &problem->format, axes, &blocks)) {
            hunt->t[c] = xfi_calloc(data->n_tokens, sizeof(double));
            status = hunt->t[c] == NULL
                         ? xfi_fail_memory(error)
                         : xfi_front_bound_problem(hunt->t[c], E, &blocks, axes.k1, problem, error);
        }
        xf_model_clear(&blocks);
        XFI_TRY(status);
        hunt->low[c] = INFINITY;
        hunt->high[c] = -INFINITY;
        for (int64_t i = 0; hunt->t[c] != NULL && i < data->n_tokens; i++) {
            hunt->low[c] = fmin(hunt->low[c], hunt->t[c][i]);
            hunt->high[c] = fmax(hunt->high[c], hunt->t[c][i]);
            hunt->error_bound[c] = fmax(hunt->error_bound[c], E[i]);
        }
    }
    return XF_OK;
}

static xf_status find_pairs(cell_hunt *hunt, xf_error *error) {
    int ok = 1;
#pragma omp parallel for schedule(dynamic) num_threads(hunt->problem->threads) reduction(&& : ok)
    for (int c = 0; c < hunt->n_candidates; c++)
        if (hunt->t[c] != NULL)
            ok = xfi_cell_pairs_find(&hunt->pairs[c], hunt->t[c], hunt->problem->data) && ok;
    return ok ? XF_OK : xfi_fail_memory(error);
}

static xf_status hunt_init(cell_hunt *hunt, double *E, const xfi_search *search, xf_error *error) {
    *hunt = (cell_hunt){.problem = search->problem};
    hunt->candidates = xfi_calloc(XFI_CANDIDATES, sizeof *hunt->candidates);
    if (hunt->candidates == NULL)
        return xfi_fail_memory(error);
    XFI_TRY(xfi_search_cell_fronts(search, hunt->candidates, &hunt->n_candidates, error));
    int64_t n = hunt->n_candidates, n_tokens = search->problem->data->n_tokens;
    hunt->t = xfi_calloc(n, sizeof *hunt->t);
    hunt->low = xfi_calloc(n, sizeof(double));
    hunt->high = xfi_calloc(n, sizeof(double));
    hunt->error_bound = xfi_calloc(n, sizeof(double));
    hunt->pairs = xfi_calloc(n, sizeof *hunt->pairs);
    hunt->scratch = xfi_calloc(n_tokens, sizeof(int64_t));
    if (!hunt->t || !hunt->low || !hunt->high || !hunt->error_bound || !hunt->pairs ||
        !hunt->scratch || !xfi_cell_table_init(&hunt->table, n_tokens))
        return xfi_fail_memory(error);
    XFI_TRY(measure_candidates(hunt, E, error));
    return find_pairs(hunt, error);
}

static int least_b(const xfi_problem *problem, int b_min) {
    int b = b_min;
    while (((int64_t)1 << b) < problem->data->n_targets)
        b++;
    return b;
}

static xf_status hunt_all(xfi_cells *out, int *found, cell_hunt *hunt, int b_min, double *t,
                          double *E, xf_error *error) {
    int room = hunt->problem->format.p - 2; /* k0 + b <= p - 1, k0 >= 1 */
    int b_max = room < B_MAX ? room : B_MAX;
    for (int b = least_b(hunt->problem, b_min); b <= b_max && !*found; b++) {
        cell_trial trial;
        for (int attempt = 0; attempt < RETRIES && !*found; attempt++) {
            if (!best_trial(hunt, &trial, b, attempt))
                break;
            XFI_TRY(certify_trial(out, found, hunt, &trial, b, t, E, error));
        }
        XFI_TRY(xfi_problem_progress(hunt->problem, "cells", (double)b / B_MAX, error));
    }
    return XF_OK;
}

xf_status xfi_cells_search(xfi_cells *out, int *found, const xfi_search *search, int b_min,
                           xf_error *error) {
    const xf_dataset *data = search->problem->data;
    *out = (xfi_cells){0};
    *found = 0;
    double *t = xfi_calloc2(2, data->n_tokens, sizeof(double));
    out->at = xfi_calloc(data->n_targets, sizeof *out->at);
    out->occupied = xfi_calloc(data->n_tokens, sizeof *out->occupied);
    cell_hunt hunt = {0};
    xf_status status = t && out->at && out->occupied ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK)
        status = hunt_init(&hunt, t, search, error);
    if (status == XF_OK)
        status = hunt_all(out, found, &hunt, b_min, t, t + data->n_tokens, error);
    hunt_clear(&hunt);
    xfi_free(t);
    if (status != XF_OK || !*found)
        xfi_cells_clear(out);
    return status;
}
