/* The BLAS engine: the formulas of the dense engine with the sums left to CBLAS, for models
 * with large d. The driver sets the library to one thread and shares tiles among its own. */
#include "engine/engine.h"

#include "num/blas.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

enum { TILE = 256 };

static int64_t scratch_size(const xfi_weights *weights, int64_t n_max) {
    int64_t tile = weights->width * TILE, query = 3 * weights->d + n_max;
    return tile > query ? tile : query;
}

#define REAL double
#define REAL_EXP exp
#define REAL_TINY DBL_TRUE_MIN
#define XFI_NAME(base) base##_f64
#include "engine/blas_template.h"
#undef REAL
#undef REAL_EXP
#undef REAL_TINY
#undef XFI_NAME

#define REAL float
#define REAL_EXP expf
#define REAL_TINY FLT_TRUE_MIN
#define XFI_NAME(base) base##_f32
#include "engine/blas_template.h"
#undef REAL
#undef REAL_EXP
#undef REAL_TINY
#undef XFI_NAME

const xfi_backend xfi_blas_f64 = {scratch_size, local_f64, attend_f64, TILE};
const xfi_backend xfi_blas_f32 = {scratch_size, local_f32, attend_f32, TILE};
