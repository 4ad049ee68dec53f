/* Equal rows stand together in lexicographic order. */
#include "construct/distinct_rows.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/index_sort.h"

typedef struct table {
    const double *values;
    int64_t d;
} table;

static int compare(const table *t, int64_t a, int64_t b) {
    for (int64_t k = 0; k < t->d; k++) {
        double left = t->values[a * t->d + k], right = t->values[b * t->d + k];
        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}

static int row_before(const void *context, int64_t a, int64_t b) {
    int order = compare(context, a, b);
    return order != 0 ? order < 0 : a < b;
}

/* Let value[row] be the first row equal to it. */
static void find_first(xfi_distinct_rows *out, const table *t) {
    for (int64_t i = 0; i < out->rows; i++)
        out->occurring[i] = i;
    xfi_index_sort(out->occurring, out->rows, row_before, t);
    int64_t first = 0;
    for (int64_t i = 0; i < out->rows; i++) {
        if (i == 0 || compare(t, out->occurring[i - 1], out->occurring[i]) != 0)
            first = out->occurring[i];
        out->value[out->occurring[i]] = first;
    }
}

/* Number the first rows, then gather the rows of every value. */
static void number_values(xfi_distinct_rows *out) {
    for (int64_t i = 0; i < out->rows; i++) {
        int64_t first = out->value[i];
        out->value[i] = first == i ? out->n++ : out->value[first];
        out->offsets[out->value[i] + 1]++;
    }
    for (int64_t v = 0; v < out->n; v++)
        out->offsets[v + 1] += out->offsets[v];
    for (int64_t i = 0; i < out->rows; i++)
        out->occurring[out->offsets[out->value[i]]++] = i;
    for (int64_t v = out->n; v > 0; v--)
        out->offsets[v] = out->offsets[v - 1];
    out->offsets[0] = 0;
}

xf_status xfi_distinct_rows_find(xfi_distinct_rows *out, const double *values, int64_t rows,
                                 int64_t d, xf_error *error) {
    *out = (xfi_distinct_rows){.rows = rows};
    out->value = xfi_calloc(rows, sizeof *out->value);
    out->offsets = xfi_calloc(rows + 1, sizeof *out->offsets);
    out->occurring = xfi_calloc(rows, sizeof *out->occurring);
    if (out->value == NULL || out->offsets == NULL || out->occurring == NULL)
        return xfi_fail_memory(error);
    find_first(out, &(table){values, d});
    number_values(out);
    return XF_OK;
}

void xfi_distinct_rows_clear(xfi_distinct_rows *distinct) {
    xfi_free(distinct->value);
    xfi_free(distinct->offsets);
    xfi_free(distinct->occurring);
    *distinct = (xfi_distinct_rows){0};
}

int64_t xfi_distinct_rows_within(const xfi_distinct_rows *distinct, int64_t value, int64_t first,
                                 int64_t last) {
    int64_t low = distinct->offsets[value], high = distinct->offsets[value + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (distinct->occurring[middle] < first)
            low = middle + 1;
        else
            high = middle;
    }
    int found = low < distinct->offsets[value + 1] && distinct->occurring[low] < last;
    return found ? distinct->occurring[low] : -1;
}
