/* Training by gradients, for comparison with what is constructed.
 *
 * A *family* is a set of models with as many parameters theta [P], which all move. The loss is
 * the mean over the sequences of the squared Hausdorff distance between the set of output
 * tokens and the set of targets; with one target this is the largest squared distance of a token
 * from it. The objective is J(theta) = loss + (weight_decay / 2) |theta|^2. */
#ifndef EXACTFORMER_TRAIN_H
#define EXACTFORMER_TRAIN_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What V is: a free matrix, or alpha I + left right^T. */
typedef enum xf_value_form { XF_VALUE_FULL = 0, XF_VALUE_LOW_RANK = 1 } xf_value_form;

/* L blocks as in model.h with softmax attention at one temperature. The parameters of a block are
 * rho, A's parts, V's parts, eta, W, U, b. */
typedef struct xf_family {
    int64_t n_blocks;
    int64_t d;
    int64_t width;
    int64_t rank; /* h >= 0: A = sum over r < h of K_r Q_r^T, logits sum_r <Q_r, x_i> <K_r, x_l> */
    int scalar;   /* nonzero: A = alpha I + that sum */
    xf_value_form value;
    xf_order order;
    int causal;
    double tau;
} xf_family;

/* Sizes at least 1 (rank at least 0), tau positive and finite, P within reason.
 * Errors: XF_ERR_ARGUMENT. */
XF_API xf_status xf_family_check(const xf_family *family, xf_error *error);

/* P, for a family that passed the check. */
XF_API int64_t xf_family_parameters(const xf_family *family);

/* The smallest family with the shape of `model` (blocks, width, order, mask) that has room for
 * its matrices, at temperature `tau` (0: the model's own, or 1 for hardmax). */
XF_API void xf_family_of_model(xf_family *out, const xf_model *model, double tau);

/* theta [P] with which the family computes what `model` computes, exactly; the rest is padded
 * by zero neurons and identity blocks (eta = rho = 1). A family of the other order needs
 * one block more; a model without values (V = 0) belongs to both masks and every temperature.
 * |theta|^2 is what a penalty on this family charges for the model. Numeric class:
 * exact. Errors: XF_ERR_INFEASIBLE, saying why the model does not belong to the family. */
XF_API xf_status xf_family_embed(double *theta, const xf_family *family, const xf_model *model,
                                 xf_error *error);

/* The member theta [P] as a model (construction "trained"). Numeric class: exact, but for A of
 * rank above 1, which is multiplied out to a full matrix and rounded to `dtype`.
 * Errors: XF_ERR_DATA (parameters that are not finite, or no binary32 numbers for F32),
 * XF_ERR_MEMORY. */
XF_API xf_status xf_family_model(xf_model *out, const xf_family *family, const double *theta,
                                 xf_dtype dtype, xf_error *error);

/* Parameters as torch.nn.Linear draws them: uniform in +-1/sqrt(fan in), for low-rank parts of V
 * too; rho = eta = alpha = `residual`. The same (seed, start) gives the same on every machine. */
XF_API void xf_family_initial(double *theta, const xf_family *family, uint64_t seed, int64_t start,
                              double residual);

/* The loss at theta [P], computed in `dtype`, and its gradient [P] (NULL: not wanted). Where the
 * loss has a kink the gradient is one of the active pieces': the first token, then the first
 * target, that attains the distance; relu'(0) = 0 (docs/training.md). `threads` as in
 * xf_train_options. Numeric class: approximate; a loss of 0 means that every squared distance is 0
 * as computed. Errors: XF_ERR_ARGUMENT (another d, no targets), XF_ERR_MEMORY. */
XF_API xf_status xf_loss(double *loss, double *gradient, const xf_family *family,
                         const double *theta, const xf_dataset *data, xf_dtype dtype, int threads,
                         xf_error *error);

typedef enum xf_optimiser { XF_ADAM = 0, XF_ADAMW = 1, XF_LBFGS = 2 } xf_optimiser;
typedef enum xf_schedule { XF_COSINE = 0, XF_CONSTANT = 1 } xf_schedule;

