/* Records checked and summed up, and compared with what the description says of them. */
#include "api/log_stages.h"

#include "base/error.h"

#include <math.h>
#include <stddef.h>

/* Of a J that somebody computed in binary32, or in another order. */
static const double ROUNDED = 1e-4;

static double unit(const xf_precision *precision, double value) {
    return fmax(precision->relative * value, precision->absolute);
}

/* By how much a printed J may differ from the J of the printed loss and norm. */
static double tolerance(const xf_training_log *log, const xf_train_record *record,
                        double weight_decay, const xf_precision *precision, double objective) {
    return unit(&log->loss_precision, record->loss) +
           weight_decay / 2 * unit(&log->norm2_precision, record->norm2) +
           unit(precision, objective);
}

/* Verdicts rest on loss and norm: J is computed from them, and the printed J must agree. */
static xf_status recompute(xf_training_log *log, const xf_precision *precision, xf_error *error) {
    for (int64_t i = 0; i < log->n_records; i++) {
        xf_train_record *record = &log->records[i];
        double eps = log->stages[record->stage].weight_decay;
        double printed = record->objective;
        record->objective = record->loss + eps / 2 * record->norm2;
        double slack = tolerance(log, record, eps, precision, printed) + ROUNDED * printed;
        if (!(fabs(printed - record->objective) <= slack))
            return xfi_fail(error, XF_ERR_DATA,
                            "record %lld: J is not loss + (weight_decay / 2) norm2", (long long)i);
    }
    return XF_OK;
}

/* Without a word in the description: the start that ends with the least J. */
static void keep_best_start(const xf_training_log *log, xf_log_stage *stage) {
    double least = INFINITY;
    for (int64_t i = stage->first; i < stage->first + stage->count; i++) {
        const xf_train_record *record = &log->records[i];
        int ends = i + 1 == stage->first + stage->count || record[1].start != record->start;
        if (!ends || !(record->objective < least))
            continue;
        least = record->objective;
        stage->start = record->start;
    }
}

static int sum_up_start(const xf_training_log *log, xf_log_stage *stage) {
    int found = 0;
    stage->min_loss = stage->min_objective = INFINITY;
    for (int64_t i = stage->first; i < stage->first + stage->count; i++) {
        const xf_train_record *record = &log->records[i];
        if (record->start != stage->start)
            continue;
        stage->min_loss = fmin(stage->min_loss, record->loss);
        stage->min_objective = fmin(stage->min_objective, record->objective);
        stage->last = *record;
        found = 1;
    }
    return found;
}

/* 0 if there is no number of that name. */
static int get_real(double *out, const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (json_is_number(value))
        *out = json_number_value(value);
    return json_is_number(value);
}

/* The start that is said to be the one kept, if one is. */
static int choose_start(xf_log_stage *stage, const json_t *said) {
    const json_t *start = json_object_get(said, "start");
    if (json_is_integer(start))
        stage->start = (int64_t)json_integer_value(start);
    return start == NULL || json_is_integer(start);
}

/* Are there records of all epochs of the start that was kept? */
static int is_complete(const xf_training_log *log, const xf_log_stage *stage) {
    int64_t next = -1;
    for (int64_t i = stage->first; i < stage->first + stage->count; i++) {
        const xf_train_record *record = &log->records[i];
        if (record->start != stage->start)
            continue;
        if (next < 0 ? record->epoch > 1 : record->epoch != next)
            return 0;
        next = record->epoch + 1;
    }
    return 1;
}

/* A minimum over all epochs may be below those of the records only where some were left out. */
static int take_least(double *least, const json_t *said, const char *key, double slack,
                      int complete) {
    double value = NAN;
    if (!get_real(&value, said, key) || !(value >= 0.0))
        return 1;
    if (complete && fabs(value - *least) > slack)
        return 0;
    *least = fmin(*least, value);
    return 1;
}

static xf_status take_minima(const xf_training_log *log, xf_log_stage *stage, int i,
                             const json_t *said, double slack, xf_error *error) {
    int complete = is_complete(log, stage);
    if (take_least(&stage->min_loss, said, "min_loss", slack, complete) &&
        take_least(&stage->min_objective, said, "min_J", slack, complete))
        return XF_OK;
    return xfi_fail(error, XF_ERR_DATA,
                    "stage %d: every epoch has a record, and none has the least loss or J that the "
                    "description says",
                    i);
}

/* What the description says of a stage: which start, and values between the records. */
static xf_status compare_stage(const xf_training_log *log, xf_log_stage *stage, int i,
                               const json_t *said, const xf_precision *precision, xf_error *error) {
    double weight_decay = NAN, objective = NAN;
    if (!get_real(&weight_decay, said, "weight_decay") || weight_decay != stage->weight_decay ||
        !choose_start(stage, said) || !sum_up_start(log, stage))
        return xfi_fail(error, XF_ERR_DATA,
                        "stage %d: the records are not those of the description", i);
    double slack = tolerance(log, &stage->last, weight_decay, precision, stage->last.objective);
    if (get_real(&objective, said, "J") && fabs(objective - stage->last.objective) > slack)
        return xfi_fail(error, XF_ERR_DATA,
                        "stage %d: the records end at epoch %lld and not where the description "
                        "says: the log is cut short",
                        i, (long long)stage->last.epoch);
    return take_minima(log, stage, i, said, slack, error);
}

xf_status xfi_log_stages(xf_training_log *log, const json_t *said, const xf_precision *objective,
                         xf_error *error) {
    if (said != NULL && json_array_size(said) != (size_t)log->n_stages)
        return xfi_fail(error, XF_ERR_DATA,
                        "the description lists %lld stages, the records %d: the log is cut short",
                        (long long)json_array_size(said), log->n_stages);
    XFI_TRY(recompute(log, objective, error));
    for (int i = 0; i < log->n_stages; i++) {
        xf_log_stage *stage = &log->stages[i];
        keep_best_start(log, stage);
        sum_up_start(log, stage);
        if (said != NULL)
            XFI_TRY(
                compare_stage(log, stage, i, json_array_get(said, (size_t)i), objective, error));
    }
    return XF_OK;
}
