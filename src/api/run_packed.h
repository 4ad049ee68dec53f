/* A training under way as arrays of numbers, for its checkpoint. */
#ifndef XFI_API_RUN_PACKED_H
#define XFI_API_RUN_PACKED_H

#include "train/run_state.h"

enum { XFI_PACKED_RECORD = 7, XFI_PACKED_REPORT = XFI_PACKED_RECORD + 4 };

/* What a run has beside its four arrays of parameters. */
typedef struct xfi_packed {
    int64_t place[3]; /* stage, start, epoch */
    double *reports;  /* [1 + n_stages][XFI_PACKED_REPORT] the current start's first */
    double *records;  /* [n_records][XFI_PACKED_RECORD] */
    int64_t n_reports, n_records;
} xfi_packed;

/* Returns 0 if memory runs out; to be cleared in any case. */
int xfi_packed_new(xfi_packed *out, int64_t n_stages, int64_t n_records);

void xfi_packed_clear(xfi_packed *packed);

/* `out` has room for the run. */
void xfi_pack(xfi_packed *out, const xfi_run *run);

/* The rest of a run whose parameters are there already. Errors: XF_ERR_DATA (numbers that no such
 * run can have, saying which), XF_ERR_MEMORY. */
xf_status xfi_unpack(xfi_run *run, const xfi_packed *packed, xf_error *error);

/* SHA-256 of all numbers of the run: theta, m, v, kept, place, reports, records. */
void xfi_packed_sha256(char out[65], const xfi_run *run, const xfi_packed *packed);

#endif