/* Training at one weight decay. */
typedef struct xf_stage {
    double weight_decay; /* >= 0 */
    int64_t epochs;      /* steps of Adam, or iterations of L-BFGS for each start */
} xf_stage;

/* All-zero (or NULL) but for the stages means: Adam with coupled weight decay at learning rate
 * 1e-3, a cosine schedule to 0 in every stage, binary64, seed 0, one start, all cores. */
typedef struct xf_train_options {
    xf_optimiser optimiser;
    xf_schedule schedule;
    double learning_rate;   /* 0: 1e-3; not for L-BFGS */
    const xf_stage *stages; /* [n_stages], one after the other; fresh optimiser and schedule each */
    int n_stages;
    int cold;              /* nonzero: every stage starts anew, not where the one before ended */
    const double *initial; /* theta [P] of start 0; NULL: random as the other starts are */
    double residual;       /* rho, eta and alpha of random starts, rounded to binary32 */
    uint64_t seed;
    int64_t starts; /* 0: 1. So many starts in every stage, the best J is kept */
    xf_dtype dtype;
    int threads;            /* 0: one with little work (tokens times parameters below 4e6), else as
                               many as there are cores; the result does not depend on it */
    int64_t log_every;      /* 0: 1. Record every so many epochs, and the last of a start */
    const char *checkpoint; /* a .safetensors file to write now and then and at the end; or NULL */
    int resume;             /* nonzero: go on from the checkpoint */
    xf_progress_fn progress;
    void *progress_context;
} xf_train_options;

/* The state before step `epoch` (1-based) of Adam, or after iteration `epoch` of L-BFGS (0: the
 * start). `epoch` = epochs + 1 is the state after the last step of Adam. */
typedef struct xf_train_record {
    int64_t stage; /* zero-based, as `start` is */
    int64_t start;
    int64_t epoch;
    double loss;
    double norm2; /* |theta|^2 */
    double objective;
    double learning_rate; /* 0 for L-BFGS */
} xf_train_record;

/* What a stage came to. */
typedef struct xf_stage_report {
    xf_train_record last; /* of the start that is kept: where the stage ended */
    double min_loss;      /* over all epochs of that start, recorded or not */
    int64_t min_loss_epoch;
    double min_objective;
    int64_t epochs; /* of that start; L-BFGS may stop early */
} xf_stage_report;

/* The result of a training. Release with xf_training_clear. */
typedef struct xf_training {
    int64_t n_parameters;
    double *theta; /* [P] at the end of the last stage */
    int64_t n_records;
    xf_train_record *records; /* [n_records] */
    int n_stages;
    xf_stage_report *stages;   /* [n_stages] */
    xf_dataset_digest dataset; /* what it was trained on */
} xf_training;

XF_API void xf_training_init(xf_training *training);
XF_API void xf_training_clear(xf_training *training);

/* Train a member of `family` on `data`, full batch. `out` need not be initialised and is left
 * cleared on failure. The same arguments give the same bits for every number of threads, and
 * resuming from a checkpoint gives those of the uninterrupted run.
 * Errors: XF_ERR_ARGUMENT, XF_ERR_DATA (a loss or J that is not finite, a weight decay whose
 * gradient overflows, a checkpoint of another run or of other data), XF_ERR_IO (checkpoint),
 * XF_ERR_MEMORY, XF_ERR_CANCELLED (the checkpoint has been written). */
XF_API xf_status xf_train(xf_training *out, const xf_family *family, const xf_dataset *data,
                          const xf_train_options *options, xf_error *error);

/* Write what a training did: to FILE.csv a table of the records behind a first line "# " + a JSON
 * object that describes the run, to FILE.json that object with the records in it
 * (docs/training.md). `family` and `options` as for xf_train. Atomic.
 * Errors: XF_ERR_ARGUMENT (another extension), XF_ERR_IO, XF_ERR_MEMORY. */
XF_API xf_status xf_training_save_log(const xf_training *training, const xf_family *family,
                                      const xf_train_options *options, const char *path,
                                      xf_error *error);

#ifdef __cplusplus
}
#endif
#endif
