/* The floating-point environment that exactness rests on. */
#ifndef XFI_BASE_FPENV_H
#define XFI_BASE_FPENV_H

#include <exactformer/status.h>

/* Check by computing, not by reading control words: rounding to nearest, gradual underflow (neither
 * FTZ nor DAZ), no excess precision. Errors: XF_ERR_ARGUMENT, saying what is set. */
xf_status xfi_fpenv_check(xf_error *error);

#endif
