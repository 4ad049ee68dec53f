/* Writing and reading the config of a model file. */
#include "io/model_config.h"

#include "base/alloc.h"
#include "base/error.h"
#include "fmt/json_text.h"

#include <math.h>
#include <string.h>

static void add_number_or_null(xfi_text *text, const char *key, double value, int is_null) {
    xfi_text_add(text, "\"%s\":", key);
    if (is_null)
        xfi_text_add(text, "null");
    else
        xfi_text_add_double(text, value);
    xfi_text_add(text, ",");
}

static void add_phases(xfi_text *text, const xf_model *model) {
    xfi_text_add(text, "\"phases\":[");
    for (int64_t i = 0; i < model->n_phases; i++) {
        const xf_phase *phase = &model->phases[i];
        xfi_text_add(text, "%s{\"name\":", i ? "," : "");
        xfi_text_add_json_string(text, phase->name);
        xfi_text_add(text, ",\"first\":%lld,\"count\":%lld}", (long long)phase->first,
                     (long long)phase->count);
    }
    xfi_text_add(text, "],");
}

/* The optional keys that say how the model was chosen. */
static void add_choice(xfi_text *text, const xf_model *model) {
    if (model->writer[0] == '\0')
        return;
    xfi_text_add(text, ",\"front\":");
    xfi_text_add_json_string(text, model->front);
    xfi_text_add(text, ",\"writer\":");
    xfi_text_add_json_string(text, model->writer);
    xfi_text_add(text, ",\"alternatives\":[");
    for (int i = 0; i < model->n_alternatives; i++) {
        const xf_alternative *other = &model->alternatives[i];
        xfi_text_add(text, "%s{\"front\":", i ? "," : "");
        xfi_text_add_json_string(text, other->front);
        xfi_text_add(text, ",\"writer\":");
        xfi_text_add_json_string(text, other->writer);
        xfi_text_add(text, ",\"blocks\":%lld,\"l2_norm_squared\":", (long long)other->blocks);
        if (isfinite(other->norm_squared))
            xfi_text_add_double(text, other->norm_squared);
        else
            xfi_text_add(text, "null");
        xfi_text_add(text, "}");
    }
    xfi_text_add(text, "]");
}

void xfi_model_config_add(xfi_text *text, const xf_model *model) {
    int hardmax = model->attention == XF_HARDMAX;
    xfi_text_add(text, "{\"d\":%lld,\"width\":%lld,\"blocks\":%lld,\"attention\":\"%s\",",
                 (long long)model->d, (long long)model->width, (long long)model->n_blocks,
                 hardmax ? "hardmax" : "softmax");
    add_number_or_null(text, "tau", model->tau, hardmax);
    add_number_or_null(text, "tau_max", model->tau_max, isinf(model->tau_max));
    xfi_text_add(text,
                 "\"dtype\":\"%s\",\"construction\":", model->dtype == XF_F32 ? "F32" : "F64");
    xfi_text_add_json_string(text, model->construction);
    xfi_text_add(text, ",\"sequences\":%lld,\"targets\":%lld,\"tokens\":%lld,",
                 (long long)model->n_sequences, (long long)model->n_targets,
                 (long long)model->n_tokens);
    add_phases(text, model);
    if (model->positions >= 0)
        xfi_text_add(text, "\"positions\":%d", model->positions);
    else
        xfi_text_add(text, "\"positions\":null");
    add_choice(text, model);
    if (model->order == XF_SA_FF)
        xfi_text_add(text, ",\"order\":\"sa-ff\"");
    if (model->causal)
        xfi_text_add(text, ",\"causal\":true");
    xfi_text_add(text, "}");
}

static xf_status fail_key(xf_error *error, const char *key, const char *what) {
    return xfi_fail(error, XF_ERR_DATA, "config key '%s' %s", key, what);
}

