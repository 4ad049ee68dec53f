/* Bins, and cutting line a into cells. */
#include "construct/cell_bins.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

enum {
    MAX_BITS = 26, /* bins of t */
    MIN_BITS = 16,
    GROUP_BITS = 13, /* and at most so many for each group, or up to twice as many */
    CUT_BITS = 23,   /* bins of b while cutting */
    EASY_BITS = 28   /* where rounding is far smaller, intervals get this share of the line */
};

void xfi_cell_bins_clear(xfi_cell_bins *bins) {
    xfi_free(bins->low);
    xfi_free(bins->high);
    bins->low = bins->high = NULL;
}

/* Half the length of the interval that group g keeps free. */
static double half_length(const xfi_cell_bins *bins, int64_t g,
                          const xfi_cell_plan_options *options) {
    double e = bins->lines->b_error[g];
    double E = e + options->format->u * (bins->span / 2 + e);
    return fmax(options->margin * E, ldexp(bins->span, -EASY_BITS));
}

/* Are the groups of every sequence apart? */
static int are_apart(const xfi_cell_bins *bins, const xfi_cell_plan_options *options) {
    const xfi_two_lines *lines = bins->lines;
    for (int64_t j = 0; j < lines->n; j++)
        for (int64_t g = lines->first[j]; g + 1 < lines->first[j + 1]; g++)
            if (!(lines->b[g] + half_length(bins, g, options) <
                  lines->b[g + 1] - half_length(bins, g + 1, options)))
                return 0;
    return 1;
}

/* A power of two of which offsets and their shifts can be multiples in p bits. */
static double choose_unit(const xfi_cell_bins *bins, const xfi_cell_plan_options *options) {
    double largest = bins->span; /* of |offset - shift| */
    for (int64_t g = 0; g < bins->lines->first[bins->lines->n]; g++)
        largest = fmax(largest, bins->span + fabs(bins->lines->b[g]));
    return ldexp(1.0, xfi_exponent(largest) + 1 - options->format->p);
}

/* log2 of the number of bins at most: few groups need few, and clearing them takes time. */
static int most_bits(int64_t n_groups) {
    int bits = GROUP_BITS;
    while (bits < MAX_BITS && n_groups >> (bits - GROUP_BITS) > 0)
        bits++;
    return bits > MIN_BITS ? bits : MIN_BITS;
}

/* Bins a quarter to an eighth of the shortest interval, but not too many. */
static void choose_width(xfi_cell_bins *bins, const xfi_cell_plan_options *options) {
    int64_t n = bins->lines->first[bins->lines->n];
    double shortest = INFINITY, unit = choose_unit(bins, options);
    for (int64_t g = 0; g < n; g++)
        shortest = fmin(shortest, 2 * half_length(bins, g, options));
    bins->width = fmax(ldexp(1.0, xfi_exponent(shortest) - 2), ldexp(bins->span, -most_bits(n)));
    bins->n = (int64_t)(bins->span / bins->width);
    bins->step = unit > bins->width ? (int64_t)(unit / bins->width) : 1;
}

int xfi_cell_bins_init(xfi_cell_bins *bins, int *apart, const xfi_cell_plan_options *options) {
    const xfi_two_lines *lines = bins->lines;
    int64_t n = lines->first[lines->n];
    bins->low = bins->high = NULL;
    *apart = are_apart(bins, options);
    if (!*apart)
        return 1;
    choose_width(bins, options);
    bins->low = xfi_calloc(n, sizeof(int32_t));
    bins->high = xfi_calloc(n, sizeof(int32_t));
    if (bins->low == NULL || bins->high == NULL) {
        xfi_cell_bins_clear(bins);
        return 0;
    }
    for (int64_t g = 0; g < n; g++) {
        double half = half_length(bins, g, options);
        double low = floor((lines->b[g] - half) / bins->width);
        double high = floor((lines->b[g] + half) / bins->width);
        if (fabs(low) > 0x1p30 || fabs(high) > 0x1p30) { /* b far from 0 for its range */
            *apart = 0;
            return 1;
        }
        bins->low[g] = (int32_t)low;
        bins->high[g] = (int32_t)high;
    }
    return 1;
}

int64_t xfi_cell_reserved(const xfi_cell_bins *bins, double share) {
    return (int64_t)(share * (double)bins->n);
}

/* A table of who was last in each bin of b; bins are coarser if there were too many. */
typedef struct table {
    int32_t *last; /* position in the order, or -1 */
    int32_t base;
    int shift;
} table;

