/* .safetensors data sets: files of the safetensors library, broken headers, round trips. */
#include "unit/file_support.h"

#include "fmt/safetensors.h"

#define GOLDEN "tests/golden/datasets/"

/* The values in tests/golden/datasets/make_dataset_files.py. */
static const double X[12] = {1.5, -2, 0.25, 3, 7, -0.5, 1, 2, 3, 4, 5, 6};
static const double Y[8] = {0.5, -1, 2, 0, -3, 8, 9, 10};
static const double INTEGERS_X[12] = {1, -2, 0, 3, 7, -5, 1, 2, 3, 4, 5, 6};
static const double INTEGERS_Y[8] = {5, -1, 2, 0, -3, 8, 9, 10};

static const xf_dataset_options inputs = {.inputs_only = 1};

static void assert_ragged(const char *path, const double *x, const double *y) {
    static const int64_t x_offsets[4] = {0, 2, 3, 6}, y_offsets[4] = {0, 1, 2, 4};
    xf_dataset data;
    xf_error error;
    if (xf_dataset_load(&data, path, NULL, &error) != XF_OK)
        fail_msg("%s", error.message);
    assert_int_equal(data.d, 2);
    assert_memory_equal(data.x, x, 12 * 8);
    assert_memory_equal(data.y, y, 8 * 8);
    assert_memory_equal(data.x_offsets, x_offsets, sizeof x_offsets);
    assert_memory_equal(data.y_offsets, y_offsets, sizeof y_offsets);
    xf_dataset_clear(&data);
}

static void test_files_of_the_library(void **state) {
    (void)state;
    assert_ragged(GOLDEN "f64.safetensors", X, Y);
    assert_ragged(GOLDEN "f32.safetensors", X, Y);
    assert_ragged(GOLDEN "f16.safetensors", X, Y);
    assert_ragged(GOLDEN "i16.safetensors", INTEGERS_X, INTEGERS_Y);
    xf_dataset data;
    assert_int_equal(xf_dataset_load(&data, GOLDEN "rect.safetensors", NULL, NULL), XF_OK);
    assert_int_equal(data.n_sequences, 2);
    assert_int_equal(data.n_targets, 2);
    xf_dataset_clear(&data);
}

static void test_bf16(void **state) {
    (void)state;
    static byte_buffer b;
    const char *header = "{\"x\":{\"dtype\":\"BF16\",\"shape\":[1,2,1],\"data_offsets\":[0,4]}}  ";
    xf_dataset data;
    b.size = 0;
    put_le(&b, strlen(header), 8);
    put_text(&b, header);
    put_le(&b, 0xc0003f80, 4);
    const char *path = write_file("bf16.safetensors", b.data, b.size);
    assert_int_equal(xf_dataset_load(&data, path, &inputs, NULL), XF_OK);
    assert_true(data.x[0] == 1.0 && data.x[1] == -2.0);
    xf_dataset_clear(&data);
}

static void test_round_trips(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 2, 0);
    for (int i = 0; i < 40; i++) {
        xf_dataset data;
        random_dataset(&data, &rng, i % 4 != 0);
        assert_round_trip(&data, "data.safetensors");
        xf_dataset_clear(&data);
    }
}

static void test_data_are_aligned(void **state) {
    (void)state;
    xf_dataset data;
    size_t size;
    assert_int_equal(xf_dataset_load(&data, GOLDEN "f64.safetensors", NULL, NULL), XF_OK);
    assert_int_equal(xf_dataset_save(&data, temp_path("a.safetensors"), NULL), XF_OK);
    char *bytes = read_file(temp_path("a.safetensors"), &size);
    assert_int_equal((unsigned char)bytes[0] % 8, 0);
    assert_memory_equal(bytes + size - 4 * 8 - 8 * 8, Y, sizeof Y);
    free(bytes);
    xf_dataset_clear(&data);
}

#define X_OF(dtype, shape, offsets)                                                                \
    "\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_broken_headers(void **state) {
    (void)state;
    const struct {
        const char *header;
        size_t size;
        const char *message;
    } cases[] = {
        {"", 0, "the header is not a JSON object"},
        {"[]", 0, "the header is not a JSON object"},
        {"{", 0, "the header is not valid JSON"},
        {"{} x", 0, "the header is not valid JSON"},
        {"{}", 0, "there is no array 'x'"},
        {"{\"__metadata__\":{}}", 0, "there is no array 'x'"},
        {"{\"__metadata__\":[]}", 0, "__metadata__ is not a JSON object"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "__metadata__ has a value that is not a string"},
        {"{}", 3, "3 bytes at the end belong to no tensor"},
        {"{\"x\":1}", 0, "tensor 'x' has no dtype"},
        {"{\"x\":{\"dtype\":\"F64\"}}", 0, "tensor 'x' has no shape"},
        {"{\"x\":{\"dtype\":\"F64\",\"shape\":[1]}}", 0, "tensor 'x' has no data_offsets"},
        {"{" X_OF("F64", "[1,1,1]", "[0,8]") "," X_OF("F64", "[1,1,1]", "[0,8]") "}", 8,
         "duplicate object key"},
        {"{" X_OF("F64", "[1,1,-1]", "[0,8]") "}", 8, "a dimension that is not a natural number"},
        {"{" X_OF("F64", "[1,1,1.0]", "[0,8]") "}", 8, "a dimension that is not a natural number"},
        {"{" X_OF("F64", "[1,1,1,1,1,1,1,1,1]", "[0,8]") "}", 8, "has no shape that can be read"},
        {"{" X_OF("F64", "[4611686018427387904,4]", "[0,8]") "}", 8, "a shape that overflows"},
        {"{" X_OF("F64", "[1152921504606846976,1]", "[0,8]") "}", 8, "size that its shape implies"},
        {"{" X_OF("F64", "[2305843009213693952,1]", "[0,8]") "}", 8, "size that its shape implies"},
        {"{" X_OF("F64", "[1]", "[0,9223372036854775808]") "}", 8, "the number is too large"},
        {"{" X_OF("F64", "[1]", "[0,16]") "}", 8, "data_offsets outside the file"},
        {"{" X_OF("F64", "[1]", "[8,0]") "}", 8, "data_offsets outside the file"},
        {"{" X_OF("F64", "[1]", "[-8,0]") "}", 8, "has no data_offsets that can be read"},
        {"{" X_OF("F64", "[1]", "[0]") "}", 8, "has no data_offsets that can be read"},
        {"{" X_OF("F64", "[1]", "[0,4]") "}", 8, "does not have the size that its shape implies"},
        {"{" X_OF("F64", "[1]", "[8,16]") "}", 16, "tensor 'x' comes after a hole"},
        {"{" X_OF("F64", "[1]", "[0,8]") ",\"y\":{\"dtype\":\"F64\",\"shape\":[1],"
                                         "\"data_offsets\":[4,12]}}",
         12, "tensor 'y' overlaps another tensor"},
        {"{" X_OF("BOOL", "[1,1,1]", "[0,1]") "}", 1, "'x' has type BOOL, which cannot be read"},
        {"{" X_OF("F8_E4M3", "[9,1,1]", "[0,1]") "}", 1, "'x' has type F8_E4M3, which cannot"},
        {"{" X_OF("F64", "[1]", "[0,8]") "}", 8, "'x' has 1 dimensions; without x_offsets"},
        {"{\"x\\u0000\":1}", 0, "the header is not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_load_fails(write_safetensors("a.safetensors", cases[i].header, cases[i].size),
                          &inputs, XF_ERR_DATA, cases[i].message);
}

