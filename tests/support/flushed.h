/* Test-only: an evaluation on a machine that flushes subnormal numbers to zero. */
#ifndef XFT_SUPPORT_FLUSHED_H
#define XFT_SUPPORT_FLUSHED_H

#include <exactformer/run.h>

/* The literal engine with FTZ and DAZ set in the MXCSR; out [T][d]. Returns 0 where there is no
 * such register, or if memory runs out. */
int xft_run_flushed(double *out, const xf_model *model, const xf_dataset *input);

#endif
