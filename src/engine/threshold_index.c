/* Thresholds of one coordinate, with their extremes over powers of FAN entries. */
#include "engine/threshold_index.h"

#include "base/alloc.h"

#include <math.h>
#include <stddef.h>

void xfi_levels_lay_out(xfi_levels *out, int64_t entries) {
    *out = (xfi_levels){0};
    for (int64_t n = entries; n > 0; n = (n + XFI_INDEX_FAN - 1) / XFI_INDEX_FAN) {
        out->count[out->n] = n;
        out->start[out->n++] = out->total;
        out->total += n;
        if (n == 1)
            return;
    }
}

int xfi_threshold_index_new(xfi_threshold_index *out, int64_t coordinate, int64_t entries) {
    *out = (xfi_threshold_index){.coordinate = coordinate};
    xfi_levels_lay_out(&out->levels, entries);
    out->step = xfi_calloc(entries, sizeof *out->step);
    out->above = xfi_calloc(out->levels.total, sizeof *out->above);
    out->below = xfi_calloc(out->levels.total, sizeof *out->below);
    return out->step != NULL && out->above != NULL && out->below != NULL;
}

void xfi_threshold_index_clear(xfi_threshold_index *index) {
    xfi_free(index->step);
    xfi_free(index->above);
    xfi_free(index->below);
    *index = (xfi_threshold_index){0};
}

void xfi_threshold_index_close(xfi_threshold_index *index) {
    const xfi_levels *levels = &index->levels;
    for (int l = 1; l < levels->n; l++) {
        const double *above = index->above + levels->start[l - 1];
        const double *below = index->below + levels->start[l - 1];
        for (int64_t i = 0; i < levels->count[l]; i++) {
            double least = INFINITY, largest = -INFINITY;
            int64_t end = (i + 1) * XFI_INDEX_FAN;
            end = end < levels->count[l - 1] ? end : levels->count[l - 1];
            for (int64_t k = i * XFI_INDEX_FAN; k < end; k++) {
                least = above[k] < least ? above[k] : least;
                largest = below[k] > largest ? below[k] : largest;
            }
            index->above[levels->start[l] + i] = least;
            index->below[levels->start[l] + i] = largest;
        }
    }
}

int64_t xfi_threshold_index_next(const xfi_threshold_index *index, double x, int64_t from,
                                 int64_t *visits) {
    const xfi_levels *levels = &index->levels;
    int level = 0;
    int64_t i = from, n_visits = 0;
    while (i < levels->count[level]) {
        int64_t node = levels->start[level] + i;
        n_visits++;
        if (x > index->above[node] || x < index->below[node]) {
            if (level == 0)
                break;
            level--;
            i *= XFI_INDEX_FAN;
            continue;
        }
        i++;
        while (i % XFI_INDEX_FAN == 0 && level + 1 < levels->n) {
            i /= XFI_INDEX_FAN;
            level++;
        }
    }
    *visits += n_visits;
    return i < levels->count[level] ? i : levels->count[0];
}

int64_t xfi_first_at_step(const int64_t *steps, int64_t from, int64_t n, int64_t step) {
    int64_t width = 1;
    while (from + width < n && steps[from + width] < step)
        width *= 2;
    int64_t high = from + width < n ? from + width : n;
    while (from < high) {
        int64_t middle = from + (high - from) / 2;
        if (steps[middle] < step)
            from = middle + 1;
        else
            high = middle;
    }
    return from;
}
