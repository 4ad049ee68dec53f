/* Sorted projections and their gaps. */
#include "construct/isolation.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 24, MOST_SPARSE = 28, ATTEMPTS = 400 };

static int64_t absolute(int64_t v) {
    return v < 0 ? -v : v;
}

/* Is u, or -u, among the directions already? A multiple of a shorter one is no harm. */
static int occurs(const xfi_isolation *iso, const int64_t *u) {
    for (int c = 0; c < iso->n_directions; c++) {
        const int64_t *v = iso->directions + c * iso->d;
        int same = 1, opposite = 1;
        for (int64_t k = 0; k < iso->d; k++) {
            same = same && u[k] == v[k];
            opposite = opposite && u[k] == -v[k];
        }
        if (same || opposite)
            return 1;
    }
    return 0;
}

static int64_t draw_entry(xfi_rng *rng, int64_t d) {
    int64_t largest = d == 2 ? 9 : d == 3 ? 5 : 3;
    int64_t entry = 1 + xfi_rng_below(rng, largest);
    return xfi_rng_below(rng, 2) ? entry : -entry;
}

static void draw_sparse(int64_t *u, int64_t d, xfi_rng *rng) {
    memset(u, 0, (size_t)d * sizeof *u);
    int64_t n = 2 + xfi_rng_below(rng, 3);
    for (int64_t i = 0; i < n; i++)
        u[xfi_rng_below(rng, d)] = draw_entry(rng, d);
}

static void draw_dense(int64_t *u, int64_t d, xfi_rng *rng) {
    for (int64_t k = 0; k < d; k++)
        u[k] = xfi_rng_below(rng, 2) ? 1 : -1;
}

/* Keep the direction after the last one if it is new. */
static void keep_direction(xfi_isolation *iso) {
    int64_t *u = iso->directions + iso->n_directions * iso->d, norm = 0;
    for (int64_t k = 0; k < iso->d; k++)
        norm += absolute(u[k]);
    iso->norms[iso->n_directions] = norm;
    if (norm > 0 && !occurs(iso, u))
        iso->n_directions++;
}

static void choose_directions(xfi_isolation *iso) {
    xfi_rng rng;
    xfi_rng_seed(&rng, (uint64_t)iso->d, 0x500);
    for (int64_t k = 0; k < iso->d && k < MOST_AXES; k++) {
        int64_t *u = iso->directions + iso->n_directions * iso->d;
        memset(u, 0, (size_t)iso->d * sizeof *u);
        u[k * iso->d / (iso->d < MOST_AXES ? iso->d : MOST_AXES)] = 1;
        keep_direction(iso);
    }
    int sparse_end = iso->n_directions + MOST_SPARSE;
    for (int i = 0; i < ATTEMPTS && iso->n_directions < XFI_ISO_DIRECTIONS; i++) {
        int64_t *u = iso->directions + iso->n_directions * iso->d;
        if (iso->n_directions < sparse_end || iso->d < 4)
            draw_sparse(u, iso->d, &rng);
        else
            draw_dense(u, iso->d, &rng);
        keep_direction(iso);
    }
}

static int64_t project(const int64_t *u, const int64_t *x, int64_t d) {
    int64_t sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += u[k] * x[k];
    return sum;
}

static int compare_places(const void *left, const void *right) {
    const xfi_place_on_line *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return (a->token > b->token) - (a->token < b->token);
}

/* The gap of the token at place i. */
static void measure_gap(xfi_isolation *iso, int c, int64_t i) {
    const xfi_place_on_line *line = iso->line + c * iso->n;
    if (i < 0 || i >= iso->n)
        return;
    int64_t gap = INT64_MAX;
    if (i > 0)
        gap = line[i].value - line[i - 1].value;
    if (i + 1 < iso->n && line[i + 1].value - line[i].value < gap)
        gap = line[i + 1].value - line[i].value;
    int64_t *known = &iso->gap[c * iso->n + line[i].token];
    if (*known != gap)
        iso->best[line[i].token] = -1;
    *known = gap;
}

