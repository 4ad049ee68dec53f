/* Test-only: the first blocks of a model in rational arithmetic (FLINT fmpq), token by token, with
 * A = 0 in every block. */
#ifndef XFT_SUPPORT_EXACT_BLOCKS_H
#define XFT_SUPPORT_EXACT_BLOCKS_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>

#include <flint/flint.h>
#include <flint/fmpq.h>

/* x [n_j][d], initialised: the tokens of sequence j behind n_blocks blocks. Numeric class: exact.
 * Every attention has A = 0 and no full matrices. FLINT aborts if memory runs out. */
void xft_exact_blocks(fmpq *x, const xf_model *model, int64_t n_blocks, const xf_dataset *data,
                      int64_t j);

/* Is |value - centre| <= bound, where the centre is hi + lo? Exact. */
int xft_is_within(const fmpq_t value, double hi, double lo, double bound);

#endif
