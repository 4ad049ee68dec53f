/* The naive engine in both precisions. */
#include "support/literal.h"

#include "base/alloc.h"

#include <math.h>
#include <stddef.h>

#define REAL double
#define REAL_EXP exp
#define XFT_NAME(base) base##_f64
#include "support/literal_template.h"
#undef REAL
#undef REAL_EXP
#undef XFT_NAME

#define REAL float
#define REAL_EXP expf
#define XFT_NAME(base) base##_f32
#include "support/literal_template.h"
#undef REAL
#undef REAL_EXP
#undef XFT_NAME

int xft_run_literal(double *out, const xf_model *model, const xf_dataset *input) {
    return model->dtype == XF_F32 ? run_f32(out, model, input) : run_f64(out, model, input);
}
