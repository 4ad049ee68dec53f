/* Positions, the choice of a lift, and its neurons. */
#include "construct/lift.h"

#include "base/alloc.h"
#include "base/index_sort.h"
#include "construct/isolation.h"
#include "construct/neuron.h"
#include "construct/quantise.h"
#include "construct/separate.h"
#include "construct/sequences.h"
#include "num/sort.h"

#include <string.h>

enum { GRID = 30 };

static int compare_rows(const xf_dataset *data, int64_t a, int64_t b) {
    for (int64_t k = 0; k < data->d; k++) {
        double left = data->x[a * data->d + k], right = data->x[b * data->d + k];
        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}

static int row_before(const void *context, int64_t a, int64_t b) {
    int order = compare_rows(context, a, b);
    return order != 0 ? order < 0 : a < b;
}

static void number_values(xfi_crowd *crowd) {
    const xf_dataset *data = crowd->data;
    int64_t value = 0;
    for (int64_t i = 0; i < data->n_tokens; i++)
        crowd->order[i] = i;
    xfi_index_sort(crowd->order, data->n_tokens, row_before, data);
    for (int64_t i = 0; i < data->n_tokens; i++) {
        value += i > 0 && compare_rows(data, crowd->order[i - 1], crowd->order[i]) != 0;
        crowd->value[crowd->order[i]] = value;
    }
}

int xfi_crowd_init(xfi_crowd *out, const xfi_problem *problem) {
    const xf_dataset *data = problem->data;
    int64_t size = data->n_tokens * data->d;
    *out = (xfi_crowd){.data = data, .scale = xfi_separation_scale(problem), .n_classes = 1};
    out->z = xfi_calloc(size, sizeof(double));
    out->value = xfi_calloc(data->n_tokens, sizeof(int64_t));
    out->class = xfi_calloc(data->n_sequences, sizeof(int64_t));
    out->order = xfi_calloc(data->n_tokens, sizeof(int64_t));
    if (!out->z || !out->value || !out->class || !out->order) {
        xfi_crowd_clear(out);
        return 0;
    }
    for (int64_t i = 0; i < size; i++)
        out->z[i] = data->x[i] * out->scale;
    number_values(out);
    return 1;
}

void xfi_crowd_clear(xfi_crowd *crowd) {
    xfi_free(crowd->z);
    xfi_free(crowd->value);
    xfi_free(crowd->class);
    xfi_free(crowd->order);
    *crowd = (xfi_crowd){0};
}

static int64_t class_of(const xfi_crowd *crowd, int64_t token) {
    return crowd->class[xfi_sequence_of(crowd->data, token)];
}

static int position_before(const void *context, int64_t a, int64_t b) {
    const xfi_crowd *crowd = context;
    int64_t class_a = class_of(crowd, a), class_b = class_of(crowd, b);
    if (class_a != class_b)
        return class_a < class_b;
    if (crowd->value[a] != crowd->value[b])
        return crowd->value[a] < crowd->value[b];
    return a < b;
}

int64_t xfi_crowd_positions(const xfi_crowd *crowd, int64_t *first) {
    int64_t n = 0, previous = -1;
    xfi_index_sort(crowd->order, crowd->data->n_tokens, position_before, crowd);
    for (int64_t i = 0; i < crowd->data->n_tokens; i++) {
        int64_t token = crowd->order[i];
        int same = previous >= 0 && crowd->value[previous] == crowd->value[token] &&
                   class_of(crowd, previous) == class_of(crowd, token);
        if (!same)
            first[n++] = token;
        previous = token;
    }
    return n;
}

void xfi_lift_clear(xfi_lift *lift) {
    xfi_free(lift->u);
    *lift = (xfi_lift){0};
}

static int occurs_in(const xfi_crowd *crowd, int64_t value, int64_t j) {
    for (int64_t i = crowd->data->x_offsets[j]; i < crowd->data->x_offsets[j + 1]; i++)
        if (crowd->value[i] == value)
            return 1;
    return 0;
}

/* Room for the search over positions. */
typedef struct gallery {
    int64_t n;
    int64_t *first;  /* [T] a token of each position */
    xfi_quantised q; /* all tokens */
    int64_t *x;      /* [n][d] positions */
    xfi_isolation isolation;
} gallery;

static void gallery_clear(gallery *g) {
    xfi_free(g->first);
    xfi_free(g->x);
    xfi_quantised_clear(&g->q);
    xfi_isolation_clear(&g->isolation);
}

/* Returns 0 if memory is short; *feasible as in quantise.h. */
static int gallery_init(gallery *g, int *feasible, const xfi_crowd *crowd) {
    int64_t T = crowd->data->n_tokens, d = crowd->data->d;
    *g = (gallery){.first = xfi_calloc(T, sizeof(int64_t))};
    if (g->first == NULL || !xfi_quantise(&g->q, feasible, crowd->z, T, d, GRID, 0))
        return 0;
    if (!*feasible)
        return 1;
    g->n = xfi_crowd_positions(crowd, g->first);
    g->x = xfi_calloc2(g->n, d, sizeof(int64_t));
    for (int64_t i = 0; g->x != NULL && i < g->n; i++)
        memcpy(g->x + i * d, g->q.x + g->first[i] * d, (size_t)d * sizeof(int64_t));
    return g->x != NULL && xfi_isolation_init(&g->isolation, g->x, g->n, d);
}

static double projection(const double *u, const double *z, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += u[k] * z[k];
    return sum;
}

/* The slab around position p along direction c. */
static void make_lift(xfi_lift *out, const gallery *g, const xfi_crowd *crowd, int64_t p, int c) {
    int64_t d = crowd->data->d, gap = g->isolation.gap[c * g->n + p];
    for (int64_t k = 0; k < d; k++)
        out->u[k] = (double)g->isolation.directions[c * d + k];
    out->value = crowd->value[g->first[p]];
    out->class = class_of(crowd, g->first[p]);
    out->s = projection(out->u, crowd->z + g->first[p] * d, d);
    /* a few units for the rounding to the grid */
    double room = ((double)gap - 2.0 * (double)g->isolation.norms[c]) / 3;
    if (room >= 1)
        out->r = ldexp(1.0, xfi_exponent(room) + g->q.exponent);
}

int xfi_lift_choose(xfi_lift *out, const xfi_crowd *crowd, int64_t j, int64_t k) {
    gallery g;
    int feasible = 0, best_direction = 0;
    int64_t best = -1;
    double best_isolation = 0;
    *out = (xfi_lift){.u = xfi_calloc(crowd->data->d, sizeof(double))};
    int ok = gallery_init(&g, &feasible, crowd) && out->u != NULL;
    for (int64_t p = 0; ok && p < g.n; p++) {
        int64_t value = crowd->value[g.first[p]];
        int c = 0;
        if (class_of(crowd, g.first[p]) != crowd->class[j] ||
            occurs_in(crowd, value, j) == occurs_in(crowd, value, k))
            continue;
        double isolation = xfi_isolation_of(&g.isolation, p, &c);
        if (isolation > best_isolation) {
            best_isolation = isolation;
            best_direction = c;
            best = p;
        }
    }
    if (ok && best >= 0)
        make_lift(out, &g, crowd, best, best_direction);
    gallery_clear(&g);
    if (!ok)
        xfi_lift_clear(out);
    return ok;
}

void xfi_lift_apply(const xfi_lift *lift, const xfi_crowd *crowd, double *z) {
    for (int64_t i = 0; i < crowd->data->n_tokens; i++)
        if (crowd->value[i] == lift->value && class_of(crowd, i) == lift->class)
            z[i * crowd->data->d] += lift->H;
}

void xfi_lift_emit(const xfi_lift *lift, const xfi_format *format, xf_model *model, int64_t block,
                   double eta) {
    static const double edges[4] = {2, 1, -1, -2}, signs[4] = {1, -1, -1, 1};
    int64_t d = model->d, w = model->width;
    for (int i = 0; i < 4; i++) {
        for (int64_t k = 0; k < d; k++)
            model->ff_U[(block * w + i) * d + k] = lift->u[k] != 0.0 ? lift->u[k] * eta : 0.0;
        model->ff_b[block * w + i] = xfi_round(format, edges[i] * lift->r - lift->s);
        xfi_neuron_out(model, block, i, 0, xfi_round(format, signs[i] * lift->H / lift->r));
    }
}

double xfi_least_distance(const double *points, int64_t n, int64_t d, double enough) {
    double *key = xfi_calloc(n, sizeof *key), least = INFINITY;
    int64_t *order = xfi_calloc(n, sizeof *order);
    double norm = 0;
    int ok = key != NULL && order != NULL;
    for (int64_t k = 0; ok && k < d; k++) {
        double weight = 1.0 + fmod(0.6180339887498949 * (double)(k + 1), 1.0);
        norm += weight;
        for (int64_t i = 0; i < n; i++)
            key[i] += weight * points[i * d + k];
    }
    ok = ok && xfi_sort_index(order, key, n);
    for (int64_t i = 0; ok && i < n && least >= enough; i++)
        for (int64_t l = i + 1; l < n && key[order[l]] - key[order[i]] < norm * least; l++) {
            double distance = 0;
            for (int64_t k = 0; k < d; k++)
                distance =
                    fmax(distance, fabs(points[order[i] * d + k] - points[order[l] * d + k]));
            least = fmin(least, distance);
        }
    xfi_free(key);
    xfi_free(order);
    return ok ? least : -1.0;
}
