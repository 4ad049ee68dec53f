/* Data sets: N pairs (X_j, Y_j) of token sets in R^d.
 *
 * Notation: N sequences, T = sum of n_j input tokens, M = sum of m_j targets.
 * Matrices are row-major, one token a row. */
#ifndef EXACTFORMER_DATASET_H
#define EXACTFORMER_DATASET_H

#include <exactformer/peers.h>
#include <exactformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Owns its four arrays; zero-initialise with xf_dataset_init, release with
 * xf_dataset_clear. Sequence j is rows x_offsets[j] .. x_offsets[j+1]-1 of x.
 * A data set without targets (run input) has y == y_offsets == NULL, n_targets 0. */
typedef struct xf_dataset {
    int64_t n_sequences;        /* N */
    int64_t d;                  /* dimension of a token */
    int64_t n_tokens;           /* T */
    int64_t n_targets;          /* M */
    int positions;              /* k if the last coordinate is l * 2^-k, the position of
                                   token l in its sequence; -1 if nothing was appended */
    double *x;                  /* [T][d]; not to be written to if `storage` is set */
    int64_t *x_offsets;         /* [N+1] */
    double *y;                  /* [M][d] */
    int64_t *y_offsets;         /* [N+1] */
    struct xf_storage *storage; /* the file that x lies in, NULL if it is the heap */
} xf_dataset;

/* How to read a data set. All-zero (or a NULL pointer) means the defaults. */
typedef struct xf_dataset_options {
    int inputs_only;      /* nonzero: ignore targets, allow their absence */
    int append_positions; /* nonzero: append the position coordinate (n_max of the
                             file decides its scale unless position_bits is set) */
    int position_bits;    /* with append_positions: k + 1 to force the scale 2^-k, 0: choose */
    xf_note_fn note;      /* remarks: unknown arrays, dropped duplicates; may be NULL */
    void *note_context;
    const xf_peers *peers; /* processes that make this call together, or NULL: every one checks the
                              tokens of its own sequences */
    int threads;           /* 0: as many as there are cores */
} xf_dataset_options;

XF_API void xf_dataset_init(xf_dataset *data);
XF_API void xf_dataset_clear(xf_dataset *data);

/* Tokens that would take more than a quarter of the memory stay in a file: a .safetensors file that
 * holds them as F64 at a multiple of 8 bytes, without -0.0, is mapped (and must not be changed
 * while the data set lives: a file cut short ends the process with SIGBUS); others go to a
 * temporary file without a name in $TMPDIR, or /var/tmp. .jsonl is read into memory.
 *
 * Read a data set from .npz, .safetensors or .jsonl (by the file's extension) and
 * check it as xf_dataset_check does. -0.0 becomes +0.0; a repeated pair is
 * dropped with a note. `out` is overwritten and need not be initialised; on failure it is
 * left cleared.
 * Errors: XF_ERR_IO (cannot read), XF_ERR_DATA (malformed, or a condition broken),
 * XF_ERR_ARGUMENT (unknown extension), XF_ERR_MEMORY. */
XF_API xf_status xf_dataset_load(xf_dataset *out, const char *path,
                                 const xf_dataset_options *options, xf_error *error);

/* Write a data set (x, x_offsets and, where present, y, y_offsets) to .npz,
 * .safetensors or .jsonl. The file appears complete or not at all (temporary file,
 * fsync, rename). Values are stored as binary64 and read back equal. */
XF_API xf_status xf_dataset_save(const xf_dataset *data, const char *path, xf_error *error);

/* Write the outputs of a run to .npz, .safetensors or .jsonl as `y` and `y_offsets`
 * alone: y [y_offsets[n_sequences]][d], y_offsets [n_sequences + 1]. Atomic as
 * xf_dataset_save; a sequence needs at least one token. Values that are not finite can be
 * written, except to .jsonl. Errors: XF_ERR_ARGUMENT, XF_ERR_DATA, XF_ERR_IO, XF_ERR_MEMORY. */
XF_API xf_status xf_outputs_save(const char *path, int64_t n_sequences, int64_t d, const double *y,
                                 const int64_t *y_offsets, xf_error *error);

/* Copy arrays into a new data set, then normalise and check as xf_dataset_load does.
 * x [T][d] and y [M][d] row-major, offsets [N+1]; y and y_offsets NULL for inputs only. */
XF_API xf_status xf_dataset_from_arrays(xf_dataset *out, int64_t n_sequences, int64_t d,
                                        const double *x, const int64_t *x_offsets, const double *y,
                                        const int64_t *y_offsets, const xf_dataset_options *options,
                                        xf_error *error);

/* Check d >= 1, N >= 1, offsets strictly increasing from 0, 1 <= m_j <= n_j, finite
 * values, distinct tokens within every X_j and within every Y_j, and that no X_j
 * occurs twice as a set. The error names the first offender. Repeated pairs are an
 * error here (load and from_arrays drop them). Cost O(T d log n). */
XF_API xf_status xf_dataset_check(const xf_dataset *data, xf_error *error);

/* The numbers of a data set. */
typedef struct xf_dataset_digest {
    char values_sha256[65]; /* hexadecimal, empty if not known */
    int64_t n_sequences, n_tokens, n_targets;
    int positions;         /* as in xf_dataset */
    double largest_target; /* largest Euclidean norm of a target; 0: none, not known or too large */
} xf_dataset_digest;

/* SHA-256 of the data as they are in memory, so that the container they came from does not matter,
 * nor the order of bytes of the machine: d, N, T, M, x_offsets, x and, where present, y_offsets, y
 * one behind the other as little-endian int64 and binary64. Not the digest of any file. */
XF_API void xf_digest_dataset(xf_dataset_digest *out, const xf_dataset *data);

#ifdef __cplusplus
}
#endif
#endif
