/* All sequences, both senses, one certificate. */
#include "certify/cert_ball.h"
#include "certify/cert_follow.h"
#include "certify/cert_rational.h"
#include "certify/cert_witness.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/fpenv.h"

#include <omp.h>
#include <stdio.h>

enum {
    SEQUENCES_AT_ONCE = 8, /* for each thread, between two reports of progress */
    MOST_THREADS = 256,
    WITNESS_ORDERS = 12,   /* evaluations that look for a counterexample */
    WITNESS_SEQUENCES = 64 /* among so many sequences that are open */
};

/* Rational numbers of a sequence may grow to so many bits together. */
static const int64_t MOST_BITS = (int64_t)1 << 22;

/* Precisions at which balls try to disprove sense (R). */
static const int64_t BALL_BITS[] = {192, 1024, 8192};

/* Operations that the first look at some sequences may take. */
static const double SAMPLE_WORK = 3e8;

enum { N_BALL_BITS = sizeof BALL_BITS / sizeof BALL_BITS[0] };

void xf_certificate_init(xf_certificate *certificate) {
    *certificate = (xf_certificate){0};
}

void xf_certificate_clear(xf_certificate *certificate) {
    xfi_free(certificate->phases);
    xfi_free(certificate->real_margins);
    xfi_free(certificate->ieee_margins);
    xf_certificate_init(certificate);
}

/* What a sequence came to. */
typedef struct outcome {
    xf_answer answer;
    int64_t token, block;
    char reason[XFI_REASON_SIZE];
} outcome;

/* One sense at one temperature. */
typedef struct trial {
    xfi_network *network;
    const xf_dataset *data;
    xfi_sense sense;
    xfi_heat heat;
    int threads;
    xf_certify_options options;
    const char *name;
    outcome *outcomes; /* [N] */
    xfi_least *least;  /* [n_phases or 1] */
    int64_t n_phases;
    int may_be_subnormal, used_exp, one_temperature;
} trial;

static void keep_outcome(outcome *out, xf_answer answer, const xfi_log *log) {
    *out = (outcome){answer, -1, -1, ""};
    if (answer == XF_YES)
        return;
    out->token = log->doubt_token;
    out->block = log->doubt_block;
    memcpy(out->reason, log->doubt, XFI_REASON_SIZE);
}

/* Margins and marks of all threads; the result does not depend on their number, as equal margins
 * are told apart by their place. */
static void collect(trial *t, const xfi_follower *follower, const xfi_log *log) {
    t->may_be_subnormal |= log->may_be_subnormal;
    t->used_exp |= log->used_exp;
    t->one_temperature |= log->one_temperature;
    for (int64_t i = 0; i < t->n_phases; i++) {
        const xfi_least *a = &follower->least[i], *b = &t->least[i];
        if (a->margin < b->margin || (a->margin == b->margin && a->sequence < b->sequence))
            t->least[i] = *a;
    }
}

static xf_status report_progress(const trial *t, double done, xf_error *error) {
    if (t->options.progress == NULL ||
        t->options.progress(t->options.progress_context, t->name, done) == 0)
        return XF_OK;
    return xfi_fail(error, XF_ERR_CANCELLED, "cancelled");
}

/* Follow all sequences; threads share stretches of them. */
static xf_status follow_all(trial *t, xfi_follower *followers, xfi_log *logs, xf_error *error) {
    int64_t N = t->data->n_sequences, stretch = (int64_t)t->threads * SEQUENCES_AT_ONCE;
    for (int64_t first = 0; first < N; first += stretch) {
        int64_t last = first + stretch < N ? first + stretch : N;
#pragma omp parallel for num_threads(t->threads) schedule(dynamic, 1)
        for (int64_t j = first; j < last; j++) {
            int thread = omp_get_thread_num();
            xf_answer answer = xfi_follow(&followers[thread], j, &logs[thread]);
            keep_outcome(&t->outcomes[j], answer, &logs[thread]);
        }
        XFI_TRY(report_progress(t, (double)last / (double)N, error));
    }
    return XF_OK;
}

