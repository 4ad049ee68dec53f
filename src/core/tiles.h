/* A pass over the tokens in tiles of whole sequences, small enough for the second-level cache, so
 * that what is done to a tile reads its tokens from memory once. */
#ifndef XFI_CORE_TILES_H
#define XFI_CORE_TILES_H

#include "core/share.h"

typedef struct xfi_tiles {
    int64_t n;
    int64_t *first;   /* [n + 1] tile i holds sequences first[i] .. first[i+1]-1, owned */
    int64_t n_tokens; /* of the largest tile: the longest sequence, if that is long */
} xfi_tiles;

/* Cut the sequences of this process. Errors: XF_ERR_MEMORY. */
xf_status xfi_tiles_init(xfi_tiles *tiles, const xf_dataset *data, const xf_peers *peers,
                         xf_error *error);
void xfi_tiles_clear(xfi_tiles *tiles);

/* Number of tokens of the longest sequence, at least 1. */
int64_t xfi_longest_sequence(const xf_dataset *data);

#endif
