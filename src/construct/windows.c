/* Measuring and packing windows. */
#include "construct/windows.h"

#include "base/alloc.h"
#include "num/sort.h"

#include <math.h>

void xfi_windows_clear(xfi_windows *windows) {
    xfi_free(windows->low);
    xfi_free(windows->high);
    xfi_free(windows->delta);
    xfi_free(windows->order);
    xfi_free(windows->sorted);
    *windows = (xfi_windows){0};
}

int xfi_windows_init(xfi_windows *windows, const xf_dataset *data, double u) {
    int64_t N = data->n_sequences, n_max = 1;
    for (int64_t j = 0; j < N; j++) {
        int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
        n_max = n > n_max ? n : n_max;
    }
    *windows = (xfi_windows){.data = data, .u = u};
    windows->low = xfi_calloc(N, sizeof(double));
    windows->high = xfi_calloc(N, sizeof(double));
    windows->delta = xfi_calloc(N, sizeof(double));
    windows->order = xfi_calloc(N, sizeof(int64_t));
    windows->sorted = xfi_calloc2(2, n_max, sizeof(double));
    if (windows->low && windows->high && windows->delta && windows->order && windows->sorted)
        return 1;
    xfi_windows_clear(windows);
    return 0;
}

/* The (m-1)-th largest gap of n ascending numbers; gaps [n] is scratch. */
static double kept_gap(const double *sorted, int64_t n, int64_t m, double *gaps) {
    if (m == 1)
        return INFINITY;
    for (int64_t i = 0; i + 1 < n; i++)
        gaps[i] = sorted[i + 1] - sorted[i];
    xfi_sort_doubles(gaps, n - 1);
    return gaps[n - m];
}

int xfi_windows_measure(xfi_windows *windows, const double *s, double error) {
    const xf_dataset *data = windows->data;
    windows->error = error;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
        int64_t m = data->y_offsets[j + 1] - data->y_offsets[j];
        double *sorted = windows->sorted;
        for (int64_t l = 0; l < n; l++)
            sorted[l] = s[first + l];
        xfi_sort_doubles(sorted, n);
        windows->low[j] = sorted[0];
        windows->high[j] = sorted[n - 1];
        windows->delta[j] = kept_gap(sorted, n, m, sorted + n);
    }
    return xfi_sort_index(windows->order, windows->delta, data->n_sequences);
}

double xfi_windows_pack(double *offset, double *extent, const xfi_windows *windows, double middle) {
    const xf_dataset *data = windows->data;
    double at[2] = {middle, middle}, margin = INFINITY, u = windows->u, e = windows->error;
    int64_t filled[2] = {0, 0};
    double widest = 0;
    for (int64_t j = 0; j < data->n_sequences; j++)
        widest = fmax(widest, windows->high[j] - windows->low[j]);
    double room = widest > 0 ? widest / 64 : 1.0;
    for (int64_t i = 0; i < data->n_sequences; i++) {
        int64_t j = windows->order[i];
        int side = filled[1] < filled[0];
        double begin = at[side] + room + 16 * (e + u * at[side]);
        at[side] = begin + (windows->high[j] - windows->low[j]);
        if (offset != NULL)
            offset[j] = side == 0 ? begin - windows->low[j] : -begin - windows->high[j];
        margin = fmin(margin, windows->delta[j] / (2 * (e + u * (at[side] + e))));
        filled[side] += data->y_offsets[j + 1] - data->y_offsets[j];
    }
    *extent = fmax(at[0], at[1]);
    return margin;
}