static void fill_line(xfi_isolation *iso, int c, const int64_t *x) {
    xfi_place_on_line *line = iso->line + c * iso->n;
    const int64_t *u = iso->directions + c * iso->d;
    for (int64_t i = 0; i < iso->n; i++) {
        line[i] = (xfi_place_on_line){project(u, x + i * iso->d, iso->d), i};
        iso->value[c * iso->n + i] = line[i].value;
    }
    qsort(line, (size_t)iso->n, sizeof *line, compare_places);
    for (int64_t i = 0; i < iso->n; i++)
        measure_gap(iso, c, i);
}

int xfi_isolation_init(xfi_isolation *out, const int64_t *x, int64_t n, int64_t d) {
    *out = (xfi_isolation){.n = n, .d = d};
    out->directions = xfi_calloc2(XFI_ISO_DIRECTIONS + 1, d, sizeof(int64_t));
    out->norms = xfi_calloc(XFI_ISO_DIRECTIONS + 1, sizeof(int64_t));
    if (out->directions != NULL && out->norms != NULL)
        choose_directions(out);
    out->line = xfi_calloc2(out->n_directions, n, sizeof *out->line);
    out->value = xfi_calloc2(out->n_directions, n, sizeof(int64_t));
    out->gap = xfi_calloc2(out->n_directions, n, sizeof(int64_t));
    out->best = xfi_calloc(n, sizeof(int));
    if (!out->directions || !out->norms || !out->line || !out->value || !out->gap || !out->best) {
        xfi_isolation_clear(out);
        return 0;
    }
    for (int64_t i = 0; i < n; i++)
        out->best[i] = -1;
    for (int c = 0; c < out->n_directions; c++)
        fill_line(out, c, x);
    return 1;
}

void xfi_isolation_clear(xfi_isolation *iso) {
    xfi_free(iso->directions);
    xfi_free(iso->norms);
    xfi_free(iso->line);
    xfi_free(iso->value);
    xfi_free(iso->gap);
    xfi_free(iso->best);
    *iso = (xfi_isolation){0};
}

/* The first of n places not before `place`. */
static int64_t find_place(const xfi_place_on_line *line, int64_t n, xfi_place_on_line place) {
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (compare_places(&line[middle], &place) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void move_on_line(xfi_isolation *iso, int c, int64_t token, int64_t value) {
    xfi_place_on_line *line = iso->line + c * iso->n, place = {value, token};
    int64_t *old = iso->value + c * iso->n + token;
    int64_t from = find_place(line, iso->n, (xfi_place_on_line){*old, token});
    int64_t to = find_place(line, iso->n, place); /* the old place still counts */
    to -= to > from;
    if (to > from)
        memmove(line + from, line + from + 1, (size_t)(to - from) * sizeof *line);
    else
        memmove(line + to + 1, line + to, (size_t)(from - to) * sizeof *line);
    line[to] = place;
    *old = value;
    for (int64_t i = -1; i <= 1; i++) {
        measure_gap(iso, c, from + i);
        measure_gap(iso, c, to + i);
    }
}

void xfi_isolation_move(xfi_isolation *iso, int64_t token, const int64_t *x) {
    for (int c = 0; c < iso->n_directions; c++)
        move_on_line(iso, c, token, project(iso->directions + c * iso->d, x, iso->d));
}

static double iso_on(const xfi_isolation *iso, int64_t token, int c) {
    return (double)iso->gap[c * iso->n + token] / (double)iso->norms[c];
}

double xfi_isolation_of(xfi_isolation *iso, int64_t token, int *direction) {
    int *best = &iso->best[token];
    if (*best < 0) {
        *best = 0;
        for (int c = 1; c < iso->n_directions; c++)
            if (iso_on(iso, token, c) > iso_on(iso, token, *best))
                *best = c;
    }
    *direction = *best;
    return iso_on(iso, token, *best);
}

int64_t xfi_isolation_neighbour(const xfi_isolation *iso, int64_t token, int direction) {
    const xfi_place_on_line *line = iso->line + direction * iso->n;
    int64_t value = iso->value[direction * iso->n + token];
    int64_t gap = iso->gap[direction * iso->n + token];
    int64_t i = find_place(line, iso->n, (xfi_place_on_line){value, token});
    if (i > 0 && value - line[i - 1].value == gap)
        return line[i - 1].token;
    return i + 1 < iso->n ? line[i + 1].token : -1;
}
