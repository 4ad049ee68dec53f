#include "mutation/judges.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "support/ball_engine.h"
#include "support/flushed.h"
#include "support/literal.h"
#include "support/rational.h"
#include "support/shuffled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int is_exact(const double *out, const xf_dataset *data) {
    xf_verify_report report;
    return xf_compare(&report, out, data, NULL) == XF_OK;
}

/* Softmax claims are about every temperature up to the model's. */
static int orders(const xf_model *model, const xf_dataset *data, double *out, int n,
                  uint64_t seed) {
    xfi_rng rng;
    xfi_rng_seed(&rng, seed, 1);
    for (int i = 0; i < n; i++) {
        const xft_shuffle how = {.seed = xfi_rng_bits(&rng),
                                 .fma = i % 3,
                                 .tau = model->tau * pow(2.0, -(i % 4 * 3)),
                                 .tokens_per_order = i / 2 % 2};
        if (xft_run_shuffled(out, model, data, &how, NULL) != XF_OK)
            abort();
        if (!is_exact(out, data))
            return 0;
    }
    return 1;
}

static int rational(const xf_model *model, const xf_dataset *data) {
    int64_t n_exact;
    double radius;
    const xft_ball_options balls = {.tau = model->tau, .digits = 60};
    xf_status status = xft_rational_verify(&n_exact, model, data, NULL);
    if (status != XF_ERR_ARGUMENT)
        return status == XF_OK;
    if (model->order != XF_FF_SA || model->causal)
        return -1;
    return xft_ball_verify(&radius, model, data, &balls, NULL) == XF_NOT_EXACT ? 0 : -1;
}

/* The literal engine leaves nothing out, not even attention with V = 0, whose mean may overflow:
 * where it fails without flushing it says nothing. */
static int flushed(const xf_model *model, const xf_dataset *data, double *room) {
    if (!xft_run_literal(room, model, data) || !is_exact(room, data))
        return -1;
    return xft_run_flushed(room, model, data) ? is_exact(room, data) : -1;
}

void xft_ask(xft_opinions *out, const xf_model *model, const xf_dataset *data, int n_orders,
             uint64_t seed) {
    const xf_run_options run = {.engine = XF_ENGINE_DENSE, .threads = 1};
    const xf_certify_options certify = {.threads = 1};
    xf_verify_report report;
    xf_certificate certificate;
    int64_t sequence;
    double *room = xfi_calloc2(data->n_tokens, data->d, sizeof(double));
    if (room == NULL)
        abort();
    out->verify = xf_verify(&report, model, data, &run, NULL) == XF_OK;
    out->orders = orders(model, data, room, n_orders, seed);
    out->search = out->verify ? xft_all_orders(&sequence, model, data, seed) : XFT_NOTHING_FOUND;
    out->rational = rational(model, data);
    out->flushed = flushed(model, data, room);
    xf_status status = xf_certify(&certificate, model, data, &certify, NULL);
    if (status != XF_OK && status != XF_NOT_EXACT)
        abort();
    out->real = certificate.real.answer;
    out->ieee = certificate.ieee.answer;
    out->is_subnormal_free = certificate.ieee.is_subnormal_free;
    xf_certificate_clear(&certificate);
    xfi_free(room);
}

int xft_is_inexact(const xft_opinions *o) {
    return !o->verify || !o->orders || o->search == XFT_COUNTEREXAMPLE;
}

int xft_is_unsound(char why[XFT_WHY_SIZE], const xft_opinions *o) {
    const char *text = NULL;
    if (o->real == XF_YES && o->rational == 0)
        text = "(R) is certified, but not so in rationals";
    else if (o->real == XF_NO && o->rational == 1)
        text = "(R) is denied, but exact in rationals";
    else if (o->ieee == XF_YES && !o->verify)
        text = "(F) is certified, but verify fails";
    else if (o->ieee == XF_YES && !o->orders)
        text = "(F) is certified, but a random order is not exact";
    else if (o->ieee == XF_YES && o->search == XFT_COUNTEREXAMPLE)
        text = "(F) is certified, but the search through all orders found one that is not exact";
    else if (o->ieee == XF_NO && o->search == XFT_ALWAYS_EXACT)
        text = "(F) is denied, but every order is exact";
    else if (o->ieee == XF_YES && o->is_subnormal_free && o->flushed == 0)
        text = "subnormal numbers are said to be absent, but flushing them changes the outputs";
    if (text != NULL)
        snprintf(why, XFT_WHY_SIZE, "%s", text);
    return text != NULL;
}
