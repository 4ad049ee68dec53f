/* Copying blocks between models. */
#ifndef XFI_CONSTRUCT_COPY_BLOCKS_H
#define XFI_CONSTRUCT_COPY_BLOCKS_H

#include <exactformer/model.h>

/* The weights of all blocks of `from` over those of `out` from `first` on; d and width agree,
 * neither has full matrices. */
void xfi_copy_blocks(xf_model *out, int64_t first, const xf_model *from);

#endif
