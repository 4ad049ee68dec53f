/* The diagonal, the arc and the line. */
#include "construct/places.h"

#include "base/alloc.h"
#include "construct/sequences.h"
#include "num/sort.h"

#include <math.h>

/* The arc keeps this far from the orthant's walls, and the line's numbers above LEAST. */
static const double INSIDE = 0.9, LEAST = 0.2;

enum { LEAST_BITS = 10 };

/* Leaders of one sequence spread over the whole arc: by (i + 1/2)/(m_j - 1), then by j. */
static int rank_arc(xfi_places *places) {
    const xf_dataset *data = places->data;
    double *key = xfi_calloc(places->n_arc, sizeof *key);
    int64_t *row = xfi_calloc(places->n_arc, sizeof *row);
    int64_t *order = xfi_calloc(places->n_arc, sizeof *order), n = 0;
    int ok = key != NULL && row != NULL && order != NULL;
    for (int64_t j = 0; ok && j < data->n_sequences; j++) {
        int64_t m = xfi_targets_of(data, j);
        for (int64_t i = 1; i < m; i++) {
            key[n] = ((double)i - 0.5) / (double)(m - 1);
            row[n++] = data->y_offsets[j] + i;
        }
    }
    ok = ok && xfi_sort_index(order, key, n);
    for (int64_t i = 0; ok && i < n; i++)
        places->rank[row[order[i]]] = i;
    xfi_free(key);
    xfi_free(row);
    xfi_free(order);
    return ok;
}

int xfi_places_init(xfi_places *out, const xf_dataset *data, double h) {
    double d = (double)data->d;
    *out = (xfi_places){.data = data, .h = h, .n_arc = data->n_targets - data->n_sequences};
    out->widest = INSIDE * atan(sqrt(2.0 * floor(d / 2) / d));
    out->phi = acos(0.0) - out->widest;
    out->rank = xfi_calloc(data->n_targets, sizeof *out->rank);
    if (out->rank != NULL && rank_arc(out))
        return 1;
    xfi_places_clear(out);
    return 0;
}

void xfi_places_clear(xfi_places *places) {
    xfi_free(places->rank);
    *places = (xfi_places){0};
}

/* scale (-cos(angle) 1/sqrt(d) + sin(angle) q) */
static void point_at(double *out, int64_t d, double angle, double scale) {
    double along = -cos(angle) / sqrt((double)d);
    double across = sin(angle) / sqrt(2.0 * floor((double)d / 2));
    for (int64_t k = 0; k < d; k++) {
        double side = k < d / 2 ? 1.0 : k < d / 2 * 2 ? -1.0 : 0.0;
        out[k] = scale * (along + side * across);
    }
}

void xfi_places_at(double *out, const xfi_places *places, int64_t j, int64_t i) {
    const xf_dataset *data = places->data;
    int64_t d = data->d;
    if (i == 0) {
        double share = (double)(j + 1) / (double)(data->n_sequences + 1);
        for (int64_t k = 0; k < d; k++)
            out[k] = 4 * places->h * (1.0 + share);
        return;
    }
    double place = (double)places->rank[data->y_offsets[j] + i] + 0.5;
    double t = LEAST + (sin(2 * places->widest) - LEAST) * place / (double)places->n_arc;
    point_at(out, d, places->phi - acos(t), 4 * places->h * sqrt((double)d));
}

void xfi_places_line(double *out, const xfi_places *places) {
    point_at(out, places->data->d, places->phi, 0x1p20);
    for (int64_t k = 0; k < places->data->d; k++)
        out[k] = nearbyint(out[k]) * 0x1p-20;
}

int xfi_places_bits(const xfi_places *places) {
    const xf_dataset *data = places->data;
    int64_t m = 1;
    for (int64_t j = 0; j < data->n_sequences; j++)
        m = xfi_targets_of(data, j) > m ? xfi_targets_of(data, j) : m;
    double bits = ceil(2 * log2((double)m)) + 3;
    bits = fmax(bits, ceil(log2((double)(data->n_sequences + 1))) + 2);
    bits = fmax(bits, ceil(log2((double)(places->n_arc + 1))) + 2);
    return bits > LEAST_BITS ? (int)bits : LEAST_BITS;
}
