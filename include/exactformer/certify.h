/* Certificates: proofs that a model maps every input of a data set exactly to its targets.
 *
 * Numeric class: rigorous. A claim is answered yes or no only if it is proved or disproved by the
 * lemmas of docs/certify.md; otherwise unknown. */
#ifndef EXACTFORMER_CERTIFY_H
#define EXACTFORMER_CERTIFY_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum xf_answer { XF_UNKNOWN = 0, XF_YES = 1, XF_NO = 2 } xf_answer;

/* All-zero (or NULL) means: attention and tau of the model, exp within 4 ulp, all cores. */
typedef struct xf_certify_options {
    int override_attention; /* nonzero: use `attention` in place of the model's */
    xf_attention attention;
    double tau;  /* > 0: use it in place of the model's tau */
    int exp_ulp; /* error of the machine's exp in ulp, 1 to 1024; 0: 4 */
    int threads; /* 0: as many as there are cores */
    xf_progress_fn progress;
    void *progress_context;
} xf_certify_options;

enum { XF_REASON_SIZE = 240 };

/* The bytes of a file. */
typedef struct xf_file_digest {
    char sha256[65]; /* hexadecimal, empty if not known */
    int64_t bytes;
} xf_file_digest;

/* Errors: XF_ERR_IO. */
XF_API xf_status xf_digest_file(xf_file_digest *out, const char *path, xf_error *error);

/* One claim: (R), about real numbers, or (F), about every admissible evaluation in the model's
 * format. Positions are -1 where none applies. */
typedef struct xf_claim {
    xf_answer answer;
    int64_t n_proved;    /* sequences proved */
    int64_t n_disproved; /* sequences disproved */
    double tau_min;      /* the claim is about temperatures in (tau_min, tau_max], or about */
    double tau_max;      /* tau_max alone if they are equal; INFINITY: all, and hardmax too */
    int64_t sequence;    /* the first that is disproved, else the first that is not proved */
    int64_t token;       /* its row in the sequence */
    int64_t block;
    int is_subnormal_free; /* ieee: no nonzero subnormal number can occur, so that the claim holds
                              with FTZ and DAZ as well */
    int uses_exp;          /* ieee: it rests on the error of exp */
    char reason[XF_REASON_SIZE]; /* empty if proved */
} xf_claim;

/* The smallest margin of the decisions in one phase; INFINITY if none was made under
 * uncertainty. */
typedef struct xf_phase_margin {
    double margin;
    int64_t sequence, token, block;
} xf_phase_margin;

/* Owns its arrays. */
typedef struct xf_certificate {
    xf_file_digest model_file; /* of the files, if the caller sets them: xf_certify does not */
    xf_file_digest data_file;
    int64_t n_blocks, width, d; /* of the model */
    xf_dtype dtype;
    xf_order order;
    int causal;
    int64_t n_sequences, n_tokens, n_targets; /* of the data */
    xf_attention attention;                   /* what was certified */
    double tau;
    int exp_ulp;
    int threads;
    char backend[32]; /* the library that computed the exact numbers, with its version */
    xf_claim real;
    xf_claim ieee;
    int64_t n_phases; /* of the model, or 1 if it names none */
    xf_phase *phases;
    xf_phase_margin *real_margins; /* [n_phases] */
    xf_phase_margin *ieee_margins; /* [n_phases] */
} xf_certificate;

XF_API void xf_certificate_init(xf_certificate *certificate);
XF_API void xf_certificate_clear(xf_certificate *certificate);

/* Try to prove both claims for `model`, any model of the architecture, on `data`. `out` need not be
 * initialised and is left cleared on failure. Returns XF_OK if both are proved, XF_NOT_EXACT with
 * `out` filled if not.
 * Errors: XF_ERR_ARGUMENT (d differs, no targets, options), XF_ERR_DATA (an input value is beyond
 * the range of binary32 for an F32 model), XF_ERR_MEMORY, XF_ERR_CANCELLED. FLINT, which computes
 * the exact numbers, ends the program if it finds no memory. */
XF_API xf_status xf_certify(xf_certificate *out, const xf_model *model, const xf_dataset *data,
                            const xf_certify_options *options, xf_error *error);

/* Write the certificate as JSON (docs/certify.md, section 6), complete or not at all.
 * Errors: XF_ERR_IO, XF_ERR_MEMORY. */
XF_API xf_status xf_certificate_save(const xf_certificate *certificate, const char *path,
                                     xf_error *error);

#ifdef __cplusplus
}
#endif
#endif
