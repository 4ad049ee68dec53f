/* Random orders of summation in both precisions, from one template. */
#include "support/shuffled.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

/* With a hardware FMA the calls of fma() become single instructions. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) &&       \
    !defined(__SANITIZE_ADDRESS__)
#define XFT_CLONES __attribute__((target_clones("fma", "default")))
#else
#define XFT_CLONES
#endif

enum { SEQUENCE, TREE, BLOCKED, N_SCHEMES };
enum { DIVIDE, RECIPROCAL, EACH_TERM, N_MEANS };
enum { DEFAULT_LANES = 32, TREE_DEPTH = 64 };

static int matrix_is_zero(const xf_low_rank *m, int64_t block, int64_t d) {
    int left = 0, right = 0, full = 0;
    for (int64_t c = 0; c < d; c++) {
        left |= m->left[block * d + c] != 0.0;
        right |= m->right[block * d + c] != 0.0;
    }
    for (int64_t k = 0; m->full != NULL && k < d * d; k++)
        full |= m->full[block * d * d + k] != 0.0;
    return m->alpha[block] == 0.0 && !(left && right) && !full;
}

static int64_t longest(const xf_dataset *input) {
    int64_t n = 1;
    for (int64_t j = 0; j < input->n_sequences; j++)
        if (input->x_offsets[j + 1] - input->x_offsets[j] > n)
            n = input->x_offsets[j + 1] - input->x_offsets[j];
    return n;
}

#define REAL double
#define REAL_EXP exp
#define REAL_FMA fma
#define REAL_TINY DBL_TRUE_MIN
#define XFT_NAME(base) base##_f64
#include "support/shuffled_template.h"
#undef REAL
#undef REAL_EXP
#undef REAL_FMA
#undef REAL_TINY
#undef XFT_NAME

#define REAL float
#define REAL_EXP expf
#define REAL_FMA fmaf
#define REAL_TINY FLT_TRUE_MIN
#define XFT_NAME(base) base##_f32
#include "support/shuffled_template.h"
#undef REAL
#undef REAL_EXP
#undef REAL_FMA
#undef REAL_TINY
#undef XFT_NAME

xf_status xft_run_shuffled(double *out, const xf_model *model, const xf_dataset *input,
                           const xft_shuffle *options, xf_error *error) {
    int ok = model->dtype == XF_F32 ? evaluate_f32(out, model, input, options)
                                    : evaluate_f64(out, model, input, options);
    return ok ? XF_OK : xfi_fail_memory(error);
}
