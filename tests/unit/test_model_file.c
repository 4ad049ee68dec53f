/* Models in the interchange layout: exact bytes, round trips, every error. */
#include "unit/file_support.h"

#include <exactformer/model.h>

#include "core/model_shape.h"
#include "fmt/safetensors.h"

#include <math.h>

/* A model with every field set and random weights of its dtype. */
static void make_model(xf_model *out, xf_dtype dtype, int full) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    xfi_rng rng;
    xfi_rng_seed(&rng, 11, (uint64_t)dtype);
    assert_int_equal(xf_model_new(out, 5, 3, 2, NULL), XF_OK);
    out->dtype = dtype;
    if (full) {
        out->sa_A.full = xfi_calloc(5 * 9, sizeof(double));
        out->sa_V.full = xfi_calloc(5 * 9, sizeof(double));
    }
    int n = xfi_model_arrays(out, arrays);
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < 5 * arrays[i].shape[0] * arrays[i].shape[1]; k++) {
            double value = xfi_rng_normal(&rng);
            arrays[i].values[k] = dtype == XF_F32 ? (double)(float)value : value;
        }
    strcpy(out->construction, "pooled");
    out->n_sequences = 7;
    out->n_targets = 8;
    out->n_tokens = 90;
    assert_int_equal(xfi_model_add_phase(out, "pooling", 2, NULL), XF_OK);
    assert_int_equal(xfi_model_add_phase(out, "write", 3, NULL), XF_OK);
}