static xf_status get(json_t **out, const json_t *config, const char *key, xf_error *error) {
    *out = json_object_get(config, key);
    return *out == NULL ? fail_key(error, key, "is missing") : XF_OK;
}

static xf_status get_count(int64_t *out, const json_t *config, const char *key, xf_error *error) {
    json_t *value = NULL;
    XFI_TRY(get(&value, config, key, error));
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return fail_key(error, key, "is not a natural number");
    *out = json_integer_value(value);
    return XF_OK;
}

/* A number, or `if_null` for null. */
static xf_status get_number(double *out, const json_t *config, const char *key, double if_null,
                            xf_error *error) {
    json_t *value = NULL;
    XFI_TRY(get(&value, config, key, error));
    if (!json_is_number(value) && !json_is_null(value))
        return fail_key(error, key, "is neither a number nor null");
    *out = json_is_null(value) ? if_null : json_number_value(value);
    return XF_OK;
}

/* *out = 1 for the string `one`, 0 for `zero`. */
static xf_status get_choice(int *out, const json_t *value, const char *key, const char *zero,
                            const char *one, xf_error *error) {
    char what[64];
    const char *text = json_string_value(value);
    snprintf(what, sizeof what, "is neither \"%s\" nor \"%s\"", zero, one);
    if (text == NULL || (strcmp(text, zero) != 0 && strcmp(text, one) != 0))
        return fail_key(error, key, what);
    *out = strcmp(text, one) == 0;
    return XF_OK;
}

/* A string of at most 15 bytes. */
static xf_status get_word(char out[16], const json_t *value, const char *key, xf_error *error) {
    const char *text = json_string_value(value);
    if (text == NULL || strlen(text) >= 16)
        return fail_key(error, key, "is not a string of at most 15 characters");
    memset(out, 0, 16);
    memcpy(out, text, strlen(text));
    return XF_OK;
}

static xf_status parse_sizes(xf_model *out, const json_t *config, xf_error *error) {
    XFI_TRY(get_count(&out->d, config, "d", error));
    XFI_TRY(get_count(&out->width, config, "width", error));
    XFI_TRY(get_count(&out->n_blocks, config, "blocks", error));
    XFI_TRY(get_count(&out->n_sequences, config, "sequences", error));
    XFI_TRY(get_count(&out->n_targets, config, "targets", error));
    return get_count(&out->n_tokens, config, "tokens", error);
}

static xf_status parse_choices(xf_model *out, const json_t *config, xf_error *error) {
    json_t *value = NULL;
    int choice = 0;
    XFI_TRY(get(&value, config, "attention", error));
    XFI_TRY(get_choice(&choice, value, "attention", "hardmax", "softmax", error));
    out->attention = choice ? XF_SOFTMAX : XF_HARDMAX;
    XFI_TRY(get(&value, config, "dtype", error));
    XFI_TRY(get_choice(&choice, value, "dtype", "F64", "F32", error));
    out->dtype = choice ? XF_F32 : XF_F64;
    XFI_TRY(get(&value, config, "construction", error));
    return get_word(out->construction, value, "construction", error);
}

static xf_status parse_temperatures(xf_model *out, const json_t *config, xf_error *error) {
    XFI_TRY(get_number(&out->tau, config, "tau", out->attention == XF_SOFTMAX ? NAN : 1.0, error));
    return get_number(&out->tau_max, config, "tau_max", INFINITY, error);
}

static xf_status parse_positions(xf_model *out, const json_t *config, xf_error *error) {
    json_t *value = NULL;
    int64_t k = -1;
    XFI_TRY(get(&value, config, "positions", error));
    if (!json_is_null(value))
        XFI_TRY(get_count(&k, config, "positions", error));
    if (k > 62)
        return fail_key(error, "positions", "is larger than 62");
    out->positions = (int)k;
    return XF_OK;
}