static xf_status run_boxes(trial *t, xf_error *error) {
    xfi_follower *followers = xfi_calloc(t->threads, sizeof(xfi_follower));
    xfi_log *logs = xfi_calloc(t->threads, sizeof(xfi_log));
    int ok = followers != NULL && logs != NULL, begun = 0;
    while (ok && begun < t->threads)
        ok = xfi_follower_init(&followers[begun++], t->network, &t->sense, &t->heat, t->data);
    t->may_be_subnormal = t->network->has_subnormal;
    t->used_exp = t->one_temperature = 0;
    for (int64_t i = 0; i < t->n_phases; i++)
        t->least[i] = (xfi_least){INFINITY, -1, -1, -1};
    xf_status status = ok ? follow_all(t, followers, logs, error) : xfi_fail_memory(error);
    for (int i = 0; i < begun; i++) {
        if (status == XF_OK)
            collect(t, &followers[i], &logs[i]);
        xfi_follower_clear(&followers[i]);
    }
    xfi_free(followers);
    xfi_free(logs);
#pragma omp parallel num_threads(t->threads)
    flint_cleanup();
    return status;
}

static int64_t first_with(const trial *t, xf_answer answer) {
    for (int64_t j = 0; j < t->data->n_sequences; j++)
        if (t->outcomes[j].answer == answer)
            return j;
    return -1;
}

static void refute(outcome *out, int64_t token, const char *how) {
    *out = (outcome){XF_NO, token, -1, ""};
    snprintf(out->reason, XFI_REASON_SIZE, "%s%s",
             token >= 0 ? "its output is none of the targets" : "a target is no token's output",
             how);
}

/* C-no (real): balls, with ever more bits. */
static xf_status refute_by_balls(trial *t, int64_t j, xf_error *error) {
    for (int i = 0; i < N_BALL_BITS; i++) {
        int differs = 0;
        int64_t token = -1;
        XFI_TRY(xfi_ball_refutes(&differs, &token, t->network, &t->heat, t->data, j, BALL_BITS[i],
                                 error));
        if (differs) {
            refute(&t->outcomes[j], token, ", in ball arithmetic");
            return XF_OK;
        }
    }
    return XF_OK;
}

/* C-exact. */
static xf_status settle_by_rationals(trial *t, int64_t j, xf_error *error) {
    int64_t token = -1;
    xf_answer answer = XF_UNKNOWN;
    if (t->heat.attention == XF_SOFTMAX && xfi_network_has_logits(t->network))
        return XF_OK;
    XFI_TRY(xfi_rational_answer(&answer, &token, t->network, t->data, j, MOST_BITS, error));
    if (answer == XF_YES)
        t->outcomes[j] = (outcome){XF_YES, -1, -1, ""};
    if (answer == XF_NO)
        refute(&t->outcomes[j], token, ", in rational arithmetic");
    return XF_OK;
}

/* The sequences that the boxes left open, up to the first that is disproved. */
static xf_status settle_real(trial *t, xf_error *error) {
    int64_t no = first_with(t, XF_NO), last = no >= 0 ? no : t->data->n_sequences;
    for (int64_t j = 0; j < last; j++) {
        if (t->outcomes[j].answer != XF_UNKNOWN)
            continue;
        XFI_TRY(report_progress(t, (double)j / (double)last, error));
        XFI_TRY(refute_by_balls(t, j, error));
        if (t->outcomes[j].answer == XF_UNKNOWN)
            XFI_TRY(settle_by_rationals(t, j, error));
        if (t->outcomes[j].answer == XF_NO)
            return XF_OK;
    }
    return XF_OK;
}