static int table_init(table *out, const xfi_cell_bins *bins) {
    int64_t n = bins->lines->first[bins->lines->n], size;
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (int64_t g = 0; g < n; g++) {
        low = bins->low[g] < low ? bins->low[g] : low;
        high = bins->high[g] > high ? bins->high[g] : high;
    }
    *out = (table){.base = low};
    while (((int64_t)high - low) >> out->shift >= (int64_t)1 << CUT_BITS)
        out->shift++;
    size = ((((int64_t)high - low) >> out->shift) + 1);
    out->last = xfi_calloc(size, sizeof(int32_t));
    for (int64_t i = 0; out->last != NULL && i < size; i++)
        out->last[i] = -1;
    return out->last != NULL;
}

/* The latest earlier sequence, not before `first`, that sequence order[i] meets; or -1. */
static int64_t find_conflict(const table *t, const xfi_cell_bins *bins, int64_t i, int64_t first) {
    const int64_t *of = bins->lines->first;
    int64_t j = bins->order[i], found = -1;
    for (int64_t g = of[j]; g < of[j + 1]; g++) {
        int32_t end = (bins->high[g] - t->base) >> t->shift;
        for (int32_t b = (bins->low[g] - t->base) >> t->shift; b <= end; b++)
            if (t->last[b] >= first && t->last[b] < i && t->last[b] > found)
                found = t->last[b];
    }
    return found;
}

static void enter(table *t, const xfi_cell_bins *bins, int64_t i) {
    const int64_t *of = bins->lines->first;
    int64_t j = bins->order[i];
    for (int64_t g = of[j]; g < of[j + 1]; g++) {
        int32_t end = (bins->high[g] - t->base) >> t->shift;
        for (int32_t b = (bins->low[g] - t->base) >> t->shift; b <= end; b++)
            t->last[b] = (int32_t)i;
    }
}

/* So many groups that a random offset has a fair chance: about exp(-7) at the end. */
static int64_t choose_cap(const xfi_cell_bins *bins) {
    int64_t n = bins->lines->first[bins->lines->n];
    double occupied = 0;
    for (int64_t g = 0; g < n; g++)
        occupied += bins->high[g] - bins->low[g] + 1;
    double cap = 3.5 * (double)bins->n / occupied, limit = (double)n / 4;
    cap = cap < limit ? cap : limit;
    return cap > 1 ? (int64_t)cap : 1;
}

typedef struct cutter {
    xfi_cell_run *runs;
    int64_t n_runs;
    int64_t first; /* of the cell at hand */
    int64_t groups;
    int64_t cap;
} cutter;

static int64_t count_groups(const xfi_cell_bins *bins, int64_t first, int64_t last) {
    int64_t n = 0;
    for (int64_t i = first; i < last; i++)
        n += bins->lines->first[bins->order[i] + 1] - bins->lines->first[bins->order[i]];
    return n;
}

/* End the cell before order[at]; order[at .. i-1] begin the next one. */
static void cut_before(cutter *c, const xfi_cell_bins *bins, int64_t at, int64_t i) {
    int64_t kept = count_groups(bins, at, i);
    c->runs[c->n_runs++] =
        (xfi_cell_run){.first = c->first, .last = at, .groups = c->groups - kept};
    c->first = at;
    c->groups = kept;
}

/* Returns 0 if order[i] cannot be cut off from what it meets. */
static int add_sequence(cutter *c, const table *t, const xfi_cell_bins *bins, int64_t i) {
    int64_t own = count_groups(bins, i, i + 1), latest = bins->cut[i];
    if (i == bins->zero && i > c->first)
        cut_before(c, bins, i, i);
    int64_t met = find_conflict(t, bins, i, c->first);
    if (met >= 0 && latest <= met)
        return 0;
    int full = c->groups + own > c->cap && latest > c->first;
    if (met >= 0 || full)
        cut_before(c, bins, latest, i);
    c->groups += own;
    return 1;
}

int xfi_cell_cut(xfi_cell_run *runs, int64_t *n_runs, const xfi_cell_bins *bins) {
    int64_t n = bins->lines->n;
    table t;
    *n_runs = 0;
    if (!table_init(&t, bins))
        return 0;
    cutter c = {.runs = runs, .cap = choose_cap(bins)};
    int ok = 1;
    for (int64_t i = 0; ok && i < n; i++) {
        ok = add_sequence(&c, &t, bins, i);
        enter(&t, bins, i);
    }
    if (ok) {
        cut_before(&c, bins, n, n);
        *n_runs = c.n_runs;
    }
    xfi_free(t.last);
    return 1;
}