static xf_status parse_optional(xf_model *out, const json_t *config, xf_error *error) {
    const json_t *order = json_object_get(config, "order");
    const json_t *causal = json_object_get(config, "causal");
    int choice = 0;
    if (order != NULL && !json_is_null(order))
        XFI_TRY(get_choice(&choice, order, "order", "ff-sa", "sa-ff", error));
    out->order = choice ? XF_SA_FF : XF_FF_SA;
    if (causal != NULL && !json_is_boolean(causal) && !json_is_null(causal))
        return fail_key(error, "causal", "is neither true nor false");
    out->causal = json_is_true(causal);
    return XF_OK;
}

static xf_status parse_phase(xf_phase *out, const json_t *phase, xf_error *error) {
    json_t *name = NULL;
    XFI_TRY(get(&name, phase, "name", error));
    XFI_TRY(get_word(out->name, name, "phases.name", error));
    XFI_TRY(get_count(&out->first, phase, "first", error));
    return get_count(&out->count, phase, "count", error);
}

static xf_status parse_phases(xf_model *out, const json_t *config, xf_error *error) {
    json_t *phases = NULL;
    XFI_TRY(get(&phases, config, "phases", error));
    if (!json_is_array(phases))
        return fail_key(error, "phases", "is not an array");
    int64_t n = (int64_t)json_array_size(phases);
    if (n == 0)
        return XF_OK;
    out->phases = xfi_calloc(n, sizeof *out->phases);
    if (out->phases == NULL)
        return xfi_fail_memory(error);
    out->n_phases = n;
    for (int64_t i = 0; i < n; i++)
        XFI_TRY(parse_phase(&out->phases[i], json_array_get(phases, (size_t)i), error));
    return XF_OK;
}

static xf_status parse_alternative(xf_alternative *out, const json_t *other, xf_error *error) {
    json_t *name = NULL;
    XFI_TRY(get(&name, other, "front", error));
    XFI_TRY(get_word(out->front, name, "alternatives.front", error));
    XFI_TRY(get(&name, other, "writer", error));
    XFI_TRY(get_word(out->writer, name, "alternatives.writer", error));
    XFI_TRY(get_count(&out->blocks, other, "blocks", error));
    return get_number(&out->norm_squared, other, "l2_norm_squared", NAN, error);
}

/* The first XF_MAX_ALTERNATIVES are kept. */
static xf_status parse_choice(xf_model *out, const json_t *config, xf_error *error) {
    const json_t *front = json_object_get(config, "front");
    const json_t *writer = json_object_get(config, "writer");
    const json_t *others = json_object_get(config, "alternatives");
    if (front != NULL)
        XFI_TRY(get_word(out->front, front, "front", error));
    if (writer != NULL)
        XFI_TRY(get_word(out->writer, writer, "writer", error));
    if (others != NULL && !json_is_array(others))
        return fail_key(error, "alternatives", "is not an array");
    size_t n = json_array_size(others);
    for (size_t i = 0; i < n && i < XF_MAX_ALTERNATIVES; i++) {
        XFI_TRY(parse_alternative(&out->alternatives[i], json_array_get(others, i), error));
        out->n_alternatives++;
    }
    return XF_OK;
}

static xf_status parse_all(xf_model *out, const json_t *config, xf_error *error) {
    if (!json_is_object(config))
        return xfi_fail(error, XF_ERR_DATA, "the config is not a JSON object");
    XFI_TRY(parse_sizes(out, config, error));
    XFI_TRY(parse_choices(out, config, error));
    XFI_TRY(parse_temperatures(out, config, error));
    XFI_TRY(parse_positions(out, config, error));
    XFI_TRY(parse_phases(out, config, error));
    XFI_TRY(parse_choice(out, config, error));
    return parse_optional(out, config, error);
}

xf_status xfi_model_config_parse(xf_model *out, const char *text, xf_error *error) {
    json_t *config = NULL;
    XFI_TRY(xfi_json_parse(&config, text, (int64_t)strlen(text), "the config", error));
    xf_status status = parse_all(out, config, error);
    json_decref(config);
    return status;
}
