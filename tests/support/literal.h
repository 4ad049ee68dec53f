/* Test-only engine: the definition of the bits written as naively as possible, with loops over
 * scalars, a full row of logits for every query and nothing left out. */
#ifndef XFT_SUPPORT_LITERAL_H
#define XFT_SUPPORT_LITERAL_H

#include <exactformer/run.h>

/* out [T][d] as xf_run with the dense engine; tau and attention of the model. Returns 0 if
 * memory runs out. */
int xft_run_literal(double *out, const xf_model *model, const xf_dataset *input);

#endif
