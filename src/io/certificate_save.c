/* A certificate as JSON: docs/certify.md, section 6. */
#include <exactformer/certify.h>
#include <exactformer/exactformer.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text.h"

#include <math.h>

static const char *const answers[] = {"unknown", "yes", "no"};

/* What a reader has to believe. */
static const char *const trusted[] = {
    "the reading of the two files named by their SHA-256, and SHA-256 itself",
    "the lemmas of docs/certify.md and their implementation in src/certify",
    "FLINT and Arb with GMP and MPFR, the C compiler and the machine that computed this",
    "for the claim ieee: that the machine which evaluates the model rounds additions, products, "
    "quotients and fused multiply-adds correctly to nearest, in the model's format and without "
    "wider intermediates",
    "for the claim ieee with conditions.exp_ulp: that its exponential errs by no more than so many "
    "ulp and that exp(0) = 1",
    "for the claim ieee with conditions.subnormals = possible: that it does not flush subnormal "
    "numbers to zero (no FTZ, no DAZ)",
};

static void add_position(xfi_text *text, const char *key, int64_t value) {
    if (value >= 0)
        xfi_text_add(text, ", \"%s\": %lld", key, (long long)value);
    else
        xfi_text_add(text, ", \"%s\": null", key);
}

static void add_number(xfi_text *text, double value) {
    if (isfinite(value))
        xfi_text_add_double(text, value);
    else
        xfi_text_add(text, "null");
}

static void add_digest(xfi_text *text, const xf_file_digest *file) {
    if (file->sha256[0] != '\0')
        xfi_text_add(text, "{\"sha256\": \"%s\", \"bytes\": %lld", file->sha256,
                     (long long)file->bytes);
    else
        xfi_text_add(text, "{\"sha256\": null, \"bytes\": null");
}

static void add_subject(xfi_text *text, const xf_certificate *c) {
    xfi_text_add(text, "  \"model\": ");
    add_digest(text, &c->model_file);
    xfi_text_add(text,
                 ", \"dtype\": \"%s\", \"blocks\": %lld, \"width\": %lld, \"d\": %lld, "
                 "\"attention\": \"%s\", \"tau\": ",
                 c->dtype == XF_F32 ? "F32" : "F64", (long long)c->n_blocks, (long long)c->width,
                 (long long)c->d, c->attention == XF_SOFTMAX ? "softmax" : "hardmax");
    add_number(text, c->attention == XF_SOFTMAX ? c->tau : NAN);
    xfi_text_add(text, ", \"order\": \"%s\", \"causal\": %s},\n",
                 c->order == XF_SA_FF ? "sa-ff" : "ff-sa", c->causal ? "true" : "false");
    xfi_text_add(text, "  \"dataset\": ");
    add_digest(text, &c->data_file);
    xfi_text_add(text, ", \"sequences\": %lld, \"tokens\": %lld, \"targets\": %lld},\n",
                 (long long)c->n_sequences, (long long)c->n_tokens, (long long)c->n_targets);
}

static void add_claim(xfi_text *text, const char *name, const xf_claim *claim) {
    xfi_text_add(text, "    \"%s\": {\"answer\": \"%s\", \"tau_min\": ", name,
                 answers[claim->answer]);
    add_number(text, claim->tau_min);
    xfi_text_add(text, ", \"tau_max\": ");
    add_number(text, claim->tau_max);
    xfi_text_add(text, ", \"proved\": %lld, \"disproved\": %lld", (long long)claim->n_proved,
                 (long long)claim->n_disproved);
    add_position(text, "sequence", claim->sequence);
    add_position(text, "token", claim->token);
    add_position(text, "block", claim->block);
    xfi_text_add(text, ", \"reason\": ");
    if (claim->reason[0] != '\0')
        xfi_text_add_json_string(text, claim->reason);
    else
        xfi_text_add(text, "null");
}

static void add_claims(xfi_text *text, const xf_certificate *c) {
    xfi_text_add(text, "  \"claims\": {\n");
    add_claim(text, "real", &c->real);
    xfi_text_add(text, "},\n");
    add_claim(text, "ieee", &c->ieee);
    xfi_text_add(text, ",\n      \"conditions\": {\"subnormals\": \"%s\", \"exp_ulp\": ",
                 c->ieee.is_subnormal_free ? "absent" : "possible");
    if (c->ieee.uses_exp)
        xfi_text_add(text, "%d", c->exp_ulp);
    else
        xfi_text_add(text, "null");
    xfi_text_add(text, "}}\n  },\n");
}

static void add_margin(xfi_text *text, const char *name, const xf_phase_margin *margin) {
    xfi_text_add(text, ", \"%s\": {\"margin\": ", name);
    add_number(text, margin->margin);
    add_position(text, "sequence", margin->sequence);
    add_position(text, "token", margin->token);
    add_position(text, "block", margin->block);
    xfi_text_add(text, "}");
}

static void add_phases(xfi_text *text, const xf_certificate *c) {
    xfi_text_add(text, "  \"phases\": [");
    for (int64_t i = 0; i < c->n_phases; i++) {
        xfi_text_add(text, "%s\n    {\"name\": ", i ? "," : "");
        xfi_text_add_json_string(text, c->phases[i].name);
        xfi_text_add(text, ", \"first\": %lld, \"count\": %lld", (long long)c->phases[i].first,
                     (long long)c->phases[i].count);
        add_margin(text, "real", &c->real_margins[i]);
        add_margin(text, "ieee", &c->ieee_margins[i]);
        xfi_text_add(text, "}");
    }
    xfi_text_add(text, "\n  ],\n");
}

static void add_trusted(xfi_text *text) {
    int n = (int)(sizeof trusted / sizeof trusted[0]);
    xfi_text_add(text, "  \"trusted\": [");
    for (int i = 0; i < n; i++) {
        xfi_text_add(text, "%s\n    ", i ? "," : "");
        xfi_text_add_json_string(text, trusted[i]);
    }
    xfi_text_add(text, "\n  ]\n}\n");
}

static void add_certificate(xfi_text *text, const xf_certificate *c) {
    xfi_text_add(
        text,
        "{\n  \"format\": \"exactformer-certificate\", \"version\": 1,\n"
        "  \"tool\": {\"name\": \"exactformer\", \"version\": \"%s\", \"backend\": \"%s\"},\n",
        xf_version(), c->backend);
    add_subject(text, c);
    xfi_text_add(text, "  \"options\": {\"exp_ulp\": %d, \"threads\": %d},\n", c->exp_ulp,
                 c->threads);
    add_claims(text, c);
    add_phases(text, c);
    add_trusted(text);
}

static xf_status save(const char *path, const xfi_text *text, xf_error *error) {
    xfi_atomic_file file;
    XFI_TRY(xfi_atomic_open(&file, path, error));
    xf_status status = xfi_atomic_write(&file, text->bytes, (size_t)text->length, error);
    if (status == XF_OK)
        return xfi_atomic_commit(&file, error);
    xfi_atomic_discard(&file);
    return status;
}

xf_status xf_certificate_save(const xf_certificate *certificate, const char *path,
                              xf_error *error) {
    xfi_text text = {0};
    xfi_error_clear(error);
    add_certificate(&text, certificate);
    xf_status status = text.failed ? xfi_fail_memory(error) : save(path, &text, error);
    if (status != XF_OK)
        xfi_error_prefix_path(error, path);
    xfi_text_clear(&text);
    return status;
}
