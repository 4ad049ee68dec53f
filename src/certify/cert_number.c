/* Exact numbers and formats. */
#include "certify/cert_number.h"

#include "base/alloc.h"

arf_ptr xfi_arf_new(int64_t n) {
    arf_ptr numbers = xfi_calloc(n, sizeof(arf_struct));
    for (int64_t i = 0; numbers != NULL && i < n; i++)
        arf_init(numbers + i);
    return numbers;
}

void xfi_arf_free(arf_ptr numbers, int64_t n) {
    for (int64_t i = 0; numbers != NULL && i < n; i++)
        arf_clear(numbers + i);
    xfi_free(numbers);
}

void xfi_arf_add_size(arf_t z, const arf_t x, const arf_t y) {
    const arf_struct *larger = arf_cmpabs(x, y) >= 0 ? x : y;
    if (arf_sgn(larger) < 0)
        arf_sub(z, z, larger, ARF_PREC_EXACT, ARF_RND_DOWN);
    else
        xfi_arf_plus(z, z, larger);
}

/* The least binary32 number >= v. */
static double float_up(double v) {
    float f = (float)v;
    if ((double)f < v)
        f = nextafterf(f, INFINITY);
    return (double)f;
}

static double format_up(const xfi_sense *sense, const arf_t x) {
    double v = arf_get_d(x, ARF_RND_CEIL);
    return sense->format.p == 24 ? float_up(v) : v;
}

static double format_down(const xfi_sense *sense, const arf_t x) {
    double v = arf_get_d(x, ARF_RND_FLOOR);
    return sense->format.p == 24 ? -float_up(-v) : v;
}

double xfi_lower_end(const xfi_sense *sense, const arf_t x) {
    return sense->ieee ? format_up(sense, x) : arf_get_d(x, ARF_RND_FLOOR);
}

double xfi_upper_end(const xfi_sense *sense, const arf_t x) {
    return sense->ieee ? format_down(sense, x) : arf_get_d(x, ARF_RND_CEIL);
}

void xfi_arf_to_format(arf_t out, const xfi_sense *sense, const arf_t x) {
    if (arf_cmpabs_2exp_si(x, sense->format.emin) >= 0) {
        arf_set_round(out, x, sense->format.p, ARF_RND_NEAR);
        return;
    }
    fmpz_t units;
    fmpz_init(units);
    arf_mul_2exp_si(out, x, -sense->least);
    arf_get_fmpz(units, out, ARF_RND_NEAR);
    arf_set_fmpz(out, units);
    arf_mul_2exp_si(out, out, sense->least);
    fmpz_clear(units);
}

int32_t xfi_interval_exponent(const xfi_sense *sense, double low, double high) {
    if (low == high)
        return xfi_exponent_of(low);
    if (low <= 0.0 && high >= 0.0)
        return sense->least;
    int exponent = xfi_exponent(low > 0.0 ? low : high) - sense->format.p + 1;
    return exponent > sense->least ? exponent : sense->least;
}
