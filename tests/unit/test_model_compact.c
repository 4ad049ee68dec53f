/* Models in the compact layout: round trips, sizes, every error. */
#include "unit/file_support.h"

#include <exactformer/model.h>

#include "core/model_shape.h"
#include "support/toy.h"

#include <math.h>

enum { BLOCKS = 6, D = 3, WIDTH = 2 };

/* A model in which about one weight in `rarity` is not 0; some are -0. */
static void make_model(xf_model *out, xf_dtype dtype, int rarity, int full) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    xfi_rng rng;
    xfi_rng_seed(&rng, 12, (uint64_t)rarity * 8 + (uint64_t)dtype);
    assert_int_equal(xf_model_new(out, BLOCKS, D, WIDTH, NULL), XF_OK);
    out->dtype = dtype;
    if (full)
        out->sa_V.full = xfi_calloc(BLOCKS * D * D, sizeof(double));
    int n = xfi_model_arrays(out, arrays);
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < BLOCKS * arrays[i].shape[0] * arrays[i].shape[1]; k++)
            if (xfi_rng_below(&rng, rarity) == 0)
                arrays[i].values[k] = k % 5 == 0 ? -0.0 : (double)(float)xfi_rng_normal(&rng);
    strcpy(out->construction, "edited");
    assert_int_equal(xfi_model_add_phase(out, "write", BLOCKS, NULL), XF_OK);
}

static void save(const xf_model *model, const char *name, xf_layout layout) {
    xf_error error;
    if (xf_model_save_as(model, temp_path(name), layout, &error) != XF_OK)
        fail_msg("%s", error.message);
}

/* dense -> compact -> dense gives the same bytes, compact -> compact too. */
static void round_trips_are_lossless(void **state) {
    (void)state;
    for (int variant = 0; variant < 16; variant++) {
        xf_model model, again;
        xf_error error;
        make_model(&model, variant & 1 ? XF_F32 : XF_F64, 1 + (variant >> 2) * 3, variant & 2);
        save(&model, "a.safetensors", XF_LAYOUT_DENSE);
        save(&model, "b.safetensors", XF_LAYOUT_COMPACT);
        if (xf_model_load(&again, temp_path("b.safetensors"), &error) != XF_OK)
            fail_msg("%s", error.message);
        assert_true((again.sa_V.full != NULL) == ((variant & 2) != 0));
        assert_null(again.sa_A.full);
        save(&again, "c.safetensors", XF_LAYOUT_DENSE);
        save(&again, "d.safetensors", XF_LAYOUT_COMPACT);
        assert_files_equal(temp_path("a.safetensors"), temp_path("c.safetensors"));
        assert_files_equal(temp_path("b.safetensors"), temp_path("d.safetensors"));
        xf_model_clear(&again);
        xf_model_clear(&model);
    }
}

/* Wide gaps need wider steps; a full matrix of zeros stays there. */
static void zeros_take_no_room(void **state) {
    (void)state;
    const int64_t blocks = 3000;
    xf_model model, again;
    size_t compact;
    assert_int_equal(xf_model_new(&model, blocks, 64, 4, NULL), XF_OK);
    model.sa_A.full = xfi_calloc(blocks * 64 * 64, sizeof(double));
    model.ff_W[0] = model.ff_W[blocks * 256 - 1] = 1.0;
    model.ff_U[70000] = model.ff_U[70300] = 2.0;
    model.ff_b[3] = 4.0;
    save(&model, "m.safetensors", XF_LAYOUT_COMPACT);
    assert_int_equal(xf_model_load(&again, temp_path("m.safetensors"), NULL), XF_OK);
    assert_non_null(again.sa_A.full);
    assert_memory_equal(model.ff_W, again.ff_W, (size_t)blocks * 256 * 8);
    assert_memory_equal(model.ff_U, again.ff_U, (size_t)blocks * 256 * 8);
    assert_memory_equal(model.ff_b, again.ff_b, (size_t)blocks * 4 * 8);
    xf_model_clear(&again);
    free(read_file(temp_path("m.safetensors"), &compact));
    assert_true(compact < 2 * 8 * (size_t)blocks + 4096); /* eta, rho and the header */
    xf_model_clear(&model);
}

static void layouts_are_checked(void **state) {
    (void)state;
    xf_model model;
    xf_error error;
    make_model(&model, XF_F64, 2, 0);
    assert_int_equal(xf_model_save_as(&model, temp_path("n.safetensors"), (xf_layout)2, &error),
                     XF_ERR_ARGUMENT);
    assert_contains(error.message, "unknown layout 2");
    xf_model_clear(&model);
}

