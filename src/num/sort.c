/* Sorting numbers: insertion for short runs, qsort for long ones. */
#include "num/sort.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { INSERTION_MAX = 24 };

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void xfi_sort_doubles(double *values, int64_t n) {
    if (n > INSERTION_MAX) {
        qsort(values, (size_t)n, sizeof *values, compare_doubles);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        double v = values[i];
        int64_t k = i;
        for (; k > 0 && values[k - 1] > v; k--)
            values[k] = values[k - 1];
        values[k] = v;
    }
}

typedef struct keyed {
    double key;
    int64_t index;
} keyed;

static int compare_keyed(const void *left, const void *right) {
    const keyed *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

int xfi_sort_index(int64_t *order, const double *keys, int64_t n) {
    keyed *pairs = xfi_calloc(n, sizeof *pairs);
    if (pairs == NULL)
        return 0;
    for (int64_t i = 0; i < n; i++)
        pairs[i] = (keyed){keys[i], i};
    qsort(pairs, (size_t)n, sizeof *pairs, compare_keyed);
    for (int64_t i = 0; i < n; i++)
        order[i] = pairs[i].index;
    xfi_free(pairs);
    return 1;
}
