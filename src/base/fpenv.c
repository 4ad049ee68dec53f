/* Checks of the floating-point environment. */
#include "base/fpenv.h"

#include "base/error.h"

#include <float.h>

xf_status xfi_fpenv_check(xf_error *error) {
    volatile double one = 1.0, half_ulp = 0x1p-53, tiny = DBL_MIN, three = 3.0;
    volatile float tiny_f = FLT_MIN;
    volatile double up = one + half_ulp * 1.5, down = one + half_ulp, negative = -one - half_ulp;
    if (up != 1.0 + DBL_EPSILON || down != 1.0 || negative != -1.0 ||
        one / three != 0x1.5555555555555p-2)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the processor does not round binary64 to nearest; restore the default "
                        "rounding mode");
    volatile double flushed = tiny * 0.5, denormal = 0x1p-1074, revived = denormal * 0x1p60;
    volatile float flushed_f = tiny_f * 0.5f;
    if (flushed == 0.0 || flushed_f == 0.0f || revived == 0.0)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the processor flushes subnormal numbers to zero (FTZ or DAZ); exactness "
                        "needs gradual underflow");
    return XF_OK;
}