static void assert_models_equal(const xf_model *a, const xf_model *b) {
    xfi_weight_array of_a[XFI_N_WEIGHT_ARRAYS], of_b[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(a, of_a);
    assert_int_equal(n, xfi_model_arrays(b, of_b));
    for (int i = 0; i < n; i++) {
        assert_string_equal(of_a[i].name, of_b[i].name);
        int64_t count = a->n_blocks * of_a[i].shape[0] * of_a[i].shape[1];
        assert_int_equal(count, b->n_blocks * of_b[i].shape[0] * of_b[i].shape[1]);
        assert_memory_equal(of_a[i].values, of_b[i].values, (size_t)count * 8);
    }
    assert_true(a->dtype == b->dtype && a->attention == b->attention && a->order == b->order &&
                a->causal == b->causal && a->positions == b->positions);
    assert_true(a->tau_max == b->tau_max);
    if (a->attention == XF_SOFTMAX)
        assert_true(a->tau == b->tau);
    assert_string_equal(a->construction, b->construction);
    assert_true(a->n_sequences == b->n_sequences && a->n_targets == b->n_targets &&
                a->n_tokens == b->n_tokens);
    assert_int_equal(a->n_phases, b->n_phases);
    assert_memory_equal(a->phases, b->phases, (size_t)a->n_phases * sizeof *a->phases);
}

static void assert_round_trips(const xf_model *model) {
    xf_model again;
    xf_error error;
    if (xf_model_save(model, temp_path("a.safetensors"), &error) != XF_OK ||
        xf_model_load(&again, temp_path("a.safetensors"), &error) != XF_OK)
        fail_msg("%s", error.message);
    assert_models_equal(model, &again);
    assert_int_equal(xf_model_save(&again, temp_path("b.safetensors"), NULL), XF_OK);
    assert_files_equal(temp_path("a.safetensors"), temp_path("b.safetensors"));
    xf_model_clear(&again);
}

static void test_round_trips(void **state) {
    (void)state;
    for (int variant = 0; variant < 8; variant++) {
        xf_model model;
        make_model(&model, variant & 1 ? XF_F32 : XF_F64, variant & 2);
        if (variant & 4) {
            model.attention = XF_SOFTMAX;
            model.tau = 0.1;
            model.tau_max = variant & 1 ? 0.0 : 1.0 / 3.0;
            model.order = XF_SA_FF;
            model.causal = 1;
            model.positions = 4;
            strcpy(model.construction, "trained");
        }
        assert_round_trips(&model);
        xf_model_clear(&model);
    }
}

static void test_smallest_model(void **state) {
    (void)state;
    xf_model model;
    assert_int_equal(xf_model_new(&model, 1, 1, 0, NULL), XF_OK);
    assert_round_trips(&model);
    xf_model_clear(&model);
}

/* The layout that other programs read, byte by byte. */
static void test_bytes_of_the_header(void **state) {
    (void)state;
    static const char wanted[] =
        "{\"__metadata__\":{\"format\":\"exactformer\",\"version\":\"1\",\"config\":\""
        "{\\\"d\\\":1,\\\"width\\\":2,\\\"blocks\\\":1,\\\"attention\\\":\\\"softmax\\\","
        "\\\"tau\\\":0.5,\\\"tau_max\\\":null,\\\"dtype\\\":\\\"F32\\\","
        "\\\"construction\\\":\\\"pooled\\\",\\\"sequences\\\":1,\\\"targets\\\":1,"
        "\\\"tokens\\\":3,\\\"phases\\\":[{\\\"name\\\":\\\"write\\\",\\\"first\\\":0,"
        "\\\"count\\\":1}],\\\"positions\\\":2}\"},"
        "\"ff.eta\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"ff.W\":{\"dtype\":\"F32\",\"shape\":[1,1,2],\"data_offsets\":[4,12]},"
        "\"ff.U\":{\"dtype\":\"F32\",\"shape\":[1,2,1],\"data_offsets\":[12,20]},"
        "\"ff.b\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[20,28]},"
        "\"sa.rho\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[28,32]},"
        "\"sa.A.alpha\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[32,36]},"
        "\"sa.A.left\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[36,40]},"
        "\"sa.A.right\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[40,44]},"
        "\"sa.V.alpha\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[44,48]},"
        "\"sa.V.left\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[48,52]},"
        "\"sa.V.right\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[52,56]}}";
    xf_model model;
    size_t size;
    assert_int_equal(xf_model_new(&model, 1, 1, 2, NULL), XF_OK);
    model.dtype = XF_F32;
    model.attention = XF_SOFTMAX;
    model.tau = 0.5;
    model.positions = 2;
    model.n_sequences = model.n_targets = 1;
    model.n_tokens = 3;
    strcpy(model.construction, "pooled");
    assert_int_equal(xfi_model_add_phase(&model, "write", 1, NULL), XF_OK);
    model.ff_W[1] = -2.0;
    assert_int_equal(xf_model_save(&model, temp_path("m.safetensors"), NULL), XF_OK);
    char *bytes = read_file(temp_path("m.safetensors"), &size);
    size_t header = (size_t)(unsigned char)bytes[0] | (size_t)(unsigned char)bytes[1] << 8;
    assert_int_equal(header % 8, 0);
    assert_int_equal(size, 8 + header + 56);
    assert_memory_equal(bytes + 8, wanted, strlen(wanted));
    for (size_t i = strlen(wanted); i < header; i++)
        assert_int_equal(bytes[8 + i], ' ');
    assert_memory_equal(bytes + 8 + header + 8, "\0\0\0\xc0", 4);
    free(bytes);
    xf_model_clear(&model);
}

/* --- files by hand ------------------------------------------------------------------ */

#define CONFIG                                                                                     \
    "{\"d\":1,\"width\":1,\"blocks\":1,\"attention\":\"hardmax\",\"tau\":null,\"tau_max\":null,"   \
    "\"dtype\":\"F64\",\"construction\":\"pooled\",\"sequences\":1,\"targets\":1,\"tokens\":1,"    \
    "\"phases\":[],\"positions\":null}"

static const char *const TENSORS[11][2] = {
    {"ff.eta", "[1]"},     {"ff.W", "[1,1,1]"},    {"ff.U", "[1,1,1]"},     {"ff.b", "[1,1]"},
    {"sa.rho", "[1]"},     {"sa.A.alpha", "[1]"},  {"sa.A.left", "[1,1]"},  {"sa.A.right", "[1,1]"},
    {"sa.V.alpha", "[1]"}, {"sa.V.left", "[1,1]"}, {"sa.V.right", "[1,1]"},
};

/* A model file of one block, d = 1, w = 1, all weights zero, with the config in which `old`, if not
 * NULL, is replaced by `new`; then the same replacement in the header of the tensors. */
static const char *hand_file(const char *old, const char *new) {
    static char header[8192], text[8192];
    xfi_text quoted = {0};
    char config[2048] = CONFIG;
    char *at = old ? strstr(config, old) : NULL;
    if (at != NULL)
        snprintf(at, sizeof config - (size_t)(at - config), "%s%s", new,
                 strstr(CONFIG, old) + strlen(old));
    xfi_text_add_json_string(&quoted, config);
    int length = snprintf(header, sizeof header,
                          "{\"__metadata__\":{\"format\":\"exactformer\",\"version\":\"1\","
                          "\"config\":%s}",
                          quoted.bytes);
    xfi_text_clear(&quoted);
    for (int i = 0; i < 11; i++)
        length += snprintf(header + length, sizeof header - (size_t)length,
                           ",\"%s\":{\"dtype\":\"F64\",\"shape\":%s,\"data_offsets\":[%d,%d]}",
                           TENSORS[i][0], TENSORS[i][1], 8 * i, 8 * i + 8);
    snprintf(header + length, sizeof header - (size_t)length, "}");
    char *found = old && at == NULL ? strstr(header, old) : NULL;
    if (found != NULL)
        snprintf(text, sizeof text, "%.*s%s%s", (int)(found - header), header, new,
                 found + strlen(old));
    return write_safetensors("hand.safetensors", found ? text : header, 88);
}

static void assert_model_fails(const char *path, xf_status status, const char *part) {
    xf_model model;
    xf_error error = {0};
    xf_status got = xf_model_load(&model, path, &error);
    if (got != status || strstr(error.message, part) == NULL)
        fail_msg("wanted %d with \"%s\", got %d: %s", status, part, got, error.message);
    assert_contains(error.message, strrchr(path, '/') + 1);
    assert_null(model.ff_eta);
    assert_null(model.phases);
    assert_int_equal(xf_model_load(&model, path, NULL), status);
}

static void assert_changed_fails(const char *old, const char *new, const char *part) {
    assert_model_fails(hand_file(old, new), XF_ERR_DATA, part);
}

static void assert_changed_loads(const char *old, const char *new) {
    xf_model model;
    xf_error error;
    if (xf_model_load(&model, hand_file(old, new), &error) != XF_OK)
        fail_msg("%s", error.message);
    xf_model_clear(&model);
}

static void test_what_may_vary(void **state) {
    (void)state;
    assert_changed_loads(NULL, NULL);
    assert_changed_loads("}", ",\"order\":\"sa-ff\",\"causal\":true,\"other\":[1]}");
    assert_changed_loads("}", ",\"order\":\"ff-sa\",\"causal\":false}");
    assert_changed_loads("}", ",\"order\":null,\"causal\":null}");
    assert_changed_loads("[]", "[{\"name\":\"write\",\"first\":0,\"count\":1}]");
    assert_changed_loads("\"tau_max\":null", "\"tau_max\":0");
    assert_changed_loads("hardmax\",\"tau\":null", "softmax\",\"tau\":2.5");
    assert_changed_loads("\"pooled\"", "\"resnet\"");
    assert_changed_loads("\"positions\":null", "\"positions\":0");
    assert_changed_loads("\"ff.eta\":", "\"unknown\":{\"dtype\":\"I8\",\"shape\":[0],"
                                        "\"data_offsets\":[0,0]},\"ff.eta\":");
}

static void test_full_matrices(void **state) {
    (void)state;
    xf_model model;
    const char *path = hand_file("\"sa.V.right\":{\"dtype\":\"F64\",\"shape\":[1,1],",
                                 "\"sa.V.full\":{\"dtype\":\"F64\",\"shape\":[1,1,1],"
                                 "\"data_offsets\":[80,80]},\"sa.V.right\":{\"dtype\":\"F64\","
                                 "\"shape\":[1,1],");
    assert_model_fails(path, XF_ERR_DATA, "tensor 'sa.V.full' does not have the size");
    path = hand_file("\"ff.eta\":", "\"sa.V.full\":{\"dtype\":\"F64\",\"shape\":[0,1,1],"
                                    "\"data_offsets\":[0,0]},\"ff.eta\":");
    assert_model_fails(path, XF_ERR_DATA, "tensor 'sa.V.full' does not have the shape");
    make_model(&model, XF_F64, 0);
    model.sa_A.full = xfi_calloc(45, sizeof(double));
    assert_round_trips(&model);
    xf_model_clear(&model);
}

static void test_config(void **state) {
    (void)state;
    static const char *const keys[] = {
        "d",         "width",   "blocks", "attention",    "tau",    "tau_max",  "dtype",
        "sequences", "targets", "tokens", "construction", "phases", "positions"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char old[32], new[32], message[64];
        snprintf(old, sizeof old, "\"%s\":", keys[i]);
        snprintf(new, sizeof new, "\"no-%s\":", keys[i]);
        snprintf(message, sizeof message, "config key '%s' is missing", keys[i]);
        assert_changed_fails(old, new, message);
    }
    assert_changed_fails("\"d\":1", "\"d\":1.5", "config key 'd' is not a natural number");
    assert_changed_fails("\"width\":1", "\"width\":-1", "config key 'width' is not a natural");
    assert_changed_fails("\"width\":1", "\"width\":99999999999999999999", "not valid JSON");
    assert_changed_fails("\"sequences\":1", "\"sequences\":1000000000000000000", "beyond 2^53");
    assert_changed_fails("\"tokens\":1", "\"tokens\":9223372036854775807", "beyond 2^53");
    assert_changed_fails("\"d\":1", "\"d\":0", "shape that the config implies");
    assert_changed_fails("\"hardmax\"", "\"linear\"", "is neither \"hardmax\" nor \"softmax\"");
    assert_changed_fails("\"hardmax\"", "\"softmax\"", "temperature tau of softmax attention");
    assert_changed_fails("hardmax\",\"tau\":null", "softmax\",\"tau\":-1", "positive finite");
    assert_changed_fails("\"tau\":null", "\"tau\":\"1\"", "'tau' is neither a number nor null");
    assert_changed_fails("\"tau_max\":null", "\"tau_max\":-1", "tau_max must be at least 0");
    assert_changed_fails("\"F64\"", "\"F16\"", "'dtype' is neither \"F64\" nor \"F32\"");
    assert_changed_fails("\"F64\"", "\"F32\"", "tensor 'ff.eta' has dtype F64 but the config");
    assert_changed_fails("\"pooled\"", "\"guessed\"", "the construction must be pooled,");
    assert_changed_fails("\"pooled\"", "\"a-word-that-is-too-long\"", "at most 15 characters");
    assert_changed_fails("\"pooled\"", "7", "'construction' is not a string");
    assert_changed_fails("\"phases\":[]", "\"phases\":{}", "'phases' is not an array");
    assert_changed_fails("[]", "[1]", "config key 'name' is missing");
    assert_changed_fails("[]", "[{\"name\":\"a b\",\"first\":0,\"count\":1}]",
                         "not one short word");
    assert_changed_fails("[]", "[{\"name\":\"a\",\"first\":1,\"count\":1}]", "phases must follow");
    assert_changed_fails("[]", "[{\"name\":\"a\",\"first\":0,\"count\":0}]", "phases must follow");
    assert_changed_fails("[]", "[{\"name\":\"a\",\"first\":0,\"count\":2}]", "phases must follow");
    assert_changed_fails("\"positions\":null", "\"positions\":63", "'positions' is larger than 62");
    assert_changed_fails("\"positions\":null", "\"positions\":\"2\"", "not a natural number");
    assert_changed_fails("}", ",\"order\":\"up\"}", "'order' is neither \"ff-sa\" nor \"sa-ff\"");
    assert_changed_fails("}", ",\"causal\":1}", "'causal' is neither true nor false");
    assert_changed_fails(CONFIG, "[]", "the config is not a JSON object");
    assert_changed_fails(CONFIG, "{", "the config is not valid JSON");
}

static void test_metadata_and_tensors(void **state) {
    (void)state;
    assert_changed_fails("\"exactformer\"", "\"other\"", "not an exactformer model");
    assert_changed_fails("__metadata__", "x__metadata", "tensor 'x__metadata' has no dtype");
    assert_changed_fails("\"version\":\"1\"", "\"version\":\"2\"", "only version 1 can");
    assert_changed_fails("\"config\"", "\"conf\"", "__metadata__ has no config");
    assert_changed_fails("\"sa.V.left\"", "\"sa.V.lift\"", "there is no tensor 'sa.V.left'");
    assert_changed_fails("\"blocks\":1", "\"blocks\":2", "'ff.eta' does not have the shape");
    assert_changed_fails("\"width\":1", "\"width\":4611686018427387904", "'ff.W' does not have");
    assert_changed_fails("\"ff.b\":{\"dtype\":\"F64\"", "\"ff.b\":{\"dtype\":\"I64\"",
                         "tensor 'ff.b' has dtype I64");
    assert_model_fails(temp_path("no.safetensors"), XF_ERR_IO, "cannot open: No such file");
    assert_model_fails(write_safetensors("e.safetensors", "{}", 0), XF_ERR_DATA,
                       "not an exactformer model");
}

static void test_truncated_files(void **state) {
    (void)state;
    size_t size;
    char *whole = read_file(hand_file(NULL, NULL), &size);
    for (size_t cut = 0; cut < size; cut += 29)
        assert_model_fails(write_file("cut.safetensors", whole, cut), XF_ERR_DATA, "");
    free(whole);
}

/* --- the check of models in memory -------------------------------------------------- */

static void assert_check_fails(xf_model *model, const char *part) {
    xf_error error;
    assert_int_equal(xf_model_check(model, &error), XF_ERR_DATA);
    assert_contains(error.message, part);
    assert_int_equal(xf_model_save(model, temp_path("bad.safetensors"), &error), XF_ERR_DATA);
    assert_contains(error.message, "bad.safetensors: ");
    assert_int_equal(count_files(), 0);
}

static void test_check(void **state) {
    (void)state;
    xf_model good, model;
    make_model(&good, XF_F64, 1);
    assert_int_equal(xf_model_check(&good, NULL), XF_OK);
    xf_model_init(&model);
    assert_check_fails(&model, "at least one block and one dimension, not 0 and 0");
    model = good;
    model.sa_V.right = NULL;
    assert_check_fails(&model, "lacks one of its weight arrays");
    model = good;
    model.n_targets = -1;
    assert_check_fails(&model, "sizes of the model's data set are negative");
    model = good;
    model.n_sequences = ((int64_t)1 << 53) + 1;
    assert_check_fails(&model, "sizes of the model's data set are negative or beyond 2^53");
    model = good;
    model.positions = 63;
    assert_check_fails(&model, "position scale 2^-63 is out of range");
    model = good;
    model.dtype = (xf_dtype)2;
    assert_check_fails(&model, "dtype is neither");
    model = good;
    model.attention = (xf_attention)2;
    assert_check_fails(&model, "attention is neither");
    model = good;
    model.order = (xf_order)2;
    assert_check_fails(&model, "order is neither");
    model = good;
    memset(model.construction, 'x', 16);
    assert_check_fails(&model, "construction must be");
    model = good;
    model.attention = XF_SOFTMAX;
    model.tau = 0.0;
    assert_check_fails(&model, "tau of softmax");
    model.tau = (double)INFINITY;
    assert_check_fails(&model, "tau of softmax");
    model = good;
    model.tau_max = (double)NAN;
    assert_check_fails(&model, "tau_max must be");
    model = good;
    model.phases = NULL;
    assert_check_fails(&model, "list of phases is missing");
    model = good;
    model.n_phases = 1;
    assert_check_fails(&model, "the phases cover 2 of 5 blocks");
    model = good;
    model.dtype = XF_F32;
    assert_check_fails(&model, "is not a binary32 number, but the dtype is F32");
    good.sa_V.full[9 * 3 + 4] = (double)NAN;
    assert_check_fails(&good, "a weight of sa.V.full in block 3 (element 4) is not finite");
    xf_model_clear(&good);
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    xf_model model, again;
    xf_status status = XF_ERR_MEMORY;
    make_model(&model, XF_F32, 1);
    for (int64_t k = 0; status != XF_OK; k++) {
        assert_true(k < 100);
        xfi_alloc_limit(k);
        status = xf_model_save(&model, temp_path("m.safetensors"), NULL);
        xfi_alloc_limit(-1);
        assert_true(status == XF_OK || status == XF_ERR_MEMORY);
        assert_int_equal(count_files(), status == XF_OK);
    }
    status = XF_ERR_MEMORY;
    for (int64_t k = 0; status != XF_OK; k++) {
        assert_true(k < 100);
        xfi_alloc_limit(k);
        status = xf_model_load(&again, temp_path("m.safetensors"), NULL);
        xfi_alloc_limit(-1);
        assert_true(status == XF_OK || status == XF_ERR_MEMORY);
    }
    assert_models_equal(&model, &again);
    xf_model_clear(&again);
    xf_model_clear(&model);
}

/* Config out and in again, weights copied: the same model. */
static void test_config_round_trip(void **state) {
    (void)state;
    for (int full = 0; full < 2; full++) {
        xf_model model, again;
        xf_error error;
        char *config = NULL;
        make_model(&model, XF_F32, full);
        assert_int_equal(xf_model_config(&config, &model, &error), XF_OK);
        assert_int_equal(xf_model_from_config(&again, config, full, full, &error), XF_OK);
        assert_int_equal(xf_model_check(&again, &error), XF_OK);
        xfi_weight_array from[XFI_N_WEIGHT_ARRAYS], to[XFI_N_WEIGHT_ARRAYS];
        int n = xfi_model_arrays(&model, from);
        assert_int_equal(n, xfi_model_arrays(&again, to));
        for (int i = 0; i < n; i++)
            memcpy(to[i].values, from[i].values,
                   (size_t)(5 * to[i].shape[0] * to[i].shape[1]) * sizeof(double));
        assert_models_equal(&model, &again);
        xf_text_free(config);
        xf_model_clear(&model);
        xf_model_clear(&again);
    }
}

static void test_config_refused(void **state) {
    (void)state;
    static const char *const configs[] = {"", "{", "[]", "{\"d\":1}"};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        xf_model model;
        xf_error error;
        assert_int_equal(xf_model_from_config(&model, configs[i], 1, 0, &error), XF_ERR_DATA);
        assert_null(model.ff_W);
        assert_true(error.message[0] != '\0');
    }
}

