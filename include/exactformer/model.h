/* The model: L blocks, each a feed-forward layer and a self-attention layer.
 *
 *     FF(x)   = eta x + W relu(U x + b)
 *     SA_i(X) = rho x_i + V sum_l pi_il x_l,   A, V = alpha I + left right^T (+ full)
 *
 * pi is hardmax (uniform on the argmax of <A x_i, x_l>) or softmax of
 * <A x_i, x_l> / tau. Arrays are those of the interchange layout, row-major. */
#ifndef EXACTFORMER_MODEL_H
#define EXACTFORMER_MODEL_H

#include <exactformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum xf_attention { XF_HARDMAX = 0, XF_SOFTMAX = 1 } xf_attention;
typedef enum xf_dtype { XF_F64 = 0, XF_F32 = 1 } xf_dtype;
typedef enum xf_order { XF_FF_SA = 0, XF_SA_FF = 1 } xf_order;

/* A run of blocks with one job, e.g. "pooling" or "write". */
typedef struct xf_phase {
    char name[16];
    int64_t first;
    int64_t count;
} xf_phase;

/* What another writer would have cost for the same data. */
typedef struct xf_alternative {
    char front[16];
    char writer[16];
    int64_t blocks;
    double norm_squared; /* NAN: not computed */
} xf_alternative;

enum { XF_MAX_ALTERNATIVES = 12 };

/* alpha I + left right^T + full, for every block. `full` is NULL unless some block
 * has a full matrix (trained or edited models). */
typedef struct xf_low_rank {
    double *alpha; /* [L] */
    double *left;  /* [L][d] */
    double *right; /* [L][d] */
    double *full;  /* [L][d][d] or NULL */
} xf_low_rank;

/* Owns its arrays. All weights are held as binary64; with dtype XF_F32 every one of
 * them is a binary32 number and the model is evaluated in binary32. */
typedef struct xf_model {
    int64_t n_blocks; /* L >= 1 */
    int64_t d;
    int64_t width; /* w */
    xf_dtype dtype;
    xf_attention attention;
    xf_order order;
    int causal;
    double tau;            /* softmax temperature; ignored for hardmax */
    double tau_max;        /* exact for every tau <= tau_max; INFINITY: every
                              temperature, 0: hardmax only */
    char construction[16]; /* "pooled", "published", "resnet", "trained", "edited" */
    char front[16];        /* front end and writer chosen; empty if unknown */
    char writer[16];
    int n_alternatives; /* what else could have been chosen, for the reader */
    xf_alternative alternatives[XF_MAX_ALTERNATIVES];
    int64_t n_sequences; /* N, M, T of the data set it was built for */
    int64_t n_targets;
    int64_t n_tokens;
    int positions; /* as xf_dataset.positions */
    int64_t n_phases;
    xf_phase *phases; /* [n_phases], in order, covering all blocks */

    double *ff_eta; /* [L] */
    double *ff_W;   /* [L][d][w] columns are output directions */
    double *ff_U;   /* [L][w][d] rows are input directions */
    double *ff_b;   /* [L][w] */
    double *sa_rho; /* [L] */
    xf_low_rank sa_A;
    xf_low_rank sa_V;
} xf_model;

/* An empty model that xf_model_clear accepts. */
XF_API void xf_model_init(xf_model *model);
XF_API void xf_model_clear(xf_model *model);

/* Allocate n_blocks identity blocks (eta = rho = 1, all else 0), dtype F64, hardmax,
 * tau 1, tau_max infinite, no phases. `out` need not be initialised.
 * Errors: XF_ERR_ARGUMENT, XF_ERR_MEMORY. */
XF_API xf_status xf_model_new(xf_model *out, int64_t n_blocks, int64_t d, int64_t width,
                              xf_error *error);

/* Check shapes, finite weights, binary32 weights for XF_F32, phases in order and
 * covering [0, L), temperatures. Errors: XF_ERR_DATA. */
XF_API xf_status xf_model_check(const xf_model *model, xf_error *error);

/* How a model lies in a file: dense is the interchange layout, which any safetensors
 * library reads; compact leaves out the zeros (docs/compact.md). */
typedef enum xf_layout { XF_LAYOUT_DENSE = 0, XF_LAYOUT_COMPACT = 1 } xf_layout;

/* Read a model of either layout (.safetensors), or write the interchange layout. Load
 * checks as above; unknown tensors are ignored. Save is atomic: complete or not at all.
 * Errors: XF_ERR_IO, XF_ERR_DATA, XF_ERR_MEMORY. */
XF_API xf_status xf_model_load(xf_model *out, const char *path, xf_error *error);
XF_API xf_status xf_model_save(const xf_model *model, const char *path, xf_error *error);

/* Save in the layout asked for. Errors: also XF_ERR_ARGUMENT. */
XF_API xf_status xf_model_save_as(const xf_model *model, const char *path, xf_layout layout,
                                  xf_error *error);

/* Everything about a model but its weights: the JSON object `config` of a model file, as one line
 * of text that the caller releases with xf_text_free. Errors: XF_ERR_MEMORY. */
XF_API xf_status xf_model_config(char **out, const xf_model *model, xf_error *error);
XF_API void xf_text_free(char *text);

/* The way back: a model of identity blocks that is otherwise as `config` says, for the caller to
 * put weights into and to check with xf_model_check. Nonzero full_A, full_V: with arrays for full
 * matrices, zero. `out` need not be initialised and is left cleared on failure.
 * Errors: XF_ERR_DATA naming the key, XF_ERR_MEMORY. */
XF_API xf_status xf_model_from_config(xf_model *out, const char *config, int full_A, int full_V,
                                      xf_error *error);

/* The bound of the paper for N sequences and M targets: 2M + 2N + 1 blocks for
 * hardmax, 2M + 3N for softmax (arXiv:2502.02270, Theorems 1 and 2). */
XF_API int64_t xf_published_bound(int64_t n_sequences, int64_t n_targets, xf_attention attention);

#ifdef __cplusplus
}
#endif
#endif
