/* xf_senses MODEL DATASET [ORDERS]: is a model exact in each sense? Prints one JSON object:
 *     real      hardmax in rational arithmetic
 *     float     hardmax on the dense engine and in ORDERS (20) random orders of summation, without
 *               FMA, with it, and with it here and there
 *     softmax   the same with softmax at the model's tau_max (1 if that is infinite); null if the
 *               model is for hardmax only
 * and in `failure` the first thing that went wrong, or null. Exit status 0 if a verdict was
 * reached, 1 if a file cannot be read. */
#include "base/alloc.h"
#include "support/rational.h"
#include "support/shuffled.h"

#include <exactformer/exactformer.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct inquiry {
    xf_model model;
    xf_dataset data;
    double *out; /* [T][d] */
    int n_orders;
    char failure[XF_ERROR_MESSAGE_SIZE + 64];
} inquiry;

/* Remember the first failure; returns 0. */
static int fail(inquiry *q, const char *where, const xf_error *error) {
    if (q->failure[0] == '\0')
        snprintf(q->failure, sizeof q->failure, "%s: %s", where, error->message);
    return 0;
}

static int is_real(inquiry *q) {
    int64_t n_exact = 0;
    xf_error error = {0};
    xf_model hardmax = q->model;
    hardmax.attention = XF_HARDMAX;
    if (xft_rational_verify(&n_exact, &hardmax, &q->data, &error) == XF_OK)
        return 1;
    return fail(q, "rational arithmetic", &error);
}

static int is_exact_in_order(inquiry *q, xf_attention attention, double tau, int i) {
    xf_error error = {0};
    xf_verify_report report;
    const xft_shuffle shuffle = {.seed = (uint64_t)i,
                                 .fma = i % 3,
                                 .override_attention = 1,
                                 .attention = attention,
                                 .tau = tau,
                                 .tokens_per_order = 1 + i % 5,
                                 .values_first = i % 2};
    if (xft_run_shuffled(q->out, &q->model, &q->data, &shuffle, &error) == XF_OK &&
        xf_compare(&report, q->out, &q->data, &error) == XF_OK)
        return 1;
    return fail(q, "a random order of summation", &error);
}

static int is_exact(inquiry *q, xf_attention attention, double tau) {
    xf_error error = {0};
    xf_verify_report report;
    const xf_run_options run = {.override_attention = 1, .attention = attention, .tau = tau};
    if (xf_verify(&report, &q->model, &q->data, &run, &error) != XF_OK)
        return fail(q, "the dense engine", &error);
    for (int i = 0; i < q->n_orders; i++)
        if (!is_exact_in_order(q, attention, tau, i))
            return 0;
    return 1;
}

static void print(inquiry *q) {
    double tau = isfinite(q->model.tau_max) ? q->model.tau_max : 1.0;
    int real = is_real(q), in_float = is_exact(q, XF_HARDMAX, 0.0);
    json_t *softmax = tau > 0 ? json_boolean(is_exact(q, XF_SOFTMAX, tau)) : json_null();
    json_t *object =
        json_pack("{s:b,s:b,s:o,s:i,s:s?}", "real", real, "float", in_float, "softmax", softmax,
                  "orders", q->n_orders, "failure", q->failure[0] ? q->failure : NULL);
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

int main(int argc, char **argv) {
    inquiry q = {.n_orders = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 20};
    xf_error error = {0};
    xf_model_init(&q.model);
    xf_dataset_init(&q.data);
    if (argc < 3) {
        fputs("usage: xf_senses MODEL DATASET [ORDERS]\n", stderr);
        return 1;
    }
    int ok = xf_model_load(&q.model, argv[1], &error) == XF_OK &&
             xf_dataset_load(&q.data, argv[2], NULL, &error) == XF_OK;
    q.out = ok ? xfi_calloc2(q.data.n_tokens, q.data.d, sizeof(double)) : NULL;
    if (q.out != NULL && q.model.d == q.data.d)
        print(&q);
    else
        fprintf(stderr, "xf_senses: %s\n", ok ? "model and data set do not fit" : error.message);
    ok = q.out != NULL && q.model.d == q.data.d;
    xfi_free(q.out);
    xf_dataset_clear(&q.data);
    xf_model_clear(&q.model);
    return !ok;
}
