/* The sparse engine at work, for both precisions. */
#include "engine/sparse.h"

#include "base/alloc.h"
#include "num/target_clones.h"

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

/* Which nodes of a group may be active, as found out for the token at hand. */
typedef struct xfi_answer {
    int64_t group;
    unsigned active;
} xfi_answer;

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

static int run_tile(xfi_sparse *sparse, const xfi_weights *weights, void *rows, int64_t n,
                    void *scratch, int32_t *visits) {
    return weights->dtype == XF_F32 ? run_tile_f32(sparse, weights, rows, n, scratch, visits)
                                    : run_tile_f64(sparse, weights, rows, n, scratch, visits);
}

/* The first steps cost `dense` for each token on the dense kernel, and about VISIT for each token
 * that takes them here: how many of them should be left to the dense kernel? */
static int64_t best_start(const int32_t *visits, int64_t n_steps, int64_t n, int64_t dense) {
    enum { VISIT = 100 };
    int64_t best = 0, gain = 0, largest = 0;
    for (int64_t s = 0; s < n_steps; s++) {
        gain += visits[s] * VISIT - n * dense;
        if (gain > largest) {
            largest = gain;
            best = s + 1;
        }
    }
    return best;
}

void xfi_sparse_learn(xfi_sparse *sparse, const xfi_weights *weights, void *rows, int64_t n,
                      void *scratch) {
    int32_t *visits = xfi_calloc(sparse->n_steps, sizeof *visits);
    int64_t dense = 4 + weights->d * weights->width / 3; /* 2 d w multiplications, by vectors */
    sparse->learned = 1;
    if (visits != NULL && run_tile(sparse, weights, rows, n, scratch, visits))
        sparse->start = best_start(visits, sparse->n_steps, n, dense);
    xfi_free(visits);
}

int64_t xfi_sparse_start(const xfi_sparse *sparse) {
    return sparse->start > 0 ? sparse->steps[sparse->start].layer : sparse->first;
}

int xfi_sparse_apply(xfi_sparse *sparse, const xfi_weights *weights, void *rows, int64_t n,
                     void *scratch) {
    return !is_given_up(sparse) && run_tile(sparse, weights, rows, n, scratch, NULL);
}
