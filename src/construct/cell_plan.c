/* Cells and offsets: one attempt for each span, the best is kept. */
#include "construct/cell_plan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/cell_bins.h"
#include "num/sort.h"

#include <math.h>

enum { ATTEMPTS = 6 };

static const double ratios[ATTEMPTS] = {64, 32, 16, 8, 4, 2};

int xfi_two_lines_init(xfi_two_lines *lines, int64_t n, int64_t n_groups) {
    *lines = (xfi_two_lines){.n = n};
    lines->a = xfi_calloc(n, sizeof(double));
    lines->a_error = xfi_calloc(n, sizeof(double));
    lines->first = xfi_calloc(n + 1, sizeof(int64_t));
    lines->b = xfi_calloc(n_groups, sizeof(double));
    lines->b_error = xfi_calloc(n_groups, sizeof(double));
    if (lines->a && lines->a_error && lines->first && lines->b && lines->b_error)
        return 1;
    xfi_two_lines_clear(lines);
    return 0;
}

void xfi_two_lines_clear(xfi_two_lines *lines) {
    xfi_free(lines->a);
    xfi_free(lines->a_error);
    xfi_free(lines->first);
    xfi_free(lines->b);
    xfi_free(lines->b_error);
    *lines = (xfi_two_lines){0};
}

void xfi_cell_plan_clear(xfi_cell_plan *plan) {
    xfi_free(plan->cell);
    xfi_free(plan->offset);
    *plan = (xfi_cell_plan){0};
}

/* What all attempts share. */
typedef struct planner {
    const xfi_two_lines *lines;
    const xfi_cell_plan_options *options;
    int64_t *order; /* [n] */
    int64_t *cut;   /* [n] */
    int64_t zero;
    double range; /* of b */
} planner;

/* One attempt. */
typedef struct attempt {
    xfi_cell_run *runs; /* [n] */
    int64_t n_runs;     /* 0: it failed */
    int64_t longer;
    double span;
    double width;
    int64_t step;
    int ok; /* memory */
} attempt;

/* A cut is permitted where everything before is clear of everything after, with the margin. */
static int find_cuts(planner *p) {
    const xfi_two_lines *lines = p->lines;
    int64_t n = lines->n;
    double *low = xfi_calloc(n, sizeof(double)), highest = -INFINITY, largest = 0;
    if (low == NULL)
        return 0;
    for (int64_t i = n - 1; i >= 0; i--) {
        int64_t j = p->order[i];
        double at = lines->a[j] - p->options->margin * lines->a_error[j];
        low[i] = i + 1 < n ? fmin(at, low[i + 1]) : at;
        largest = fmax(largest, fabs(lines->a[j]));
    }
    double room = 4 * p->options->format->u * largest; /* for codes */
    for (int64_t i = 0; i < n; i++) {
        int64_t j = p->order[i];
        p->cut[i] = i == 0 || low[i] - highest > room ? i : p->cut[i - 1];
        highest = fmax(highest, lines->a[j] + p->options->margin * lines->a_error[j]);
        p->zero += lines->a[j] < 0;
    }
    xfi_free(low);
    return 1;
}

static void find_range(planner *p) {
    const xfi_two_lines *lines = p->lines;
    double low = INFINITY, high = -INFINITY, error = 0, largest = 0;
    for (int64_t g = 0; g < lines->first[lines->n]; g++) {
        low = fmin(low, lines->b[g]);
        high = fmax(high, lines->b[g]);
        error = fmax(error, lines->b_error[g]);
        largest = fmax(largest, fabs(lines->b[g]));
    }
    p->range = fmax(high - low, fmax(64 * p->options->margin * error, 0x1p-8 * largest));
    if (p->range == 0.0)
        p->range = 1.0;
}