/* C-no (ieee) for the same: an order in which some output is wrong. */
static xf_status settle_ieee(trial *t, xf_error *error) {
    int64_t no = first_with(t, XF_NO), last = no >= 0 ? no : t->data->n_sequences;
    int64_t looked_at = 0;
    for (int64_t j = 0; j < last && looked_at < WITNESS_SEQUENCES; j++) {
        if (t->outcomes[j].answer != XF_UNKNOWN)
            continue;
        looked_at++;
        XFI_TRY(report_progress(t, (double)j / (double)last, error));
        for (uint64_t seed = 0; seed < WITNESS_ORDERS; seed++) {
            int differs = 0;
            int64_t token = -1;
            XFI_TRY(xfi_witness(&differs, &token, t->network, &t->heat, t->data, j, seed, error));
            if (!differs)
                continue;
            char how[80];
            snprintf(how, sizeof how, ", evaluated in order %llu (0: by index, others: drawn)",
                     (unsigned long long)seed);
            refute(&t->outcomes[j], token, how);
            return XF_OK;
        }
    }
    return XF_OK;
}

/* How many sequences may be evaluated once before the proof begins. */
static int64_t sample_size(const trial *t) {
    const xf_model *m = t->network->model;
    double links = 0.0, done = 0.0;
    for (int64_t b = 0; b < m->n_blocks; b++)
        for (int32_t i = 0; i < t->network->ff[b].n_units; i++)
            links +=
                t->network->ff[b].units[i].n_in + (double)m->d * t->network->ff[b].units[i].n_out;
    int64_t j = 0;
    while (j < t->data->n_sequences && done < SAMPLE_WORK) {
        double n = (double)(t->data->x_offsets[j + 1] - t->data->x_offsets[j]);
        done += n * (links + (double)(m->n_blocks * m->d) * (2.0 + n));
        j++;
    }
    return j;
}

/* Most models that are not exact show it when they are run once: then nothing else need be done.
 * t->outcomes tells, or is all unknown. */
static xf_status look_for_mismatch(trial *t, xf_error *error) {
    int64_t n = sample_size(t);
    for (int64_t j = 0; j < t->data->n_sequences; j++)
        t->outcomes[j] = (outcome){XF_UNKNOWN, -1, -1, ""};
    for (int64_t j = 0; j < n; j++) {
        int differs = 0;
        int64_t token = -1;
        XFI_TRY(xfi_witness(&differs, &token, t->network, &t->heat, t->data, j, 0, error));
        if (!differs)
            continue;
        if (!t->sense.ieee)
            return refute_by_balls(t, j, error);
        refute(&t->outcomes[j], token, ", evaluated in order 0 (by index)");
        return XF_OK;
    }
    return XF_OK;
}

/* Everything at t->heat.tau. */
static xf_status run_trial(trial *t, xf_error *error) {
    XFI_TRY(run_boxes(t, error));
    return t->sense.ieee ? settle_ieee(t, error) : settle_real(t, error);
}

static int64_t count_of(const trial *t, xf_answer answer) {
    int64_t count = 0;
    for (int64_t j = 0; j < t->data->n_sequences; j++)
        count += t->outcomes[j].answer == answer;
    return count;
}

static void set_reason(xf_claim *claim, const outcome *o) {
    char token[40] = "", block[40] = "";
    if (o->token >= 0)
        snprintf(token, sizeof token, ", token %lld", (long long)o->token);
    if (o->block >= 0)
        snprintf(block, sizeof block, ", block %lld", (long long)o->block);
    snprintf(claim->reason, sizeof claim->reason, "sequence %lld%s%s: %s",
             (long long)claim->sequence, token, block, o->reason);
}

