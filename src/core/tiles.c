/* Tiles of whole sequences. */
#include "core/tiles.h"

#include "base/alloc.h"
#include "base/error.h"

enum { TOKENS = 512, BYTES = 1 << 18 };

/* So many tokens fill a tile. */
static int64_t tile_size(const xf_dataset *data) {
    int64_t fit = BYTES / (int64_t)sizeof(double) / data->d;
    return fit < 16 ? 16 : fit < TOKENS ? fit : TOKENS;
}

/* Mark the tiles in first, if it is not NULL; returns how many there are. */
static int64_t cut(int64_t *first, int64_t *largest, const xf_dataset *data, xfi_share share) {
    const int64_t *offsets = data->x_offsets;
    int64_t n = 0, size = tile_size(data);
    for (int64_t j = share.first; j < share.last; n++) {
        int64_t start = j++;
        while (j < share.last && offsets[j + 1] - offsets[start] <= size)
            j++;
        int64_t tokens = offsets[j] - offsets[start];
        *largest = tokens > *largest ? tokens : *largest;
        if (first != NULL)
            first[n + 1] = j;
    }
    return n;
}

xf_status xfi_tiles_init(xfi_tiles *tiles, const xf_dataset *data, const xf_peers *peers,
                         xf_error *error) {
    xfi_share share = xfi_share_of(peers, data->x_offsets, data->n_sequences);
    *tiles = (xfi_tiles){.n_tokens = 1};
    tiles->n = cut(NULL, &tiles->n_tokens, data, share);
    tiles->first = xfi_calloc(tiles->n + 1, sizeof *tiles->first);
    if (tiles->first == NULL)
        return xfi_fail_memory(error);
    tiles->first[0] = share.first;
    cut(tiles->first, &tiles->n_tokens, data, share);
    return XF_OK;
}

void xfi_tiles_clear(xfi_tiles *tiles) {
    xfi_free(tiles->first);
    *tiles = (xfi_tiles){0};
}

int64_t xfi_longest_sequence(const xf_dataset *data) {
    int64_t longest = 1;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
        longest = n > longest ? n : longest;
    }
    return longest;
}
