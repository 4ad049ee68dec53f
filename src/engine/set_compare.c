/* Sets of rows: equality by sorting the targets and looking every output up among them,
 * distances only where the sets differ. */
#include "engine/set_compare.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/index_sort.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Rows to be sorted by index, and room for the answer. */
typedef struct lookup {
    const double *rows; /* [m][d] */
    int64_t m;
    int64_t d;
    int64_t *order; /* [m] rows in lexicographic order */
    char *found;    /* [m] by place in `order` */
} lookup;

/* Sign of the lexicographic comparison of finite rows. */
static int compare_rows(const double *a, const double *b, int64_t d) {
    for (int64_t c = 0; c < d; c++)
        if (a[c] != b[c])
            return a[c] < b[c] ? -1 : 1;
    return 0;
}

static int row_before(const void *context, int64_t a, int64_t b) {
    const lookup *table = context;
    int64_t d = table->d;
    int sign = compare_rows(table->rows + a * d, table->rows + b * d, d);
    return sign != 0 ? sign < 0 : a < b;
}

static void fill_lookup(lookup *table, const double *rows, int64_t m) {
    table->rows = rows;
    table->m = m;
    for (int64_t i = 0; i < m; i++)
        table->order[i] = i;
    memset(table->found, 0, (size_t)m);
    xfi_index_sort(table->order, m, row_before, table);
}

/* Place of a row in the order, or -1. */
static int64_t find(const lookup *table, const double *row) {
    int64_t low = 0, high = table->m;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int sign = compare_rows(row, table->rows + table->order[middle] * table->d, table->d);
        if (sign == 0)
            return middle;
        if (sign < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static int all_finite(const double *values, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(values[k]))
            return 0;
    return 1;
}

/* Is the set of n finite rows equal to the set in the table? */
static int same_set(lookup *table, const double *rows, int64_t n) {
    int64_t n_found = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = find(table, rows + i * table->d);
        if (place < 0)
            return 0;
        n_found += !table->found[place];
        table->found[place] = 1;
    }
    return n_found == table->m;
}

/* sqrt(sum (a_c - b_c)^2) after division by the largest difference. */
static double scaled_distance(const double *a, const double *b, int64_t d) {
    double largest = 0.0, sum = 0.0;
    for (int64_t c = 0; c < d; c++)
        largest = fmax(largest, fabs(a[c] - b[c]));
    if (largest == 0.0 || isinf(largest))
        return largest;
    for (int64_t c = 0; c < d; c++) {
        double share = (a[c] - b[c]) / largest;
        sum += share * share;
    }
    return largest * sqrt(sum);
}

double xfi_distance(const double *a, const double *b, int64_t d) {
    double sum = 0.0;
    for (int64_t c = 0; c < d; c++)
        sum += (a[c] - b[c]) * (a[c] - b[c]);
    if (sum > 0x1p-900 && sum < 0x1p1000)
        return sqrt(sum);
    return all_finite(a, d) && all_finite(b, d) ? scaled_distance(a, b, d) : INFINITY;
}

/* max over the rows of a of the distance to the nearest row of b, or `known` if that is
 * larger: rows that are closer than what is known need not be settled. */
static double directed(const double *a, int64_t n, const double *b, int64_t m, int64_t d,
                       double known) {
    for (int64_t i = 0; i < n; i++) {
        double nearest = INFINITY;
        for (int64_t k = 0; k < m && nearest > known; k++)
            nearest = fmin(nearest, xfi_distance(a + i * d, b + k * d, d));
        known = fmax(known, nearest);
    }
    return known;
}

double xfi_hausdorff(const double *a, int64_t n, const double *b, int64_t m, int64_t d) {
    return directed(b, m, a, n, d, directed(a, n, b, m, d, 0.0));
}

/* Distance of output and target of sequence j; 0 if they are equal. */
static double sequence_distance(lookup *table, const double *out, const xf_dataset *data,
                                int64_t j) {
    int64_t d = data->d, first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
    int64_t first_y = data->y_offsets[j], m = data->y_offsets[j + 1] - first_y;
    const double *rows = out + first * d, *targets = data->y + first_y * d;
    if (!all_finite(rows, n * d))
        return INFINITY;
    fill_lookup(table, targets, m);
    return same_set(table, rows, n) ? 0.0 : xfi_hausdorff(rows, n, targets, m, d);
}

static int64_t most_targets(const xf_dataset *data) {
    int64_t most = 0;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t m = data->y_offsets[j + 1] - data->y_offsets[j];
        most = m > most ? m : most;
    }
    return most;
}

static xf_status conclude(const xf_verify_report *report, double first_distance, xf_error *error) {
    int64_t j = report->first_mismatch;
    if (j < 0)
        return XF_OK;
    return xfi_fail_at(error, XF_NOT_EXACT, j, -1,
                       "sequence %lld: the output differs from the target, Hausdorff distance %.6g "
                       "(%lld of %lld sequences are exact)",
                       (long long)j, first_distance, (long long)report->n_exact,
                       (long long)report->n_sequences);
}

xf_status xfi_compare_sets(xf_verify_report *report, const double *out, const xf_dataset *data,
                           xf_error *error) {
    *report = (xf_verify_report){
        .n_sequences = data->n_sequences, .first_mismatch = -1, .worst_sequence = -1};
    int64_t most = most_targets(data);
    lookup table = {
        .d = data->d, .order = xfi_calloc(most, sizeof(int64_t)), .found = xfi_calloc(most, 1)};
    int ok = table.order != NULL && table.found != NULL;
    double first_distance = 0.0;
    for (int64_t j = 0; ok && j < data->n_sequences; j++) {
        double distance = sequence_distance(&table, out, data, j);
        report->n_exact += distance == 0.0;
        if (distance > 0.0 && report->first_mismatch < 0) {
            report->first_mismatch = j;
            first_distance = distance;
        }
        if (distance > report->hausdorff_max) {
            report->hausdorff_max = distance;
            report->worst_sequence = j;
        }
    }
    xfi_free(table.order);
    xfi_free(table.found);
    return ok ? conclude(report, first_distance, error) : xfi_fail_memory(error);
}