/* --- hostile files ------------------------------------------------------------------------ */

#define CONFIG(blocks, d)                                                                          \
    "{\\\"d\\\":" d ",\\\"width\\\":1,\\\"blocks\\\":" blocks                                      \
    ",\\\"attention\\\":\\\"hardmax\\\",\\\"tau\\\":null,\\\"tau_max\\\":null,\\\"dtype\\\":"      \
    "\\\"F64\\\",\\\"construction\\\":\\\"edited\\\",\\\"sequences\\\":1,\\\"targets\\\":1,"       \
    "\\\"tokens\\\":1,\\\"phases\\\":[],\\\"positions\\\":null}"

/* Header of one block with d = 4, w = 1: eta, rho, and ff.W by `tensors`. */
#define HEADER(layout, config, tensors)                                                            \
    "{\"__metadata__\":{\"format\":\"exactformer\",\"version\":\"1\",\"layout\":\"" layout         \
    "\",\"config\":\"" config "\"},"                                                               \
    "\"ff.eta\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"                         \
    "\"sa.rho\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]}" tensors "}"

#define TENSOR(name, type, count, from, to)                                                        \
    ",\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" count "],\"data_offsets\":[" from "," to   \
    "]}"

/* Write header and data, and expect a refusal that says `part`, or a model if it is NULL. */
static void expect(const char *header, const void *data, size_t size, const char *part) {
    unsigned char bytes[4096];
    size_t length = strlen(header);
    xf_model model;
    xf_error error = {0};
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(length >> 8 * i);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, data, size);
    const char *path = write_file("h.safetensors", bytes, 8 + length + size);
    xf_status status = xf_model_load(&model, path, &error);
    if (part == NULL && status != XF_OK)
        fail_msg("%s", error.message);
    if (part != NULL && (status != XF_ERR_DATA || strstr(error.message, part) == NULL))
        fail_msg("wanted \"%s\", got %d: %s", part, (int)status, error.message);
    xf_model_clear(&model);
}

#define PAIR(type, to)                                                                             \
    HEADER("compact", CONFIG("1", "4"),                                                            \
           TENSOR("ff.W.values", "F64", "2", "16", "32")                                           \
               TENSOR("ff.W.steps", type, "2", "32", to))

typedef struct pair_file {
    double eta, rho, values[2];
    int64_t steps[2];
} pair_file;

