/* The network in both precisions, from the templates. The hot loops are compiled for several vector
 * widths; contraction is off and the order of operations does not depend on the width, so that
 * all machines give the same bits. */
#include "train/network.h"

#include "num/target_clones.h"

#include <math.h>
#include <string.h>

/* As many as fill the widest vectors. */
#define LANES (64 / (int)sizeof(REAL))
_Static_assert(XFI_TRAIN_LANES % (64 / sizeof(float)) == 0, "rows hold whole vectors");

#define XFI_INLINE static inline __attribute__((always_inline))

/* Taylor series by Horner's rule, to the 7th and the 13th power. */
#define EXP_TAIL(r, high)                                                                          \
    (((((((high) * (r) + EXP_C6) * (r) + EXP_C5) * (r) + EXP_C4) * (r) + EXP_C3) * (r) + EXP_C2) * \
         (r) +                                                                                     \
     1) * (r) +                                                                                    \
        1
#define EXP_C6 ((REAL)1 / 720)
#define EXP_C5 ((REAL)1 / 120)
#define EXP_C4 ((REAL)1 / 24)
#define EXP_C3 ((REAL)1 / 6)
#define EXP_C2 ((REAL)0.5)

#define REAL double
#define BITS uint64_t
#define EXP_LOG2E 0x1.71547652b82fep+0
#define EXP_LN2_HIGH 0x1.62e42feep-1
#define EXP_LN2_LOW 0x1.a39ef35793c76p-33
#define EXP_SHIFT 0x1.8p+52
#define EXP_MANTISSA 52
#define EXP_LEAST (-708.0)
#define EXP_HEAD(r)                                                                                \
    ((((((1.0 / 6227020800) * (r) + 1.0 / 479001600) * (r) + 1.0 / 39916800) * (r) +               \
       1.0 / 3628800) *                                                                            \
          (r) +                                                                                    \
      1.0 / 362880) *                                                                              \
         (r) +                                                                                     \
     1.0 / 40320) *                                                                                \
            (r) +                                                                                  \
        1.0 / 5040
#define EXP_SERIES(r) (EXP_TAIL(r, (EXP_HEAD(r))))
#define XFI_NAME(base) base##_f64
#include "train/lanes_template.h"
#include "train/exp_template.h"
#include "train/ff_template.h"
#include "train/sa_template.h"
#include "train/loss_template.h"
#include "train/network_template.h"
#undef REAL
#undef BITS
#undef EXP_LOG2E
#undef EXP_LN2_HIGH
#undef EXP_LN2_LOW
#undef EXP_SHIFT
#undef EXP_MANTISSA
#undef EXP_LEAST
#undef EXP_SERIES
#undef XFI_NAME

#define REAL float
#define BITS uint32_t
#define EXP_LOG2E 0x1.715476p+0f
#define EXP_LN2_HIGH 0x1.62e4p-1f
#define EXP_LN2_LOW 0x1.7f7d1cp-20f
#define EXP_SHIFT 0x1.8p+23f
#define EXP_MANTISSA 23
#define EXP_LEAST (-87.0f)
#define EXP_SERIES(r) (EXP_TAIL(r, 1.0f / 5040))
#define XFI_NAME(base) base##_f32
#include "train/lanes_template.h"
#include "train/exp_template.h"
#include "train/ff_template.h"
#include "train/sa_template.h"
#include "train/loss_template.h"
#include "train/network_template.h"

const xfi_arithmetic xfi_arithmetic_f64 = {sizeof(double), chunk_f64, narrow_f64,
                                           widen_f64,      add_f64,   transpose_f64};
const xfi_arithmetic xfi_arithmetic_f32 = {sizeof(float), chunk_f32, narrow_f32,
                                           widen_f32,     add_f32,   transpose_f32};

xfi_network xfi_network_of(const xf_family *family) {
    xfi_layout layout = xfi_layout_of(family);
    return (xfi_network){.family = *family,
                         .layout = layout,
                         .size = {.n_blocks = family->n_blocks,
                                  .d = family->d,
                                  .w = family->width,
                                  .h = family->rank,
                                  .n_features = layout.n_features,
                                  .causal = family->causal,
                                  .tau = family->tau},
                         .n_parameters = xf_family_parameters(family)};
}

int64_t xfi_tape_size(const xfi_network *net, int64_t s) {
    const xfi_sizes *size = &net->size;
    int64_t L = size->n_blocks, d = size->d, w = size->w, F = size->n_features;
    int64_t kept = (2 * L + 1) * d + L * (w + 2 * F + d + 2);
    int64_t scratch = 2 * XFI_TRAIN_LANES + 6 + 2 * d + (4 * d + w + 2 * F) + F;
    return (kept + scratch) * s;
}