static void state_claim(xf_claim *claim, const trial *t) {
    int64_t no = first_with(t, XF_NO), open = first_with(t, XF_UNKNOWN);
    int has_heat = t->heat.attention == XF_SOFTMAX && xfi_network_has_logits(t->network);
    *claim = (xf_claim){.answer = no >= 0     ? XF_NO
                                  : open >= 0 ? XF_UNKNOWN
                                              : XF_YES,
                        .n_proved = count_of(t, XF_YES),
                        .n_disproved = count_of(t, XF_NO),
                        .sequence = no >= 0 ? no : open,
                        .token = -1,
                        .block = -1,
                        .is_subnormal_free = t->sense.ieee && !t->may_be_subnormal,
                        .uses_exp = t->sense.ieee && t->used_exp && has_heat};
    claim->tau_max = has_heat ? t->heat.tau : INFINITY;
    claim->tau_min = has_heat ? (t->one_temperature ? t->heat.tau : 0.0) : INFINITY;
    if (claim->sequence < 0)
        return;
    const outcome *o = &t->outcomes[claim->sequence];
    claim->token = o->token;
    claim->block = o->block;
    set_reason(claim, o);
}

static void store_margins(xf_phase_margin *out, const trial *t) {
    for (int64_t i = 0; i < t->n_phases; i++)
        out[i] = (xf_phase_margin){t->least[i].margin, t->least[i].sequence, t->least[i].token,
                                   t->least[i].block};
}

/* All temperatures up to tau, if that can be proved by boxes. */
static xf_status try_interval(int *proved, trial *t, double tau, xf_error *error) {
    t->heat.tau = tau;
    XFI_TRY(run_boxes(t, error));
    *proved = count_of(t, XF_YES) == t->data->n_sequences && !t->one_temperature;
    return XF_OK;
}

/* One claim. If a run shows that it is false, nothing is proved. Where logits matter to softmax,
 * first for all temperatures up to the model's tau_max, then up to tau, then for tau alone. */
static xf_status make_claim(xf_claim *claim, xf_phase_margin *margins, trial *t, double tau_max,
                            xf_error *error) {
    double tau = t->heat.tau;
    int has_heat = t->heat.attention == XF_SOFTMAX && xfi_network_has_logits(t->network);
    int proved = 0;
    t->heat.one_tau = has_heat;
    t->may_be_subnormal = t->used_exp = t->one_temperature = 1;
    for (int64_t i = 0; i < t->n_phases; i++)
        t->least[i] = (xfi_least){INFINITY, -1, -1, -1};
    XFI_TRY(look_for_mismatch(t, error));
    if (first_with(t, XF_NO) >= 0) {
        state_claim(claim, t);
        store_margins(margins, t);
        return XF_OK;
    }
    t->heat.one_tau = 0;
    if (has_heat && tau_max > tau && isfinite(tau_max))
        XFI_TRY(try_interval(&proved, t, tau_max, error));
    if (has_heat && !proved)
        XFI_TRY(try_interval(&proved, t, tau, error));
    if (!proved) {
        t->heat.one_tau = has_heat;
        XFI_TRY(run_trial(t, error));
    }
    state_claim(claim, t);
    store_margins(margins, t);
    t->heat.tau = tau;
    return XF_OK;
}

static xf_status check(const xf_model *model, const xf_dataset *data,
                       const xf_certify_options *options, xf_error *error) {
    XFI_TRY(xfi_fpenv_check(error));
    XFI_TRY(xf_model_check(model, error));
    if (model->d != data->d)
        return xfi_fail(error, XF_ERR_ARGUMENT, "the model has d = %lld, the data have d = %lld",
                        (long long)model->d, (long long)data->d);
    if (data->y == NULL || data->n_targets < 1)
        return xfi_fail(error, XF_ERR_ARGUMENT, "the data set has no targets");
    if (options->exp_ulp < 0 || options->exp_ulp > 1024)
        return xfi_fail(error, XF_ERR_ARGUMENT, "exp_ulp must be between 1 and 1024");
    xfi_format format = xfi_format_of(model->dtype);
    for (int64_t j = 0; j < data->n_sequences; j++)
        for (int64_t i = data->x_offsets[j] * data->d; i < data->x_offsets[j + 1] * data->d; i++)
            if (!isfinite(xfi_round(&format, data->x[i])))
                return xfi_fail_at(error, XF_ERR_DATA, j, i / data->d - data->x_offsets[j],
                                   "sequence %lld, token %lld: %.17g is beyond the range of "
                                   "binary32",
                                   (long long)j, (long long)(i / data->d - data->x_offsets[j]),
                                   data->x[i]);
    return XF_OK;
}

