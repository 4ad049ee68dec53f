/* Did a training reach a global minimum? An exact interpolant as a yardstick.
 *
 * Let theta* be a member of the trained family whose loss is exactly 0. A global minimiser theta of
 * J(theta) = loss(theta) + (eps / 2) |theta|^2 has
 *
 *     loss(theta) <= J(theta) <= J(theta*) = (eps / 2) |theta*|^2,
 *
 * so a state above this threshold is no global minimum; being below it proves nothing. J is the
 * sharper test. Without any theta* every other state of the log is a yardstick too: a global
 * minimiser of J at eps has no larger J than it. docs/yardstick.md. */
#ifndef EXACTFORMER_DIAGNOSE_H
#define EXACTFORMER_DIAGNOSE_H

#include <exactformer/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How exactly numbers were printed: x may be off by the larger of relative |x| and absolute. */
typedef struct xf_precision {
    double relative, absolute;
} xf_precision;

/* One stage of a log. */
typedef struct xf_log_stage {
    double weight_decay;  /* eps */
    int64_t first, count; /* its records */
    int64_t start;        /* the start that was kept */
    xf_train_record last; /* the last record of that start */
    double min_loss; /* of that start, over all epochs if the log says, else over its records */
    double min_objective;
} xf_log_stage;

/* What a training wrote down. Release with xf_training_log_clear. */
typedef struct xf_training_log {
    xf_family family;
    xf_dtype dtype; /* F32, the coarser, if the log does not say */
    int decoupled;  /* nonzero: weight decay apart from the gradient, so that J was not minimised */
    int64_t n_records;
    xf_train_record *records; /* [n_records] with J computed anew from loss and norm2 */
    int n_stages;
    xf_log_stage *stages; /* [n_stages] */
    xf_precision loss_precision, norm2_precision;
    xf_dataset_digest dataset; /* of the training; without digest if the log does not say */
} xf_training_log;

XF_API void xf_training_log_init(xf_training_log *log);
XF_API void xf_training_log_clear(xf_training_log *log);

/* Read a .csv or .json file as xf_training_save_log writes it, or as somebody else's training
 * writes it in the same format (docs/training.md). `out` need not be initialised and is left
 * cleared on failure. Checked: numbers finite, J = loss + (weight decay / 2) norm2 to 1e-4, records
 * in order and not cut short. Errors, naming the line or record: XF_ERR_DATA; XF_ERR_ARGUMENT
 * (another extension), XF_ERR_IO, XF_ERR_MEMORY. */
XF_API xf_status xf_training_log_load(xf_training_log *out, const char *path, xf_error *error);

/* What is certain about a stage's last state, within the bounds of its numbers. */
typedef enum xf_verdict {
    XF_UNDECIDED = 0,     /* it may be a global minimum, or not */
    XF_NOT_A_MINIMUM = 1, /* certainly no global minimum */
    XF_NOT_COMPARABLE = 2 /* no threshold, and no better state in the log */
} xf_verdict;

typedef struct xf_stage_diagnosis {
    double threshold; /* (eps / 2) |theta*|^2; NAN if there is no comparable theta* */
    xf_verdict verdict;
    int objective_above;     /* the last J is above the threshold */
    int loss_above;          /* even the last loss is */
    int beaten;              /* another state of the log has a lower J at this eps: */
    xf_train_record better;  /* that state, and its J here */
    double better_objective; /* J of `better` at this eps */
    double margin;      /* of J, by which the verdict is reached: the larger of J / threshold - 1
                           and J / better_objective - 1; NAN if there is none */
    int64_t loss_below; /* first epoch recorded with the loss below the threshold, or -1 */
    int64_t objective_below; /* the same for J */
} xf_stage_diagnosis;

/* Least squares line through (log eps, log value). */
typedef struct xf_slope {
    int n;            /* points */
    double slope;     /* NAN for n < 2 */
    double error;     /* its standard error; NAN for n < 3 */
    double intercept; /* value = exp(intercept) eps^slope */
} xf_slope;

/* Is J / eps, which can only grow as eps falls if every J is a minimum, settling? */
typedef enum xf_trend {
    XF_TREND_UNKNOWN = 0, /* fewer than two eps > 0, or no J was minimised */
    XF_LEVELLING = 1,     /* local slope of J between the two smallest eps within 0.1 of 1 */
    XF_GROWING = 2,       /* below 0.9 */
    XF_FALLING = 3        /* above 1.1: impossible for global minima */
} xf_trend;

typedef struct xf_diagnosis {
    int comparable;   /* theta* belongs to the family */
    char why[256];    /* why not */
    double norm2;     /* |theta*|^2 in the family, identities that fill it up included; or NAN */
    double own_norm2; /* of the model by itself */
    double scale;     /* norm of the targets on which the rounding of losses is taken to rest */
    int scale_known;  /* nonzero: it is the data's; else 1, or the root of the largest loss */
    int n_stages;
    xf_stage_diagnosis *stages; /* [n_stages] */
    xf_slope loss, objective;   /* of the least loss and J of every stage against eps */
    xf_trend trend;
    double local_slope; /* of J between the two smallest eps; NAN if there are none */
} xf_diagnosis;

XF_API void xf_diagnosis_init(xf_diagnosis *diagnosis);
XF_API void xf_diagnosis_clear(xf_diagnosis *diagnosis);

/* Diagnose a log. `exact` is a model with loss exactly 0 on the data of the run, which is the
 * caller's word; NULL: none. `out` need not be initialised.
 * Numeric class: enclosure of the log's numbers, for what their digits and the rounding of the run
 * leave open; of the latter it is assumed, not known, that it leaves every output half of its
 * digits (docs/yardstick.md). Errors: XF_ERR_MEMORY. */
XF_API xf_status xf_diagnose(xf_diagnosis *out, const xf_training_log *log, const xf_model *exact,
                             xf_error *error);

#ifdef __cplusplus
}
#endif
#endif
