/* The scale of the stream: what passes between blocks may be held at any power of two of its
 * value, block by block, without a change of one bit of what comes out.
 * docs/writers.md, T-scale. Numeric class: exact. */
#ifndef XFI_CONSTRUCT_STREAM_H
#define XFI_CONSTRUCT_STREAM_H

#include "num/format.h"

/* Exponent in front of block i, 0 <= i <= count, of a stream that starts at 2^-r, grows by 2 in
 * each of the last r of `count` blocks, and ends at 1. If there are fewer blocks than r, the
 * first one grows by what is left over. */
int xfi_stream_exponent(int64_t i, int64_t count, int r);

/* Rewrite blocks first .. first + count - 1 for such a stream; in front of the first it is at
 * 2^before of its scale (-r unless the block's eta is 0). U, W and eta are scaled; the attentions
 * must be linear (A = 0). Returns 0 if some weight is not a number of the format then; the model is
 * spoilt. */
int xfi_stream_grow(xf_model *model, const xfi_format *format, int64_t first, int64_t count,
                    int before, int r);

#endif