static int allocate(xf_certificate *out, trial *t, const xf_model *model) {
    int64_t n = model->n_phases > 0 ? model->n_phases : 1;
    out->n_phases = t->n_phases = n;
    out->phases = xfi_calloc(n, sizeof(xf_phase));
    out->real_margins = xfi_calloc(n, sizeof(xf_phase_margin));
    out->ieee_margins = xfi_calloc(n, sizeof(xf_phase_margin));
    t->outcomes = xfi_calloc(t->data->n_sequences, sizeof(outcome));
    t->least = xfi_calloc(n, sizeof(xfi_least));
    if (!out->phases || !out->real_margins || !out->ieee_margins || !t->outcomes || !t->least)
        return 0;
    out->phases[0] = (xf_phase){"model", 0, model->n_blocks};
    for (int64_t i = 0; i < model->n_phases; i++)
        out->phases[i] = model->phases[i];
    return 1;
}

static xf_status certify(xf_certificate *out, const xf_model *model, trial *t, xf_error *error) {
    if (!allocate(out, t, model))
        return xfi_fail_memory(error);
    t->sense = xfi_sense_of(0, model->dtype);
    t->name = "real numbers";
    XFI_TRY(make_claim(&out->real, out->real_margins, t, model->tau_max, error));
    t->sense = xfi_sense_of(1, model->dtype);
    t->name = "every order";
    return make_claim(&out->ieee, out->ieee_margins, t, model->tau_max, error);
}

/* What the certificate is about. */
static void describe(xf_certificate *out, const xf_model *model, const xf_dataset *data) {
    out->n_blocks = model->n_blocks;
    out->width = model->width;
    out->d = model->d;
    out->dtype = model->dtype;
    out->order = model->order;
    out->causal = model->causal;
    out->n_sequences = data->n_sequences;
    out->n_tokens = data->n_tokens;
    out->n_targets = data->n_targets;
    snprintf(out->backend, sizeof out->backend, "FLINT %s", FLINT_VERSION);
}

static int threads_of(int asked, int64_t n_sequences) {
    int threads = asked > 0 ? asked : omp_get_num_procs();
    threads = threads > MOST_THREADS ? MOST_THREADS : threads;
    return threads > n_sequences ? (int)n_sequences : threads;
}

xf_status xf_certify(xf_certificate *out, const xf_model *model, const xf_dataset *data,
                     const xf_certify_options *options, xf_error *error) {
    static const xf_certify_options defaults = {0};
    xfi_network network;
    xfi_error_clear(error);
    xf_certificate_init(out);
    options = options != NULL ? options : &defaults;
    XFI_TRY(check(model, data, options, error));
    XFI_TRY(xfi_network_init(&network, model, error));
    trial t = {.network = &network, .data = data, .options = *options};
    t.threads = threads_of(options->threads, data->n_sequences);
    t.heat =
        (xfi_heat){.attention = options->override_attention ? options->attention : model->attention,
                   .tau = options->tau > 0 ? options->tau : model->tau,
                   .exp_ulp = options->exp_ulp > 0 ? options->exp_ulp : 4};
    describe(out, model, data);
    out->attention = t.heat.attention;
    out->tau = t.heat.tau;
    out->exp_ulp = t.heat.exp_ulp;
    out->threads = t.threads;
    xf_status status = certify(out, model, &t, error);
    xfi_free(t.outcomes);
    xfi_free(t.least);
    xfi_network_clear(&network);
    if (status != XF_OK) {
        xf_certificate_clear(out);
        return status;
    }
    return out->real.answer == XF_YES && out->ieee.answer == XF_YES ? XF_OK : XF_NOT_EXACT;
}