static void try_bins(attempt *a, xfi_cell_bins *bins, const planner *p) {
    int apart = 0;
    a->ok = xfi_cell_bins_init(bins, &apart, p->options);
    if (!a->ok || !apart)
        return;
    a->ok = xfi_cell_cut(a->runs, &a->n_runs, bins);
    if (a->ok && a->n_runs > 0)
        a->ok = xfi_cell_place(a->runs, &a->n_runs, &a->longer, bins, p->options);
    a->width = bins->width;
    a->step = bins->step;
}

static void make_attempt(attempt *a, const planner *p, double ratio) {
    *a = (attempt){.runs = xfi_calloc(p->lines->n + 1, sizeof(xfi_cell_run))};
    if (a->runs == NULL)
        return;
    xfi_cell_bins bins = {.lines = p->lines, .order = p->order, .cut = p->cut, .zero = p->zero};
    int exponent = xfi_exponent(ratio * p->range);
    a->span = bins.span =
        ldexp(1.0, ldexp(1.0, exponent) < ratio * p->range ? exponent + 1 : exponent);
    try_bins(a, &bins, p);
    xfi_cell_bins_clear(&bins);
}

/* Blocks: half of the cells, and the longer lane of the writer. */
static double cost(const attempt *a) {
    return a->n_runs > 0 ? (double)a->n_runs / 2 + (double)a->longer : INFINITY;
}

static int take(xfi_cell_plan *out, const attempt *a, const planner *p) {
    out->n_cells = a->n_runs;
    out->cell = xfi_calloc(p->lines->n, sizeof(int64_t));
    out->offset = xfi_calloc(a->n_runs, sizeof(double));
    if (out->cell == NULL || out->offset == NULL) {
        xfi_cell_plan_clear(out);
        return 0;
    }
    for (int64_t c = 0; c < a->n_runs; c++) {
        out->offset[c] = (double)a->runs[c].offset * a->width;
        for (int64_t i = a->runs[c].first; i < a->runs[c].last; i++)
            out->cell[p->order[i]] = c;
    }
    out->span = a->span;
    out->unit = a->width * (double)a->step;
    out->longer = a->longer;
    return 1;
}

/* All spans, in parallel: each attempt is the same whoever makes it. */
static int try_all(xfi_cell_plan *out, int *found, const planner *p) {
    attempt attempts[ATTEMPTS];
    const attempt *best = NULL;
    int ok = 1;
#pragma omp parallel for num_threads(p->options->threads) schedule(dynamic, 1)
    for (int i = 0; i < ATTEMPTS; i++)
        make_attempt(&attempts[i], p, ratios[i]);
    for (int i = 0; i < ATTEMPTS; i++) {
        ok = ok && attempts[i].ok;
        if (attempts[i].n_runs > 0 && (best == NULL || cost(&attempts[i]) < cost(best)))
            best = &attempts[i];
    }
    *found = best != NULL;
    if (ok && *found)
        ok = take(out, best, p);
    for (int i = 0; i < ATTEMPTS; i++)
        xfi_free(attempts[i].runs);
    return ok;
}

xf_status xfi_cell_plan_make(xfi_cell_plan *out, int *found, const xfi_two_lines *lines,
                             const xfi_cell_plan_options *options, xf_error *error) {
    *out = (xfi_cell_plan){0};
    *found = 0;
    planner p = {.lines = lines, .options = options};
    p.order = xfi_calloc(lines->n, sizeof(int64_t));
    p.cut = xfi_calloc(lines->n, sizeof(int64_t));
    int ok = p.order && p.cut && xfi_sort_index(p.order, lines->a, lines->n) && find_cuts(&p);
    if (ok) {
        find_range(&p);
        int between = p.zero == 0 || p.zero == lines->n || p.cut[p.zero] == p.zero;
        ok = !between || !isfinite(p.range) || try_all(out, found, &p);
    }
    xfi_free(p.order);
    xfi_free(p.cut);
    return ok ? XF_OK : xfi_fail_memory(error);
}
