/* The dense engine: the definition of the bits. Both precisions come from dense_template.h
 * and attention_template.h, which state the order of operations. The hot kernel is compiled for
 * several vector widths and the loader chooses; as a lane is a token and contraction is off, all of
 * them give the same bits. */
#include "engine/engine.h"

#include "num/target_clones.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

enum { TILE = 64 };

#define XFI_INLINE static inline __attribute__((always_inline))

/* Reals for a tile and its neurons, or for q, mean, value and logits of one query. */
static int64_t scratch_size(const xfi_weights *weights, int64_t n_max) {
    int64_t tile = (weights->d + weights->width) * TILE;
    int64_t query = 3 * weights->d + n_max;
    return tile > query ? tile : query;
}

#define REAL double
#define REAL_EXP exp
#define REAL_TINY DBL_TRUE_MIN
#define XFI_NAME(base) base##_f64
#include "engine/dense_template.h"
#undef REAL
#undef REAL_EXP
#undef REAL_TINY
#undef XFI_NAME

#define REAL float
#define REAL_EXP expf
#define REAL_TINY FLT_TRUE_MIN
#define XFI_NAME(base) base##_f32
#include "engine/dense_template.h"
#undef REAL
#undef REAL_EXP
#undef REAL_TINY
#undef XFI_NAME

const xfi_backend xfi_dense_f64 = {scratch_size, local_f64, attend_f64, TILE};
const xfi_backend xfi_dense_f32 = {scratch_size, local_f32, attend_f32, TILE};
