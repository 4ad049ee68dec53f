/* Watching a model at work: the tokens between its blocks. */
#ifndef EXACTFORMER_TRACE_H
#define EXACTFORMER_TRACE_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>
#include <exactformer/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Room that xf_trace takes for tokens unless told otherwise: 2 GiB. */
#define XF_TRACE_MAX_BYTES ((int64_t)1 << 31)

/* All-zero (or NULL) means: every block of every phase, run as xf_run does by default. */
typedef struct xf_trace_options {
    int64_t every; /* keep every k-th block's result, counted from the first block of what is
                      traced; its end is kept in any case. 0: 1 */
    const char
        *phase; /* NULL: the whole model; else the blocks of this phase only, and their input */
    int64_t max_bytes; /* refuse to keep more than so much; 0: XF_TRACE_MAX_BYTES */
    xf_run_options run;
} xf_trace_options;

/* The tokens at S moments. Owns its arrays; release with xf_snapshots_clear. */
typedef struct xf_snapshots {
    int64_t n_snapshots; /* S */
    int64_t n_sequences; /* N, T and d of the input */
    int64_t n_tokens;
    int64_t d;
    double *tokens;       /* [S][T][d] */
    int64_t *blocks_done; /* [S], increasing; 0: the input itself */
    char (*phase)[16];  /* [S] phase of the last block done, padded with zeros; "input" if there is
                           none, empty if the model does not say */
    int64_t *x_offsets; /* [N+1] as in the input */
} xf_snapshots;

/* An empty result that xf_snapshots_clear accepts. */
XF_API void xf_snapshots_init(xf_snapshots *snapshots);
XF_API void xf_snapshots_clear(xf_snapshots *snapshots);

/* Run `model` on every sequence of `input` (targets ignored) and keep the tokens at the moments
 * that the options ask for. The rows are those of the input, in the model's dtype and widened; what
 * is kept after the last block is what xf_run gives, bit for bit. Blocks beyond the last moment are
 * not run. `out` need not be initialised and is left cleared on failure.
 * Numeric class: as xf_run. Cost: that of xf_run, plus O(T d) and S T d numbers of memory, which
 * are counted before anything is computed.
 * Errors: as xf_run; XF_ERR_ARGUMENT also for a phase that the model does not have (the message
 * lists those that it has), every < 0, and a trace beyond max_bytes. */
XF_API xf_status xf_trace(xf_snapshots *out, const xf_model *model, const xf_dataset *input,
                          const xf_trace_options *options, xf_error *error);

/* Write to a .npz file as `tokens` [S, T, d] (binary64), `blocks_done` [S] (int64), `phase` [S]
 * (byte strings of width 16, NumPy's S16) and `x_offsets` [N+1] (int64). Atomic as
 * xf_dataset_save. Errors: XF_ERR_ARGUMENT (another extension, nothing to write), XF_ERR_IO,
 * XF_ERR_MEMORY. */
XF_API xf_status xf_snapshots_save(const xf_snapshots *snapshots, const char *path,
                                   xf_error *error);

#ifdef __cplusplus
}
#endif
#endif
