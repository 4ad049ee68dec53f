/* Who owns which sequences when several processes work together, and how everyone gets to know what
 * the others found. Without peers the one process owns all, and nothing is sent. */
#ifndef XFI_CORE_SHARE_H
#define XFI_CORE_SHARE_H

#include <exactformer/dataset.h>
#include <exactformer/peers.h>

#include <stddef.h>

/* The sequences of this process are first .. last - 1: consecutive, with about the same number of
 * tokens for everyone. */
typedef struct xfi_share {
    int64_t first;
    int64_t last;
} xfi_share;

/* Of `peers` (NULL: of one process). */
xfi_share xfi_share_of(const xf_peers *peers, const int64_t *x_offsets, int64_t n_sequences);

/* One gather of `peers`, which must not be NULL. Errors: XF_ERR_ARGUMENT (another process makes
 * another call), XF_ERR_IO. */
xf_status xfi_share_exchange(const xf_peers *peers, void *bytes, const int64_t *starts,
                             xf_error *error);

/* Complete an array of which every process has filled the part of its sequences: elements
 * offsets[j] .. offsets[j+1]-1 of `size` bytes belong to sequence j (offsets NULL: element j does).
 * Errors: as xfi_share_exchange, XF_ERR_MEMORY. */
xf_status xfi_share_gather(const xf_peers *peers, const int64_t *x_offsets, int64_t n_sequences,
                           void *array, size_t size, const int64_t *offsets, xf_error *error);

/* values[i] becomes the least among all processes, for i < n. Errors: as above. */
xf_status xfi_share_least(const xf_peers *peers, double *values, int64_t n, xf_error *error);

#endif
