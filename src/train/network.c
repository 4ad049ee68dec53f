/* The network in both precisions, from the templates. The hot loops are compiled for several vector
 * widths; contraction is off and the order of operations does not depend on the width, so that
 * all machines give the same bits. */
#include "train/network.h"

#include "num/target_clones.h"
#include "train/lanes_exp.h"

#include <math.h>
#include <string.h>

/* As many as fill the widest vectors. */
#define LANES (64 / (int)sizeof(REAL))
_Static_assert(XFI_TRAIN_LANES % (64 / sizeof(float)) == 0, "rows hold whole vectors");

#define XFI_INLINE static inline __attribute__((always_inline))

#define REAL double
#define XFI_NAME(base) base##_f64
#include "train/lanes_template.h"
#include "train/ff_template.h"
#include "train/sa_template.h"
#include "train/loss_template.h"
#include "train/network_template.h"
#undef REAL
#undef XFI_NAME

#define REAL float
#define XFI_NAME(base) base##_f32
#include "train/lanes_template.h"
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
    int64_t scratch = 2 * XFI_TRAIN_LANES + 6 + 2 * d + (4 * d + 2 * w + 2 * F) + F;
    return (kept + scratch) * s;
}