static void places_are_checked(void **state) {
    (void)state;
    pair_file file = {1.0, 1.0, {5.0, 6.0}, {1, 3}};
    expect(PAIR("I64", "48"), &file, sizeof file, NULL);
    static const struct {
        int64_t steps[2];
        const char *message;
    } bad[] = {{{0, 1}, "step 0 of 'ff.W.steps' is 0, but places have to ascend"},
               {{-3, 5}, "step 0 of 'ff.W.steps' is -3, but"},
               {{2, 0}, "step 1 of 'ff.W.steps' is 0, but places have to ascend"},
               {{4, -2}, "step 1 of 'ff.W.steps' is -2, but"},
               {{5, 1}, "step 0 of 'ff.W.steps' leads beyond the 4 elements"},
               {{4, 1}, "step 1 of 'ff.W.steps' leads beyond the 4 elements"},
               {{1, INT64_MAX}, "step 1 of 'ff.W.steps' leads beyond"},
               {{INT64_MAX, INT64_MAX}, "step 0 of 'ff.W.steps' leads beyond"},
               {{INT64_MIN, 1}, "but places have to ascend"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memcpy(file.steps, bad[i].steps, sizeof file.steps);
        expect(PAIR("I64", "48"), &file, sizeof file, bad[i].message);
    }
    file.steps[0] = -1;
    expect(PAIR("U64", "48"), &file, sizeof file, "beyond the range of int64");
    file.values[0] = NAN;
    file.steps[0] = 1;
    file.steps[1] = 1;
    expect(PAIR("I64", "48"), &file, sizeof file, "is not finite");
}

static void tensors_are_checked(void **state) {
    (void)state;
    pair_file file = {1.0, 1.0, {5.0, 6.0}, {1, 3}};
    expect(HEADER("sparse", CONFIG("1", "4"), ""), &file, 16, "the layout is neither");
    expect(HEADER("compact", CONFIG("1", "4"), ""), &file, 16, NULL);
    expect(HEADER("dense", CONFIG("1", "4"), ""), &file, 16, "there is no tensor 'ff.W'");
    expect(HEADER("compact", CONFIG("1", "4"), TENSOR("ff.W.values", "F64", "2", "16", "32")),
           &file, 32, "of 'ff.W.values' and 'ff.W.steps' only one is there");
    expect(HEADER("compact", CONFIG("1", "4"), TENSOR("ff.W.steps", "I64", "2", "16", "32")), &file,
           32, "of 'ff.W.values' and 'ff.W.steps' only one is there");
    expect(HEADER("compact", CONFIG("1", "4"),
                  TENSOR("ff.W.values", "F64", "2", "16", "32")
                      TENSOR("ff.W.steps", "I64", "1", "32", "40")),
           &file, 40, "are not two lists of the same length");
    expect(HEADER("compact", CONFIG("1", "4"),
                  TENSOR("ff.W.values", "F64", "1,2", "16", "32")
                      TENSOR("ff.W.steps", "I64", "2", "32", "48")),
           &file, 48, "are not two lists of the same length");
    expect(PAIR("F64", "48"), &file, sizeof file, "has type F64; store integers");
    expect(HEADER("compact", CONFIG("1", "4"),
                  TENSOR("ff.W.values", "F32", "4", "16", "32")
                      TENSOR("ff.W.steps", "U32", "4", "32", "48")),
           &file, 48, "tensor 'ff.W.values' has dtype F32 but the config says F64");
    expect(HEADER("compact", CONFIG("2", "4"), ""), &file, 16, "'ff.eta' does not have the shape");
}

/* Sizes that nothing in the file backs. */
static void absurd_sizes_are_refused(void **state) {
    (void)state;
    pair_file file = {1.0, 1.0, {5.0, 6.0}, {1, 3}};
    expect(HEADER("compact", CONFIG("1", "1000"), ""), &file, 16, NULL);
    expect(HEADER("compact", CONFIG("1", "1000000"), ""), &file, 16, "which is not plausible");
    expect(HEADER("compact", CONFIG("1", "9000000000000000000"), ""), &file, 16,
           "which is not plausible");
    expect(HEADER("compact", CONFIG("0", "4"), ""), &file, 16, "'ff.eta' does not have the shape");
    expect(HEADER("compact", CONFIG("1", "0"), ""), &file, 16, "at least one block");
}

static void truncated_files_are_refused(void **state) {
    (void)state;
    xf_model model, again;
    size_t size;
    make_model(&model, XF_F32, 3, 1);
    save(&model, "a.safetensors", XF_LAYOUT_COMPACT);
    char *whole = read_file(temp_path("a.safetensors"), &size);
    for (size_t cut = 0; cut < size; cut += 31)
        assert_int_equal(xf_model_load(&again, write_file("cut.safetensors", whole, cut), NULL),
                         XF_ERR_DATA);
    free(whole);
    xf_model_clear(&model);
}

static void memory_may_run_out(void **state) {
    (void)state;
    xf_model model, again;
    int failures = 0;
    make_model(&model, XF_F64, 3, 1);
    for (xf_status status = XF_ERR_MEMORY; status != XF_OK; failures++) {
        xfi_alloc_limit(failures);
        status = xf_model_save_as(&model, temp_path("a.safetensors"), XF_LAYOUT_COMPACT, NULL);
        xfi_alloc_limit(-1);
        assert_true(status == XF_OK || status == XF_ERR_MEMORY);
    }
    assert_true(failures > 2);
    failures = 0;
    for (xf_status status = XF_ERR_MEMORY; status != XF_OK; failures++) {
        xfi_alloc_limit(failures);
        status = xf_model_load(&again, temp_path("a.safetensors"), NULL);
        xfi_alloc_limit(-1);
        assert_true(status == XF_OK || status == XF_ERR_MEMORY);
    }
    assert_true(failures > 10);
    xf_model_clear(&again);
    xf_model_clear(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(round_trips_are_lossless),    FILE_TEST(zeros_take_no_room),
        FILE_TEST(layouts_are_checked),         FILE_TEST(places_are_checked),
        FILE_TEST(tensors_are_checked),         FILE_TEST(absurd_sizes_are_refused),
        FILE_TEST(truncated_files_are_refused), FILE_TEST(memory_may_run_out),
    };
    return RUN_FILE_TESTS(tests);
}