static void test_config_without_memory(void **state) {
    (void)state;
    xf_model model, again;
    char *config = NULL;
    xf_status status = XF_ERR_MEMORY;
    make_model(&model, XF_F64, 1);
    for (int64_t k = 0; status != XF_OK; k++) {
        xfi_alloc_limit(k);
        status = xf_model_config(&config, &model, NULL);
        xfi_alloc_limit(-1);
        assert_true(k < 100 && status == (config == NULL ? XF_ERR_MEMORY : XF_OK));
    }
    status = XF_ERR_MEMORY;
    for (int64_t k = 0; status != XF_OK; k++) {
        xfi_alloc_limit(k);
        status = xf_model_from_config(&again, config, 1, 1, NULL);
        xfi_alloc_limit(-1);
        assert_true(k < 100 && (again.sa_V.full == NULL) == (status == XF_ERR_MEMORY));
    }
    xf_text_free(config);
    xf_model_clear(&again);
    xf_model_clear(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_round_trips),
        FILE_TEST(test_config_round_trip),
        FILE_TEST(test_config_refused),
        FILE_TEST(test_config_without_memory),
        FILE_TEST(test_smallest_model),
        FILE_TEST(test_bytes_of_the_header),
        FILE_TEST(test_what_may_vary),
        FILE_TEST(test_full_matrices),
        FILE_TEST(test_config),
        FILE_TEST(test_metadata_and_tensors),
        FILE_TEST(test_truncated_files),
        FILE_TEST(test_check),
        FILE_TEST(test_every_allocation_may_fail),
    };
    return RUN_FILE_TESTS(tests);
}
