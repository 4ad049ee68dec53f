/* Rescaling the stream between blocks. */
#include "construct/stream.h"

/* values [n] times 2^exponent, exactly. */
static int scale_all(double *values, int64_t n, int exponent, const xfi_format *format) {
    if (exponent == 0)
        return 1;
    for (int64_t i = 0; i < n; i++) {
        double scaled = ldexp(values[i], exponent);
        if (!xfi_representable(format, scaled) || ldexp(scaled, -exponent) != values[i])
            return 0;
        values[i] = scaled;
    }
    return 1;
}

int xfi_stream_exponent(int64_t i, int64_t count, int r) {
    return i > 0 && count - i < r ? -(int)(count - i) : -r;
}

int xfi_stream_grow(xf_model *model, const xfi_format *format, int64_t first, int64_t count,
                    int before, int r) {
    int64_t size = model->d * model->width;
    for (int64_t i = 0; i < count; i++) {
        int64_t block = first + i;
        int behind = xfi_stream_exponent(i + 1, count, r);
        if (!scale_all(model->ff_U + block * size, size, -before, format) ||
            !scale_all(model->ff_W + block * size, size, behind, format) ||
            !scale_all(model->ff_eta + block, 1, behind - before, format))
            return 0;
        before = behind;
    }
    return 1;
}
