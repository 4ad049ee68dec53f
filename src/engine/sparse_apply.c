/* The sparse engine at work, for both precisions. */
#include "engine/sparse.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define XFI_INLINE static inline __attribute__((always_inline))

/* Bytes for n elements, so that what follows is aligned. */
static int64_t room(int64_t n, size_t size) {
    return (n * (int64_t)size + 15) / 16 * 16;
}

/* Cut n elements off the scratch. */
static void *carve(char **scratch, int64_t n, size_t size) {
    void *start = *scratch;
    *scratch += room(n, size);
    return start;
}

static void mark_all(char *marks, int64_t n) {
    for (int64_t c = 0; c < n; c++)
        marks[c] = 1;
}

/* Where a good part of the tiles cost too much the dense kernel should have them all. This decides
 * about time only, never about bits. */
static void count_tile(xfi_sparse *form, int too_dear) {
    int64_t n_tiles, n_dear;
#pragma omp atomic capture
    n_tiles = ++form->n_tiles;
#pragma omp atomic capture
    n_dear = form->n_dear += too_dear;
    if (n_dear > 4 && 4 * n_dear > n_tiles) {
#pragma omp atomic write
        form->given_up = 1;
    }
}

static int is_given_up(const xfi_sparse *form) {
    int given_up;
#pragma omp atomic read
    given_up = form->given_up;
    return given_up;
}

#define REAL double
#define REAL_MAX DBL_MAX
#define XFI_NAME(base) base##_f64
#include "engine/sparse_apply_template.h"
#undef REAL
#undef REAL_MAX
#undef XFI_NAME

#define REAL float
#define REAL_MAX FLT_MAX
#define XFI_NAME(base) base##_f32
#include "engine/sparse_apply_template.h"
#undef REAL
#undef REAL_MAX
#undef XFI_NAME

int64_t xfi_sparse_scratch(const xfi_sparse *sparse, const xfi_weights *weights, int64_t tile) {
    int64_t n_indexes = sparse->n_thresholds + 1;
    return room(tile * weights->d, sizeof(double)) + 2 * room(n_indexes, sizeof(int64_t)) +
           room(weights->width, sizeof(double)) +
           room(sparse->boxes.n_coordinates, sizeof(double)) + room(weights->d, 1);
}

int xfi_sparse_apply(xfi_sparse *sparse, const xfi_weights *weights, void *rows, int64_t n,
                     void *scratch) {
    if (is_given_up(sparse))
        return 0;
    return weights->dtype == XF_F32 ? run_tile_f32(sparse, weights, rows, n, scratch)
                                    : run_tile_f64(sparse, weights, rows, n, scratch);
}
