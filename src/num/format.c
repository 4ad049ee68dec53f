/* Exact questions about floating-point numbers. */
#include "num/format.h"

double xfi_ulp(const xfi_format *format, double v) {
    int exponent = v == 0.0 ? format->emin : xfi_exponent(v);
    if (exponent < format->emin)
        exponent = format->emin;
    return xfi_power(exponent - format->p + 1);
}

double xfi_power_above(double v) {
    return v == 0.0 ? 1.0 : xfi_power(xfi_exponent(v) + 1);
}

double xfi_gamma(const xfi_format *format, double n) {
    double nu = n * format->u;
    if (!(nu < 0.5))
        return INFINITY;
    return nu / (1.0 - nu) * (1.0 + 0x1p-50);
}