static void test_header_length(void **state) {
    (void)state;
    static byte_buffer b;
    b.size = 0;
    assert_load_fails(write_file("a.safetensors", b.data, 0), NULL, XF_ERR_DATA,
                      "too short to be a safetensors file (0 bytes)");
    put_le(&b, 3, 8);
    put_text(&b, "{}");
    assert_load_fails(write_file("a.safetensors", b.data, b.size), NULL, XF_ERR_DATA,
                      "the header claims 3 bytes but the file has only 10");
    memset(b.data, 0xff, 8);
    assert_load_fails(write_file("a.safetensors", b.data, b.size), NULL, XF_ERR_DATA,
                      "the header claims 18446744073709551615 bytes");
}

/* A sparse file: the header may be as long as the file and still be absurd. */
static void test_header_of_gigabytes(void **state) {
    (void)state;
    unsigned char length[8] = {0, 0, 0, 0x10};
    const char *path = write_file("huge.safetensors", length, 8);
    assert_int_equal(truncate(path, 0x10000008), 0);
    assert_load_fails(path, NULL, XF_ERR_DATA, "more than the 100000000 allowed");
}

static void test_deep_nesting(void **state) {
    (void)state;
    static char header[20001];
    memset(header, '[', 20000);
    memcpy(header, "{\"a\":", 5);
    assert_load_fails(write_safetensors("deep.safetensors", header, 0), NULL, XF_ERR_DATA,
                      "maximum parsing depth");
}

static void test_nul_in_the_header(void **state) {
    (void)state;
    static byte_buffer b;
    b.size = 0;
    put_le(&b, 8, 8);
    put(&b, "{\"x\0\":1}", 8);
    assert_load_fails(write_file("nul.safetensors", b.data, b.size), NULL, XF_ERR_DATA,
                      "the header is not valid JSON");
}

static void test_files_that_cannot_be_read(void **state) {
    (void)state;
    assert_load_fails(temp_path("no.safetensors"), NULL, XF_ERR_IO, "cannot open: No such file");
    assert_int_equal(mkdir(temp_path("dir.safetensors"), 0755), 0);
    assert_load_fails(temp_path("dir.safetensors"), NULL, XF_ERR_IO, "it is a directory");
    if (geteuid() != 0) {
        assert_int_equal(chmod(write_text("secret.safetensors", "{}"), 0), 0);
        assert_load_fails(temp_path("secret.safetensors"), NULL, XF_ERR_IO, "Permission denied");
    }
}

static void test_extension_in_capitals(void **state) {
    (void)state;
    assert_load_fails(write_safetensors("A.SAFETENSORS", "{}", 0), NULL, XF_ERR_DATA,
                      "there is no array 'x'");
}

static void test_metadata(void **state) {
    (void)state;
    xfi_array_file file;
    assert_int_equal(xfi_safetensors_open(&file, GOLDEN "f64.safetensors", NULL), XF_OK);
    assert_string_equal(xfi_safetensors_metadata(&file, "origin"), "safetensors");
    assert_null(xfi_safetensors_metadata(&file, "other"));
    xfi_array_close(&file);
    xfi_array_close(&file);
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    sweep_allocations("sweep.safetensors", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_files_of_the_library),
        FILE_TEST(test_bf16),
        FILE_TEST(test_round_trips),
        FILE_TEST(test_data_are_aligned),
        FILE_TEST(test_broken_headers),
        FILE_TEST(test_header_length),
        FILE_TEST(test_header_of_gigabytes),
        FILE_TEST(test_deep_nesting),
        FILE_TEST(test_nul_in_the_header),
        FILE_TEST(test_files_that_cannot_be_read),
        FILE_TEST(test_extension_in_capitals),
        FILE_TEST(test_metadata),
        FILE_TEST(test_every_allocation_may_fail),
    };
    return RUN_FILE_TESTS(tests);
}
